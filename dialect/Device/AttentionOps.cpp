//===- AttentionOps.cpp - Attention as one operation ----------------------===//

#include "dialect/Device/DeviceDialect.h"

using namespace lockstep;
using namespace lockstep::device;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Effects and verification
//===----------------------------------------------------------------------===//

template <typename OpTy>
static void addMemoryEffects(
    OpTy op, SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
                 &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

void AttentionOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addMemoryEffects(*this, effects);
}

void AttentionGradientOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addMemoryEffects(*this, effects);
}

FloatType lockstep::device::getWideType(Type element) {
  return element.isF64() ? cast<FloatType>(element)
                         : FloatType(Float32Type::get(element.getContext()));
}

Speculation::Speculatability AttentionOp::getSpeculatability() {
  return hasPureTensorSemantics() ? Speculation::Speculatable
                                  : Speculation::NotSpeculatable;
}

Speculation::Speculatability AttentionGradientOp::getSpeculatability() {
  return hasPureTensorSemantics() ? Speculation::Speculatable
                                  : Speculation::NotSpeculatable;
}

bool lockstep::device::isAttention(Operation *op) {
  return isa<AttentionOp, AttentionGradientOp>(op);
}

/// Checks a value against the shape and the type of elements that follow from
/// the queries and the keys.
static LogicalResult verifyOperand(Operation *op, StringRef name, Value value,
                                   ArrayRef<int64_t> shape, Type element) {
  auto type = cast<ShapedType>(value.getType());
  if (type.hasRank() && type.getShape() == shape &&
      type.getElementType() == element)
    return success();
  return op->emitOpError("expected ")
         << name << " of type " << RankedTensorType::get(shape, element)
         << ", found " << type;
}

/// Checks what both operations have.
template <typename OpTy> static LogicalResult verifyAttention(OpTy op) {
  auto query = cast<ShapedType>(op.getQuery().getType()),
       key = cast<ShapedType>(op.getKey().getType());
  for (ShapedType type : {query, key})
    if (!type.hasStaticShape() || type.getRank() != 4 ||
        !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(
            type.getElementType()) ||
        type.getNumElements() == 0)
      return op.emitOpError(
                 "expected queries and keys of f16, bf16, f32 or f64, "
                 "[examples, positions, heads, size of a head], of static "
                 "shape and not empty, found ")
             << type;
  ArrayRef<int64_t> shape = query.getShape();
  Type element = query.getElementType();
  auto verify = [&](StringRef name, Value value, ArrayRef<int64_t> expected,
                    Type type) {
    return verifyOperand(op, name, value, expected, type);
  };
  if (failed(verify("keys", op.getKey(),
                    {shape[0], key.getShape()[1], shape[2], shape[3]},
                    element)) ||
      failed(verify("values", op.getValue(), key.getShape(), element)) ||
      failed(verify("outputs", op.getOutput(), shape, element)) ||
      failed(verify("statistics", op.getStatistics(),
                    {shape[0], shape[2], shape[1]}, getWideType(element))))
    return failure();
  return success();
}

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }

LogicalResult AttentionGradientOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  auto verifyLike = [&](StringRef name, Value value, Value other) {
    auto type = cast<ShapedType>(other.getType());
    return verifyOperand(*this, name, value, type.getShape(),
                         type.getElementType());
  };
  return success(
      succeeded(verifyLike("cotangents", getCotangent(), getQuery())) &&
      succeeded(
          verifyLike("gradients of queries", getQueryGradient(), getQuery())) &&
      succeeded(verifyLike("gradients of keys", getKeyGradient(), getKey())) &&
      succeeded(
          verifyLike("gradients of values", getValueGradient(), getKey())));
}
