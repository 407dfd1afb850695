//===- TranslateThreads.cpp - special registers, barriers and warps -------===//

#include "FunctionTranslator.h"

#include <cstddef>

namespace lockstep::standin {

void FunctionTranslator::addThreadHandlers(
    std::map<std::string_view, Handler> &handlers) {
  using Self = FunctionTranslator;
  for (std::string_view name : {"bar", "barrier"})
    handlers[name] = &Self::barrier;
  handlers["shfl"] = &Self::shuffle;
  handlers["vote"] = &Self::vote;
  handlers["match"] = &Self::match;
  handlers["activemask"] = &Self::activeMask;
  handlers["redux"] = &Self::reduceWarp;
  handlers["mma"] = &Self::multiplyMatrices;
}

std::string FunctionTranslator::specialRegister(const Operand &operand,
                                                unsigned bits) {
  struct Vector {
    std::string_view name;
    size_t offset;
  };
  static constexpr Vector vectors[] = {
      {"%tid.", offsetof(Thread, threadIndex)},
      {"%ntid.", offsetof(Thread, blockDim)},
      {"%ctaid.", offsetof(Thread, blockIndex)},
      {"%nctaid.", offsetof(Thread, gridDim)}};
  const std::string &name = operand.name;
  for (const Vector &vector : vectors)
    if (name.starts_with(vector.name) &&
        name.size() == vector.name.size() + 1 && name.back() >= 'x' &&
        name.back() <= 'z')
      return resize(threadField(vector.offset + size_t(name.back() - 'x') *
                                                    sizeof(uint32_t),
                                "i32"),
                    32, bits);
  if (name == "%clock" || name == "%clock64" || name == "%globaltimer")
    return resize(define("call i64 @llvm.readcyclecounter()"), 64, bits);
  if (name == "%dynamic_smem_size") {
    std::string all = threadField(offsetof(Thread, sharedBytes), "i32");
    return resize(define("sub i32 {}, {}", all, staticShared), 32, bits);
  }
  if (name == "%total_smem_size")
    return resize(threadField(offsetof(Thread, sharedBytes), "i32"), 32, bits);
  if (name == "%smid")
    return "0";
  if (name == "%nsmid")
    return "1";
  std::string linear = threadField(offsetof(Thread, linearIndex), "i32");
  std::string lane = define("and i32 {}, {}", linear, warpSize - 1);
  std::string result;
  if (name == "%laneid") {
    result = lane;
  } else if (name == "%warpid") {
    result = define("udiv i32 {}, {}", linear, warpSize);
  } else if (name == "%nwarpid") {
    std::string count = "1";
    for (unsigned i = 0; i < 3; ++i)
      count =
          define("mul i32 {}, {}", count,
                 threadField(offsetof(Thread, blockDim) + i * sizeof(uint32_t),
                             "i32"));
    count = define("add i32 {}, {}", count, warpSize - 1);
    result = define("udiv i32 {}, {}", count, warpSize);
  } else if (name.starts_with("%lanemask_")) {
    std::string one = define("shl i32 1, {}", lane);
    std::string below = define("sub i32 {}, 1", one);
    std::string upTo = define("or i32 {}, {}", one, below);
    if (name == "%lanemask_eq")
      result = one;
    else if (name == "%lanemask_lt")
      result = below;
    else if (name == "%lanemask_le")
      result = upTo;
    else if (name == "%lanemask_ge")
      result = define("xor i32 {}, -1", below);
    else if (name == "%lanemask_gt")
      result = define("xor i32 {}, -1", upTo);
  }
  if (result.empty())
    fail("unknown register '" + name + "'");
  return resize(result, 32, bits);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// bar.sync id, bar.sync id, threads; bar.red with a predicate; and
/// bar.warp.sync. `barrier` is the same, and also used in divergent code.
void FunctionTranslator::barrier() {
  kernel.code.hasBarriers = true;
  has("aligned");
  if (has("warp")) {
    has("sync");
    expectOperands(1);
    warp(WarpOperation::Synchronize, read(0, 32), "0", "0", "0");
    return;
  }
  oneOf({"cta"});
  BarrierOperation operation = BarrierOperation::None;
  bool isReduction = has("red");
  if (!isReduction && !has("sync"))
    fail("unknown instruction '" + instruction->text() + "'");
  if (isReduction) {
    std::string_view name = oneOf({"popc", "and", "or"});
    operation = name == "popc"  ? BarrierOperation::Count
                : name == "and" ? BarrierOperation::And
                                : BarrierOperation::Or;
    type();
  }
  size_t first = isReduction ? 1 : 0;
  size_t last = instruction->operands.size() - first - (isReduction ? 1 : 0);
  if (last != 1 && last != 2)
    fail("'" + instruction->text() + "' has a wrong number of operands");
  std::string id = read(first, 32);
  std::string count = last == 2 ? read(first + 1, 32) : "0";
  std::string value = "0";
  if (isReduction)
    value = resize(read(first + last, 1), 1, 32);
  std::string result = define("call i32 @standin_barrier(ptr %thread, i32 {}, "
                              "i32 {}, i32 {}, i32 {})",
                              id, count, uint32_t(operation), value);
  if (!isReduction)
    return;
  if (operation == BarrierOperation::Count)
    write(operand(0), result, 32);
  else
    write(operand(0), define("icmp ne i32 {}, 0", result), 1);
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

/// The result, and above its 32 bits a predicate.
std::string FunctionTranslator::warp(WarpOperation operation,
                                     const std::string &mask,
                                     const std::string &value,
                                     const std::string &b,
                                     const std::string &c) {
  kernel.code.hasBarriers = true;
  return define("call i64 @standin_warp(ptr %thread, i32 {}, i32 {}, i64 {}, "
                "i32 {}, i32 {})",
                uint32_t(operation), mask, value, b, c);
}

void FunctionTranslator::shuffle() {
  has("sync");
  std::string_view mode = expectOneOf({"up", "down", "bfly", "idx"});
  type();
  expectOperands(5);
  WarpOperation operation = mode == "up"     ? WarpOperation::ShuffleUp
                            : mode == "down" ? WarpOperation::ShuffleDown
                            : mode == "bfly" ? WarpOperation::ShuffleXor
                                             : WarpOperation::ShuffleIndex;
  std::string result = warp(operation, read(4, 32), resize(read(1, 32), 32, 64),
                            read(2, 32), read(3, 32));
  bool isPair = operand(0).kind == Operand::Kind::Pair;
  write(isPair ? operand(0).elements[0] : operand(0), resize(result, 64, 32),
        32);
  if (isPair)
    write(operand(0).elements[1],
          resize(define("lshr i64 {}, 32", result), 64, 1), 1);
}

void FunctionTranslator::vote() {
  has("sync");
  std::string_view mode = expectOneOf({"all", "any", "uni", "ballot"});
  type();
  expectOperands(3);
  WarpOperation operation = mode == "all"   ? WarpOperation::VoteAll
                            : mode == "any" ? WarpOperation::VoteAny
                            : mode == "uni" ? WarpOperation::VoteUniform
                                            : WarpOperation::VoteBallot;
  std::string result =
      warp(operation, read(2, 32), resize(read(1, 1), 1, 64), "0", "0");
  if (mode == "ballot")
    write(operand(0), resize(result, 64, 32), 32);
  else
    write(operand(0), resize(result, 64, 1), 1);
}

void FunctionTranslator::match() {
  std::string_view mode = oneOf({"any", "all"});
  has("sync");
  unsigned bits = type().bits;
  expectOperands(3);
  std::string result =
      warp(mode == "any" ? WarpOperation::MatchAny : WarpOperation::MatchAll,
           read(2, 32), resize(read(1, bits), bits, 64), "0", "0");
  bool isPair = operand(0).kind == Operand::Kind::Pair;
  write(isPair ? operand(0).elements[0] : operand(0), resize(result, 64, 32),
        32);
  if (isPair)
    write(operand(0).elements[1],
          resize(define("lshr i64 {}, 32", result), 64, 1), 1);
}

void FunctionTranslator::activeMask() {
  kernel.code.hasBarriers = true;
  expectOperands(1);
  type();
  write(operand(0), define("call i32 @standin_active_mask(ptr %thread)"), 32);
}

void FunctionTranslator::reduceWarp() {
  has("sync");
  std::string_view name = oneOf({"add", "min", "max", "and", "or", "xor"});
  Type found = type();
  if (name.empty() || found.isFloat())
    fail("unknown instruction '" + instruction->text() + "'");
  expectOperands(3);
  bool isSigned = found.isSigned();
  WarpOperation operation =
      name == "add"   ? WarpOperation::ReduceAdd
      : name == "min" ? isSigned ? WarpOperation::ReduceMinSigned
                                 : WarpOperation::ReduceMinUnsigned
      : name == "max" ? isSigned ? WarpOperation::ReduceMaxSigned
                                 : WarpOperation::ReduceMaxUnsigned
      : name == "and" ? WarpOperation::ReduceAnd
      : name == "or"  ? WarpOperation::ReduceOr
                      : WarpOperation::ReduceXor;
  std::string result =
      warp(operation, read(2, 32), resize(read(1, 32), 32, 64), "0", "0");
  write(operand(0), resize(result, 64, 32), 32);
}

/// d = a * b + c, of which each thread has some elements.
void FunctionTranslator::multiplyMatrices() {
  WarpOperation operation = WarpOperation::MultiplyTf32;
  std::string_view shape = expectOneOf({"m16n8k8", "m16n8k16"});
  for (std::string_view name : {"sync", "aligned", "row", "col", "f32", "f32"})
    expectOneOf({name});
  std::string_view factor = expectOneOf({"tf32", "f16", "bf16"});
  expectOneOf({factor});
  if (factor == "f16")
    operation = WarpOperation::MultiplyF16;
  else if (factor == "bf16")
    operation = WarpOperation::MultiplyBF16;
  if ((shape == "m16n8k8") != (factor == "tf32"))
    fail("unknown instruction '" + instruction->text() + "'");
  expectOperands(4);
  constexpr size_t words = sizeof(MatrixOperands) / sizeof(uint32_t);
  if (slots.insert("%matrices").second)
    allocas += fmt::format("  %matrices = alloca [{} x i32]\n", words);
  size_t word = 0;
  auto next = [&] {
    return define("getelementptr i32, ptr %matrices, i64 {}", word++);
  };
  for (size_t i = 1; i < 4; ++i) {
    const std::vector<Operand> &elements = operand(i).elements;
    if (elements.size() != (i == 2 ? 2u : 4u))
      fail("'" + instruction->text() + "' has a wrong number of registers");
    for (const Operand &element : elements)
      emit("store i32 {}, ptr {}", read(element, 32), next());
  }
  warp(operation, "-1", define("ptrtoint ptr %matrices to i64"), "0", "0");
  word = offsetof(MatrixOperands, c) / sizeof(uint32_t);
  for (const Operand &element : operand(0).elements)
    write(element, define("load i32, ptr {}", next()), 32);
}

} // namespace lockstep::standin
