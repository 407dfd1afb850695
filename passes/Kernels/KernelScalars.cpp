//===- KernelScalars.cpp - Scalars stored in tensors of rank 0 ------------===//

#include "passes/Kernels/KernelScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

Type lockstep::getStoredType(Type type) {
  if (type.isIndex())
    return RankedTensorType::get({}, IntegerType::get(type.getContext(), 64));
  return type.isIntOrFloat() ? RankedTensorType::get({}, type) : type;
}

Value lockstep::storeScalar(OpBuilder &builder, Location location,
                            Value value) {
  Type type = getStoredType(value.getType());
  if (type == value.getType())
    return value;
  if (value.getType().isIndex())
    value = arith::IndexCastOp::create(builder, location, builder.getI64Type(),
                                       value);
  return tensor::FromElementsOp::create(builder, location, type, value);
}

Value lockstep::loadScalar(OpBuilder &builder, Location location, Value stored,
                           Type type) {
  if (stored.getType() == type)
    return stored;
  Value value =
      tensor::ExtractOp::create(builder, location, stored, ValueRange());
  return type.isIndex()
             ? arith::IndexCastOp::create(builder, location, type, value)
                   .getResult()
             : value;
}
