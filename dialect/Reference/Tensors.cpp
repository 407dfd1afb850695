//===- Tensors.cpp - Operations of `tensor` -------------------------------===//

#include "dialect/Reference/Code.h"

#include "dialect/Reference/Machine.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cstring>

using namespace mlir;

namespace lockstep::interpret {
namespace {

/// Sizes, offsets or strides, each either a constant or an operand.
struct MixedIndices {
  explicit MixedIndices(ArrayRef<OpFoldResult> mixed) {
    for (OpFoldResult entry : mixed) {
      std::optional<int64_t> constant =
          isa<Attribute>(entry) ? getConstantIntValue(entry) : std::nullopt;
      isConstant.push_back(constant.has_value());
      constants.push_back(constant.value_or(0));
    }
  }
  /// Reads the operands from number `next` on, and advances `next` past them.
  Shape read(const Instruction &instruction, Frame &frame,
             unsigned &next) const {
    Shape result(constants);
    for (size_t i = 0; i < result.size(); ++i)
      if (!isConstant[i])
        result[i] = static_cast<int64_t>(
            frame.peek(instruction.operands[next++]).intAt(0));
    return result;
  }

  Shape constants;
  SmallVector<bool> isConstant;
};

Lane laneOf(Operation *op) {
  return getElement(op->getResult(0).getType())->lane;
}

/// The sizes of a result type; those that are dynamic are operands.
MixedIndices mixedShape(RankedTensorType type) {
  MixedIndices shape({});
  for (int64_t size : type.getShape()) {
    shape.isConstant.push_back(!ShapedType::isDynamic(size));
    shape.constants.push_back(size);
  }
  return shape;
}

/// The offset of the element at the indices that are the operands from `first`
/// on. Error: an index out of range.
FailureOr<int64_t> elementOffset(const Instruction &instruction, Frame &frame,
                                 const Value &tensor, unsigned first) {
  int64_t offset = 0;
  for (auto [dim, size] : llvm::enumerate(tensor.shape())) {
    auto index = static_cast<int64_t>(
        frame.peek(instruction.operands[first + dim]).intAt(0));
    if (index < 0 || index >= size) {
      (void)frame.fail(instruction.op, "expected an index in [0, " +
                                           Twine(size) + ") for dimension " +
                                           Twine(dim) + ", found " +
                                           Twine(index));
      return failure();
    }
    offset = offset * size + index;
  }
  return offset;
}

void setElement(Value &tensor, int64_t offset, const Value &element) {
  size_t bytes = laneBytes(tensor.lane());
  std::memcpy(tensor.mutableAs<std::byte>() + offset * bytes, element.data(),
              bytes);
}

LogicalResult runExtract(const Instruction &instruction, Frame &frame) {
  const Value &tensor = frame.peek(instruction.operands[0]);
  FailureOr<int64_t> offset = elementOffset(instruction, frame, tensor, 1);
  if (failed(offset))
    return failure();
  Value element(tensor.lane(), {});
  size_t bytes = laneBytes(tensor.lane());
  std::memcpy(element.mutableData(), tensor.as<std::byte>() + *offset * bytes,
              bytes);
  frame.slots[instruction.results[0]] = std::move(element);
  return success();
}

LogicalResult runInsert(const Instruction &instruction, Frame &frame) {
  Value tensor = frame.take(instruction.operands[1]);
  FailureOr<int64_t> offset = elementOffset(instruction, frame, tensor, 2);
  if (failed(offset))
    return failure();
  setElement(tensor, *offset, frame.peek(instruction.operands[0]));
  frame.slots[instruction.results[0]] = std::move(tensor);
  return success();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// A slice of a tensor: its offsets, sizes and strides in the tensor.
struct Slice {
  MixedIndices offsets, sizes, strides;

  template <typename OpTy>
  explicit Slice(OpTy op)
      : offsets(op.getMixedOffsets()), sizes(op.getMixedSizes()),
        strides(op.getMixedStrides()) {}

  /// Reads the operands from `next` on. Error: the slice exceeds `shape`.
  LogicalResult read(const Instruction &instruction, Frame &frame,
                     ArrayRef<int64_t> shape, unsigned next, Shape &extent,
                     Shape &steps, int64_t &start) const {
    Shape offset = offsets.read(instruction, frame, next);
    extent = sizes.read(instruction, frame, next);
    steps = strides.read(instruction, frame, next);
    Shape elementStrides = rowMajorStrides(shape);
    start = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t last = offset[d] + (extent[d] - 1) * steps[d];
      if (extent[d] < 0 ||
          (extent[d] > 0 && (std::min(offset[d], last) < 0 ||
                             std::max(offset[d], last) >= shape[d])))
        return frame.fail(instruction.op,
                          "expected a slice inside of size " + Twine(shape[d]) +
                              " of dimension " + Twine(d) + ", found offset " +
                              Twine(offset[d]) + ", size " + Twine(extent[d]) +
                              " and stride " + Twine(steps[d]));
      start += offset[d] * elementStrides[d];
      steps[d] *= elementStrides[d];
    }
    return success();
  }
};

/// `shape` without the unit dimensions that a slice of type `type` drops.
Shape reduceRank(ArrayRef<int64_t> shape, const llvm::SmallBitVector &dropped) {
  Shape result;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!dropped.test(d))
      result.push_back(shape[d]);
  return result;
}

Instruction::Run translate(tensor::ExtractSliceOp op) {
  return [slice = Slice(op), dropped = op.getDroppedDims()](
             const Instruction &instruction, Frame &frame) {
    const Value &source = frame.peek(instruction.operands[0]);
    Shape extent, steps;
    int64_t start;
    if (failed(slice.read(instruction, frame, source.shape(), 1, extent, steps,
                          start)))
      return failure();
    Value result(source.lane(), extent);
    size_t bytes = laneBytes(source.lane());
    if (result.size() > 0)
      copyStrided(result.mutableAs<std::byte>(), rowMajorStrides(extent),
                  source.as<std::byte>() + start * bytes, steps, extent, bytes);
    frame.slots[instruction.results[0]] =
        result.reshaped(reduceRank(extent, dropped));
    return success();
  };
}

Instruction::Run translate(tensor::InsertSliceOp op) {
  return [slice = Slice(op)](const Instruction &instruction, Frame &frame) {
    // Read before the destination is taken, which may be the same value.
    Value source = frame.peek(instruction.operands[0]),
          result = frame.take(instruction.operands[1]);
    Shape extent, steps;
    int64_t start;
    if (failed(slice.read(instruction, frame, result.shape(), 2, extent, steps,
                          start)))
      return failure();
    if (numElements(extent) != source.size())
      return frame.fail(instruction.op,
                        "expected a source of " + Twine(numElements(extent)) +
                            " elements, found " + Twine(source.size()));
    size_t bytes = laneBytes(result.lane());
    if (source.size() > 0)
      copyStrided(result.mutableAs<std::byte>() + start * bytes, steps,
                  source.as<std::byte>(), rowMajorStrides(extent), extent,
                  bytes);
    frame.slots[instruction.results[0]] = std::move(result);
    return success();
  };
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

LogicalResult setReshaped(const Instruction &instruction, Frame &frame,
                          const Value &source, ArrayRef<int64_t> shape) {
  if (numElements(shape) != source.size())
    return frame.fail(instruction.op, "expected a shape of " +
                                          Twine(source.size()) +
                                          " elements, found one of " +
                                          Twine(numElements(shape)));
  frame.slots[instruction.results[0]] = source.reshaped(shape);
  return success();
}

Instruction::Run translate(tensor::ExpandShapeOp op) {
  return [sizes = MixedIndices(op.getMixedOutputShape())](
             const Instruction &instruction, Frame &frame) {
    unsigned next = 1;
    Shape shape = sizes.read(instruction, frame, next);
    return setReshaped(instruction, frame, frame.peek(instruction.operands[0]),
                       shape);
  };
}

Instruction::Run translate(tensor::CollapseShapeOp op) {
  return [groups = op.getReassociationIndices()](const Instruction &instruction,
                                                 Frame &frame) {
    const Value &source = frame.peek(instruction.operands[0]);
    Shape shape;
    for (const ReassociationIndices &group : groups) {
      int64_t size = 1;
      for (int64_t dim : group)
        size *= source.shape()[dim];
      shape.push_back(size);
    }
    return setReshaped(instruction, frame, source, shape);
  };
}

LogicalResult runReshape(const Instruction &instruction, Frame &frame) {
  const Value &sizes = frame.peek(instruction.operands[1]);
  Shape shape;
  for (int64_t i = 0; i < sizes.size(); ++i)
    shape.push_back(static_cast<int64_t>(sizes.intAt(i)));
  return setReshaped(instruction, frame, frame.peek(instruction.operands[0]),
                     shape);
}

Instruction::Run translate(tensor::CastOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  return [type](const Instruction &instruction, Frame &frame) {
    Value value = frame.take(instruction.operands[0]);
    bool fits =
        !type || type.getRank() == static_cast<int64_t>(value.shape().size());
    for (size_t d = 0; type && fits && d < value.shape().size(); ++d)
      fits = type.isDynamicDim(d) || type.getDimSize(d) == value.shape()[d];
    if (!fits) {
      std::string found;
      llvm::raw_string_ostream stream(found);
      stream << type << ", found the shape [";
      llvm::interleaveComma(value.shape(), stream);
      stream << "]";
      return frame.fail(instruction.op, "expected a value of type " + found);
    }
    frame.slots[instruction.results[0]] = std::move(value);
    return success();
  };
}

LogicalResult runDim(const Instruction &instruction, Frame &frame) {
  ArrayRef<int64_t> shape = frame.peek(instruction.operands[0]).shape();
  uint64_t dim = frame.peek(instruction.operands[1]).intAt(0);
  if (dim >= shape.size())
    return frame.fail(instruction.op, "expected a dimension below " +
                                          Twine(shape.size()) + ", found " +
                                          Twine(dim));
  frame.slots[instruction.results[0]] = Value::ofInt(shape[dim]);
  return success();
}

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

Instruction::Run translate(tensor::FromElementsOp op) {
  return [lane = laneOf(op), shape = Shape(op.getType().getShape())](
             const Instruction &instruction, Frame &frame) {
    Value result(lane, shape);
    for (auto [index, use] : llvm::enumerate(instruction.operands))
      setElement(result, index, frame.peek(use));
    frame.slots[instruction.results[0]] = std::move(result);
    return success();
  };
}

/// The element of uninitialized memory, different for each replica.
Value unwritten(Lane lane, int64_t replica) {
  Value value(lane, {});
  if (lane == Lane::Float)
    value.mutableAs<float>()[0] = static_cast<float>(replica + 2);
  else if (lane == Lane::Double)
    value.mutableAs<double>()[0] = static_cast<double>(replica + 2);
  else
    value.mutableAs<uint64_t>()[0] = static_cast<uint64_t>((replica + 2) % 2);
  return value;
}

Instruction::Run translate(tensor::EmptyOp op) {
  return [lane = laneOf(op), sizes = mixedShape(op.getType())](
             const Instruction &instruction, Frame &frame) {
    unsigned next = 0;
    Shape shape = sizes.read(instruction, frame, next);
    if (failed(frame.spend(instruction.op, shape)))
      return failure();
    Value result(lane, shape);
    if (frame.machine.options.unwrittenDiffers)
      for (int64_t i = 0; i < result.size(); ++i)
        setElement(result, i, unwritten(lane, frame.replica));
    frame.slots[instruction.results[0]] = std::move(result);
    return success();
  };
}

Instruction::Run translate(tensor::SplatOp op) {
  return [lane = laneOf(op), sizes = mixedShape(op.getType())](
             const Instruction &instruction, Frame &frame) {
    unsigned next = 1;
    Shape shape = sizes.read(instruction, frame, next);
    if (failed(frame.spend(instruction.op, shape)))
      return failure();
    Value result(lane, shape);
    for (int64_t i = 0; i < result.size(); ++i)
      setElement(result, i, frame.peek(instruction.operands[0]));
    frame.slots[instruction.results[0]] = std::move(result);
    return success();
  };
}

Instruction::Run translate(tensor::ConcatOp op) {
  return [axis = op.getDim()](const Instruction &instruction, Frame &frame) {
    SmallVector<Value> parts = llvm::map_to_vector(
        instruction.operands, [&](Use use) { return frame.peek(use); });
    for (const Value &part : parts)
      for (size_t d = 0; d < part.shape().size(); ++d)
        if (d != axis && part.shape()[d] != parts[0].shape()[d])
          return frame.fail(instruction.op,
                            "expected size " + Twine(parts[0].shape()[d]) +
                                " of dimension " + Twine(d) + ", found " +
                                Twine(part.shape()[d]));
    frame.slots[instruction.results[0]] = concatenate(parts, axis);
    return success();
  };
}

/// Calls `body` with the indices of each element, in row-major order, and
/// stores the value it yields as that element.
LogicalResult generate(const Code &body, Frame &frame, Value &result) {
  if (result.size() == 0)
    return success();
  SmallVector<int64_t> point(result.shape().size(), 0);
  SmallVector<Value> arguments, yielded;
  for (int64_t offset = 0; offset < result.size(); ++offset) {
    arguments.clear();
    for (int64_t index : point)
      arguments.push_back(Value::ofInt(index));
    if (failed(body.call(frame, arguments, yielded)))
      return failure();
    setElement(result, offset, yielded[0]);
    for (size_t d = point.size(); d-- > 0;) {
      if (++point[d] < result.shape()[d])
        break;
      point[d] = 0;
    }
  }
  return success();
}

FailureOr<Instruction::Run> translate(tensor::GenerateOp op,
                                      CodeBuilder &builder) {
  FailureOr<std::shared_ptr<const Code>> body =
      builder.build(op.getBody().front());
  if (failed(body))
    return failure();
  return Instruction::Run(
      [body = *body, lane = laneOf(op),
       sizes = mixedShape(cast<RankedTensorType>(op.getType()))](
          const Instruction &instruction, Frame &frame) {
        unsigned next = 0;
        Shape shape = sizes.read(instruction, frame, next);
        if (failed(frame.spend(instruction.op, shape)))
          return failure();
        Value result(lane, shape);
        if (failed(generate(*body, frame, result)))
          return failure();
        frame.slots[instruction.results[0]] = std::move(result);
        return success();
      });
}

FailureOr<Instruction::Run> translate(tensor::PadOp op, CodeBuilder &builder) {
  FailureOr<std::shared_ptr<const Code>> body =
      builder.build(op.getRegion().front());
  if (failed(body))
    return failure();
  // The padding is usually one value for all indices.
  bool isConstant = op.getConstantPaddingValue() != nullptr;
  return Instruction::Run([body = *body, isConstant,
                           low = MixedIndices(op.getMixedLowPad()),
                           high = MixedIndices(op.getMixedHighPad())](
                              const Instruction &instruction, Frame &frame) {
    const Value &source = frame.peek(instruction.operands[0]);
    unsigned next = 1;
    Shape before = low.read(instruction, frame, next),
          shape = high.read(instruction, frame, next);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (before[d] < 0 || shape[d] < 0)
        return frame.fail(instruction.op,
                          "expected padding of 0 or more, found " +
                              Twine(std::min(before[d], shape[d])));
      shape[d] += before[d] + source.shape()[d];
    }
    if (failed(frame.spend(instruction.op, shape)))
      return failure();
    Value result(source.lane(), shape);
    if (isConstant) {
      SmallVector<Value> arguments(shape.size(), Value::ofInt(0)), yielded;
      if (failed(body->call(frame, arguments, yielded)))
        return failure();
      for (int64_t i = 0; i < result.size(); ++i)
        setElement(result, i, yielded[0]);
    } else if (failed(generate(*body, frame, result))) {
      return failure();
    }
    Shape strides = rowMajorStrides(shape);
    int64_t start = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      start += before[d] * strides[d];
    size_t bytes = laneBytes(source.lane());
    if (source.size() > 0)
      copyStrided(result.mutableAs<std::byte>() + start * bytes, strides,
                  source.as<std::byte>(), rowMajorStrides(source.shape()),
                  source.shape(), bytes);
    frame.slots[instruction.results[0]] = std::move(result);
    return success();
  });
}

} // namespace

FailureOr<Instruction::Run> translateTensorOp(Operation *op,
                                              CodeBuilder &builder) {
  using Result = FailureOr<Instruction::Run>;
  return TypeSwitch<Operation *, Result>(op)
      .Case([](tensor::ExtractOp) {
        return Result(Instruction::Run(&runExtract));
      })
      .Case(
          [](tensor::InsertOp) { return Result(Instruction::Run(&runInsert)); })
      .Case([](tensor::ReshapeOp) {
        return Result(Instruction::Run(&runReshape));
      })
      .Case([](tensor::DimOp) { return Result(Instruction::Run(&runDim)); })
      .Case<tensor::ExtractSliceOp, tensor::InsertSliceOp,
            tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
            tensor::FromElementsOp, tensor::EmptyOp, tensor::SplatOp,
            tensor::ConcatOp>(
          [](auto typed) { return Result(translate(typed)); })
      .Case<tensor::GenerateOp, tensor::PadOp>(
          [&](auto typed) { return translate(typed, builder); })
      .Default([](Operation *) { return Result(Instruction::Run()); });
}

} // namespace lockstep::interpret
