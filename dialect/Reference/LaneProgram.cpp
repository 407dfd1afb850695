//===- LaneProgram.cpp - Bodies of linalg.generic, strip by strip ---------===//

#include "dialect/Reference/Generic.h"

#include "dialect/Reference/Machine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cstring>

using namespace mlir;

namespace lockstep::interpret {

/// The maximum number of points of a strip.
static constexpr int64_t kStrip = 256;

/// The elements of each register: either in the register's own buffer or in an
/// operand, which is read in place.
struct LaneProgram::Registers {
  explicit Registers(unsigned count)
      : pointers(count), storage(count * kStrip) {}
  void *own(unsigned reg) { return &storage[reg * kStrip]; }

  std::vector<const void *> pointers;
  std::vector<uint64_t> storage;
};

/// Writes the same element `count` times.
static void fillLanes(void *to, const void *element, Lane lane, int64_t count) {
  if (lane == Lane::Float)
    std::fill_n(static_cast<float *>(to), count,
                *static_cast<const float *>(element));
  else
    std::fill_n(static_cast<uint64_t *>(to), count,
                *static_cast<const uint64_t *>(element));
}

template <typename T>
static void copyLanes(T *to, int64_t toStride, const T *from,
                      int64_t fromStride, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i * toStride] = from[i * fromStride];
}

static void copyLanes(Lane lane, void *to, int64_t toStride, const void *from,
                      int64_t fromStride, int64_t count) {
  if (lane == Lane::Float)
    copyLanes(static_cast<uint32_t *>(to), toStride,
              static_cast<const uint32_t *>(from), fromStride, count);
  else
    copyLanes(static_cast<uint64_t *>(to), toStride,
              static_cast<const uint64_t *>(from), fromStride, count);
}

std::shared_ptr<const LaneProgram> LaneProgram::build(linalg::GenericOp op,
                                                      CodeBuilder &builder) {
  auto program = std::make_shared<LaneProgram>();
  Block &body = *op.getBody();
  llvm::DenseMap<mlir::Value, unsigned> registers;
  auto define = [&](mlir::Value value) {
    program->lanes.push_back(getElement(value.getType())->lane);
    return registers[value] = program->numRegisters++;
  };
  auto use = [&](mlir::Value value) {
    if (auto it = registers.find(value); it != registers.end())
      return it->second;
    unsigned reg = define(value);
    program->captured.push_back({builder.slotOf(value), reg, std::nullopt});
    return reg;
  };
  for (BlockArgument argument : body.getArguments()) {
    program->arguments.push_back(define(argument));
    program->argumentUsed.push_back(!argument.use_empty());
  }
  for (mlir::Operation &inner : body.without_terminator()) {
    if (!llvm::all_of(inner.getResultTypes(), [](Type type) {
          return !isa<ShapedType>(type) && getElement(type);
        }))
      return nullptr;
    Operation operation;
    operation.op = &inner;
    if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
      std::optional<Value> value =
          fromAttribute(constant.getValue(), constant.getType());
      if (!value)
        return nullptr;
      program->captured.push_back({0, define(constant), value});
      continue;
    }
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      operation.kind = Operation::Index;
      operation.loop = index.getDim();
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      if (extract.getTensor().getParentBlock() == &body)
        return nullptr;
      operation.kind = Operation::Extract;
      operation.slot = builder.slotOf(extract.getTensor());
      for (mlir::Value index : extract.getIndices())
        operation.operands.push_back(use(index));
    } else if (std::optional<LaneKernel> kernel = getLaneKernel(&inner)) {
      operation.kernel = *kernel;
      for (mlir::Value operand : inner.getOperands())
        operation.operands.push_back(use(operand));
    } else {
      return nullptr;
    }
    operation.result = define(inner.getResult(0));
    program->operations.push_back(std::move(operation));
  }
  for (mlir::Value value : body.getTerminator()->getOperands())
    program->yielded.push_back(use(value));
  return program;
}

/// The loop along which strips are taken: a parallel one with a non-zero stride
/// in every output, long, and contiguous in the outputs if possible. -1: there
/// is none, and strips have one point.
int64_t LaneProgram::chooseLanes(const GenericRun &run) const {
  int64_t best = -1, bestScore = 1;
  for (int64_t loop = 0; loop < run.plan.numLoops; ++loop) {
    bool usable = run.plan.parallel[loop], contiguous = true;
    for (unsigned i = run.plan.numInputs; i < run.values.size(); ++i) {
      usable &=
          run.plan.accesses[i].linear && run.placements[i].strides[loop] != 0;
      contiguous &= run.placements[i].strides[loop] == 1;
    }
    int64_t score = std::min(run.sizes[loop], kStrip) * (contiguous ? 4 : 1);
    if (usable && score > bestScore) {
      best = loop;
      bestScore = score;
    }
  }
  return best;
}

LogicalResult LaneProgram::execute(GenericRun &run) const {
  int64_t loop = chooseLanes(run);
  int64_t length = loop < 0 ? 1 : run.sizes[loop];
  Registers registers(numRegisters);
  for (const Captured &capture : captured) {
    const Value &value =
        capture.constant ? *capture.constant : run.frame.slots[capture.slot];
    fillLanes(registers.own(capture.reg), value.data(), lanes[capture.reg],
              std::min(length, kStrip));
    registers.pointers[capture.reg] = registers.own(capture.reg);
  }
  SmallVector<int64_t> point(run.plan.numLoops, 0);
  do {
    for (int64_t start = 0; start < length; start += kStrip) {
      if (loop >= 0)
        point[loop] = start;
      if (failed(executeStrip(run, registers, point, loop,
                              std::min(length - start, kStrip))))
        return failure();
    }
    if (loop >= 0)
      point[loop] = 0;
  } while (run.advance(point, loop));
  return success();
}

LogicalResult LaneProgram::executeStrip(GenericRun &run, Registers &registers,
                                        ArrayRef<int64_t> point, int64_t loop,
                                        int64_t count) const {
  auto strideOf = [&](unsigned operand) {
    return loop < 0 ? 1 : run.placements[operand].strides[loop];
  };
  SmallVector<int64_t> offsets(run.values.size(), 0);
  for (auto [index, value] : llvm::enumerate(run.values)) {
    unsigned reg = arguments[index];
    size_t bytes = laneBytes(value.lane());
    const std::byte *data = value.as<std::byte>();
    if (run.plan.accesses[index].linear) {
      offsets[index] = *run.offsetOf(index, point);
      if (!argumentUsed[index])
        continue;
      const std::byte *first = data + offsets[index] * bytes;
      int64_t stride = strideOf(index);
      registers.pointers[reg] =
          stride == 1 ? static_cast<const void *>(first) : registers.own(reg);
      if (stride == 0)
        fillLanes(registers.own(reg), first, value.lane(), count);
      else if (stride != 1)
        copyLanes(value.lane(), registers.own(reg), 1, first, stride, count);
      continue;
    }
    SmallVector<int64_t> moving(point);
    registers.pointers[reg] = registers.own(reg);
    for (int64_t i = 0; i < count; ++i) {
      FailureOr<int64_t> offset = run.offsetOf(index, moving);
      if (failed(offset))
        return failure();
      offsets[index] = *offset;
      copyLanes(value.lane(),
                static_cast<std::byte *>(registers.own(reg)) + i * bytes, 1,
                data + *offset * bytes, 1, 1);
      if (loop >= 0)
        ++moving[loop];
    }
  }

  SmallVector<const void *, 4> from;
  for (const Operation &operation : operations) {
    void *to = registers.own(operation.result);
    registers.pointers[operation.result] = to;
    if (operation.kind == Operation::Index) {
      for (int64_t i = 0; i < count; ++i)
        static_cast<uint64_t *>(to)[i] =
            point[operation.loop] +
            (static_cast<int64_t>(operation.loop) == loop ? i : 0);
    } else if (operation.kind == Operation::Extract) {
      if (failed(extract(operation, run, registers, count)))
        return failure();
    } else {
      from.clear();
      for (unsigned operand : operation.operands)
        from.push_back(registers.pointers[operand]);
      operation.kernel.run(to, from.data(), count);
    }
  }

  // A yielded argument may alias an output: all values are copied before any
  // output is written.
  for (unsigned reg : yielded)
    if (registers.pointers[reg] != registers.own(reg)) {
      std::memcpy(registers.own(reg), registers.pointers[reg],
                  count * laneBytes(lanes[reg]));
      registers.pointers[reg] = registers.own(reg);
    }
  for (auto [index, reg] : llvm::enumerate(yielded)) {
    unsigned operand = run.plan.numInputs + index;
    Value &output = run.values[operand];
    copyLanes(output.lane(),
              output.mutableAs<std::byte>() +
                  offsets[operand] * laneBytes(output.lane()),
              strideOf(operand), registers.pointers[reg], 1, count);
  }
  return success();
}

LogicalResult LaneProgram::extract(const Operation &operation, GenericRun &run,
                                   Registers &registers, int64_t count) const {
  const Value &source = run.frame.slots[operation.slot];
  size_t bytes = laneBytes(source.lane());
  auto *to = static_cast<std::byte *>(registers.own(operation.result));
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (auto [dim, reg] : llvm::enumerate(operation.operands)) {
      int64_t size = source.shape()[dim];
      auto index = static_cast<int64_t>(
          static_cast<const uint64_t *>(registers.pointers[reg])[i]);
      if (index < 0 || index >= size)
        return run.frame.fail(operation.op,
                              "expected an index in [0, " + Twine(size) +
                                  ") for dimension " + Twine(dim) + ", found " +
                                  Twine(index));
      offset = offset * size + index;
    }
    std::memcpy(to + i * bytes, source.as<std::byte>() + offset * bytes, bytes);
  }
  return success();
}

} // namespace lockstep::interpret
