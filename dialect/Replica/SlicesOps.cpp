//===- SlicesOps.cpp - Rows of variables, and slices ----------------------===//

#include "dialect/Replica/ReplicaDialect.h"

using namespace lockstep;
using namespace lockstep::replica;
using namespace mlir;

/// Verifies row indices: a vector of i32 or i64.
static LogicalResult verifyIndices(Operation *op, StringRef what,
                                   RankedTensorType type) {
  if (!type || type.getRank() != 1 ||
      !(type.getElementType().isSignlessInteger(32) ||
        type.getElementType().isSignlessInteger(64)))
    return op->emitOpError("expected a vector of ")
           << what << " of type i32 or i64, found " << type;
  return success();
}

/// Verifies slices: the rows of `values`, each with a row index in `indices`.
static LogicalResult verifySlices(Operation *op, Type values, Type indices) {
  auto rows = dyn_cast_or_null<RankedTensorType>(getComponent(values)),
       places = dyn_cast_or_null<RankedTensorType>(getComponent(indices));
  if (!rows || rows.getRank() == 0)
    return op->emitOpError("expected values with rows, found ") << values;
  if (!places || places.getRank() != 1 ||
      !places.getElementType().isSignlessInteger())
    return op->emitOpError("expected a vector of integer indices, found ")
           << indices;
  if (!rows.isDynamicDim(0) && !places.isDynamicDim(0) &&
      rows.getDimSize(0) != places.getDimSize(0))
    return op->emitOpError("expected as many indices as values, ")
           << rows.getDimSize(0) << ", found " << places.getDimSize(0)
           << " [E_SHAPE_MISMATCH]";
  return success();
}

LogicalResult ScatterOp::verify() {
  return verifySlices(*this, getValues().getType(), getIndices().getType());
}

LogicalResult ScatterOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  VariableOp variable = lookupVariable(*this, symbolTable);
  if (!variable)
    return emitOpError("unknown variable ") << getVariableAttr();
  auto table = cast<RankedTensorType>(variable.getType());
  auto values = cast<RankedTensorType>(getComponent(getValues().getType()));
  if (values.getElementType() != table.getElementType())
    return emitOpError("expected values of type ")
           << table.getElementType() << ", found " << values
           << " [E_DTYPE_MISMATCH]";
  if (values.getRank() != table.getRank() ||
      values.getShape().drop_front() != table.getShape().drop_front())
    return emitOpError("expected rows of ")
           << table << ", found " << values << " [E_SHAPE_MISMATCH]";
  return success();
}

LogicalResult AllReduceSlicesOp::verify() {
  if (failed(
          verifySlices(*this, getValues().getType(), getIndices().getType())))
    return failure();
  return verifySlices(*this, getAllValues().getType(),
                      getAllIndices().getType());
}

ResultUniformity
AllReduceSlicesOp::getResultUniformity(unsigned, SymbolTableCollection &) {
  return ResultUniformity::Uniform;
}

LogicalResult ReduceSlicesOp::verify() {
  if (failed(
          verifySlices(*this, getValues().getType(), getIndices().getType())))
    return failure();
  return verifySlices(*this, getAllValues().getType(),
                      getAllIndices().getType());
}

ResultUniformity ReduceSlicesOp::getResultUniformity(unsigned,
                                                     SymbolTableCollection &) {
  return ResultUniformity::Uniform;
}

//===----------------------------------------------------------------------===//
// LookupOp, SlicesToDenseOp
//===----------------------------------------------------------------------===//

LogicalResult LookupOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  VariableOp variable = lookupVariable(*this, symbolTable);
  if (!variable)
    return emitOpError("unknown variable ") << getVariableAttr();
  auto ids = cast<RankedTensorType>(getIds().getType());
  if (failed(verifyIndices(*this, "ids", ids)))
    return failure();
  auto table = cast<RankedTensorType>(variable.getType());
  if (table.getRank() == 0)
    return emitOpError("expected a variable with rows, found ")
           << table << " [E_RANK_MISMATCH]";
  SmallVector<int64_t> shape(table.getShape());
  shape[0] = ids.getDimSize(0);
  if (RankedTensorType expected = table.clone(shape); getType() != expected)
    return emitOpError("expected a result of type ")
           << expected << ", found " << getType() << " [E_SHAPE_MISMATCH]";
  return success();
}

ResultUniformity
LookupOp::getResultUniformity(unsigned, SymbolTableCollection &symbolTable) {
  VariableOp variable = lookupVariable(*this, symbolTable);
  return variable && variable.isOnRead() ? ResultUniformity::Varying
                                         : ResultUniformity::FromOperands;
}

LogicalResult SlicesToDenseOp::verify() {
  auto values = cast<RankedTensorType>(getValues().getType()),
       dense = cast<RankedTensorType>(getType());
  if (failed(verifySlices(*this, values, getIndices().getType())))
    return failure();
  if (values.getRank() != dense.getRank() ||
      values.getShape().drop_front() != dense.getShape().drop_front() ||
      values.getElementType() != dense.getElementType())
    return emitOpError("expected a result with rows as in ")
           << values << ", found " << dense << " [E_SHAPE_MISMATCH]";
  return success();
}
