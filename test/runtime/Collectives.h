//===- Collectives.h - collectives that tests put together ------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_COLLECTIVES_H
#define LOCKSTEP_TEST_RUNTIME_COLLECTIVES_H

#include "TestProgram.h"

namespace lockstep::runtime::test {

/// A collective of one operand, `factor` times as large as its result, or
/// smaller by it.
inline void oneOperand(TestProgram &p, CollectiveKind kind, Reduction reduction,
                       ElementType element, std::vector<int64_t> operandShape,
                       std::vector<int64_t> resultShape,
                       Space result = Space::replica, int32_t root = -1,
                       int32_t axis = 0,
                       ElementType resultElement = ElementType::i1,
                       uint32_t group = 0) {
  uint32_t a = p.variable("a", element, operandShape, true);
  uint32_t r = p.buffer(
      result, resultElement == ElementType::i1 ? element : resultElement,
      resultShape);
  p.output("r", r);
  uint32_t channel = p.channel();
  p.start(kind, reduction, channel, {a}, {r}, group, axis, root);
  p.wait(channel);
}

/// The variable "rows" is the number of rows of "data" that a replica sends; a
/// gather at the root, or at all.
inline void ragged(TestProgram &p, CollectiveKind kind, uint32_t replicas,
                   int32_t axis, int32_t root) {
  uint32_t size = p.reg(), all = p.reg();
  p.loadRegister(size, p.variable("rows", ElementType::i64, {}, true));
  p.loadRegister(all, p.variable("total", ElementType::i64, {}, true));
  std::vector<int64_t> shape =
      axis ? std::vector<int64_t>{3, -1} : std::vector<int64_t>{-1, 3};
  auto registers = [&](uint32_t index) {
    return axis ? std::vector<int32_t>{-1, int32_t(index)}
                : std::vector<int32_t>{int32_t(index), -1};
  };
  uint32_t data =
      p.variable("data", ElementType::i32, {3 * int64_t(replicas)}, true);
  p.program->buffers[data]->type->shape = shape;
  p.program->buffers[data]->size_registers = registers(size);
  uint32_t result =
      p.dynamicBuffer(Space::replica, ElementType::i32, shape, registers(all),
                      uint64_t(12) * replicas * replicas);
  p.output("r", result);
  uint32_t channel = p.channel();
  p.start(kind, Reduction::none, channel, {data}, {result}, 0, axis, root);
  p.wait(channel);
}

/// The root has "data", and in "counts" how many rows of it each of the others
/// gets.
inline void scatter(TestProgram &p, uint32_t replicas, int32_t root) {
  uint32_t data =
      p.variable("data", ElementType::i32, {3 * int64_t(replicas), 3}, true);
  uint32_t counts =
      p.variable("counts", ElementType::i64, {int64_t(replicas) - 1}, true);
  uint32_t n = p.reg();
  p.loadRegister(n, p.variable("rows", ElementType::i64, {}, true));
  uint32_t result = p.dynamicBuffer(Space::replica, ElementType::i32, {-1, 3},
                                    {int32_t(n), -1}, 12 * uint64_t(replicas));
  p.output("r", result);
  uint32_t channel = p.channel();
  p.start(CollectiveKind::scatter, Reduction::none, channel, {data, counts},
          {result}, 0, 0, root);
  p.wait(channel);
}

/// Every replica receives from the previous one; the first from the last, or
/// from none.
inline void permute(TestProgram &p, uint32_t replicas, bool isRound) {
  uint32_t a = p.variable("a", ElementType::i32, {1000}, true);
  uint32_t r = p.buffer(Space::replica, ElementType::i32, {1000});
  p.output("r", r);
  std::vector<int32_t> sources{isRound ? int32_t(replicas) - 1 : -1};
  for (uint32_t i = 1; i < replicas; ++i)
    sources.push_back(int32_t(i) - 1);
  uint32_t channel = p.channel();
  p.start(CollectiveKind::permute, Reduction::none, channel, {a}, {r}, 0, 0, -1,
          std::move(sources));
  p.wait(channel);
}

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_COLLECTIVES_H
