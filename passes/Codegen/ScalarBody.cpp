//===- ScalarBody.cpp - Bodies of generics on scalars ---------------------===//

#include "passes/Codegen/ScalarBody.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace lockstep;
using namespace mlir;

SmallVector<Value> ScalarBody::getIndices(OpOperand &operand) {
  Location loc = op.getLoc();
  auto zero = [&]() -> Value {
    return arith::ConstantIndexOp::create(builder, loc, 0);
  };
  SmallVector<Value> filled(dims);
  for (Value &value : filled)
    if (!value)
      value = zero();
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> indices =
      llvm::map_to_vector(map.getResults(), [&](AffineExpr result) {
        return affine::expandAffineExpr(builder, loc, result, filled, {});
      });
  if (!rows)
    return indices;
  if (auto row = rows->find(operand.get()); row != rows->end())
    for (unsigned index : row->second)
      indices[index] = zero();
  return indices;
}

Value ScalarBody::load(OpOperand &operand) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  if (Value element = loaded[operand.getOperandNumber()])
    return element;
  if (elements)
    if (Value element = elements->lookup(operand.get()))
      return element;
  return memref::LoadOp::create(builder, op.getLoc(), operand.get(),
                                getIndices(operand));
}

SmallVector<Value> ScalarBody::evaluate(ValueRange accumulators) {
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (op.isDpsInit(&operand) && !accumulators.empty())
      mapping.map(
          argument,
          accumulators[operand.getOperandNumber() - op.getNumDpsInputs()]);
    else if (!argument.use_empty())
      mapping.map(argument, load(operand));
  }
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(index.getResult(), dims[index.getDim()]);
    else
      builder.clone(inner, mapping);
  }
  return llvm::map_to_vector(
      op.getBlock()->getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

void ScalarBody::store(ValueRange results) {
  for (auto [init, result] : llvm::zip_equal(op.getDpsInitsMutable(), results))
    memref::StoreOp::create(builder, op.getLoc(), result, init.get(),
                            getIndices(init));
}
