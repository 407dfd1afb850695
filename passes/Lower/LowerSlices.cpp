//===- LowerSlices.cpp - Lookups and scatters of rows as loops ------------===//

#include "passes/Lower/LowerSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

/// The new value of element `old` after a scatter of `update` to it.
static Value combine(OpBuilder &b, Location loc, replica::Scatter kind,
                     Value old, Value update) {
  bool isFloat = isa<FloatType>(old.getType());
  switch (kind) {
  case replica::Scatter::Add:
    return isFloat ? arith::AddFOp::create(b, loc, old, update).getResult()
                   : arith::AddIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Sub:
    return isFloat ? arith::SubFOp::create(b, loc, old, update).getResult()
                   : arith::SubIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Mul:
    return isFloat ? arith::MulFOp::create(b, loc, old, update).getResult()
                   : arith::MulIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Div:
    return isFloat ? arith::DivFOp::create(b, loc, old, update).getResult()
                   : arith::DivSIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Min:
    return isFloat ? arith::MinimumFOp::create(b, loc, old, update).getResult()
                   : arith::MinSIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Max:
    return isFloat ? arith::MaximumFOp::create(b, loc, old, update).getResult()
                   : arith::MaxSIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Update:
    return update;
  }
  llvm_unreachable("unknown kind of scatter");
}

/// Combines the part of `table` at `target` with the part of `values` at
/// `source`, both indices of the leading dimensions, and returns the new table.
/// Creates a loop for each further dimension.
static Value scatterRow(OpBuilder &builder, Location loc, replica::Scatter kind,
                        Value table, Value values, SmallVector<Value> target,
                        SmallVector<Value> source) {
  auto type = cast<RankedTensorType>(table.getType());
  if (static_cast<int64_t>(target.size()) == type.getRank()) {
    Value old = tensor::ExtractOp::create(builder, loc, table, target),
          update = tensor::ExtractOp::create(builder, loc, values, source);
    return tensor::InsertOp::create(
        builder, loc, combine(builder, loc, kind, old, update), table, target);
  }
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0),
        one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value size = arith::ConstantIndexOp::create(builder, loc,
                                              type.getDimSize(target.size()));
  return scf::ForOp::create(
             builder, loc, zero, size, one, table,
             [&](OpBuilder &b, Location, Value index, ValueRange carried) {
               target.push_back(index);
               source.push_back(index);
               scf::YieldOp::create(b, loc,
                                    scatterRow(b, loc, kind, carried[0], values,
                                               target, source));
             })
      .getResult(0);
}

Value lockstep::scatterRows(OpBuilder &builder, Location loc,
                            replica::Scatter kind, Value table, Value indices,
                            Value values, Value count) {
  auto type = cast<RankedTensorType>(table.getType());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0),
        one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value rows = arith::ConstantIndexOp::create(builder, loc, type.getDimSize(0));
  return scf::ForOp::create(
             builder, loc, zero, count, one, table,
             [&](OpBuilder &b, Location, Value i, ValueRange carried) {
               Value index = arith::IndexCastOp::create(
                   b, loc, b.getIndexType(),
                   tensor::ExtractOp::create(b, loc, indices, i));
               // Indices outside of the table change nothing. A negative index,
               // as an unsigned number, is too large.
               Value inside = arith::CmpIOp::create(
                   b, loc, arith::CmpIPredicate::ult, index, rows);
               auto written = scf::IfOp::create(
                   b, loc, inside,
                   [&](OpBuilder &nested, Location) {
                     scf::YieldOp::create(nested, loc,
                                          scatterRow(nested, loc, kind,
                                                     carried[0], values,
                                                     {index}, {i}));
                   },
                   [&](OpBuilder &nested, Location) {
                     scf::YieldOp::create(nested, loc, carried[0]);
                   });
               scf::YieldOp::create(b, loc, written.getResult(0));
             })
      .getResult(0);
}

Value lockstep::lookUpRows(OpBuilder &builder, Location loc, Value table,
                           Value ids) {
  auto tableType = cast<RankedTensorType>(table.getType());
  SmallVector<int64_t> shape(tableType.getShape());
  shape[0] = cast<RankedTensorType>(ids.getType()).getDimSize(0);
  auto type = tableType.clone(shape);
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(builder.getContext(), shape);
  if (type.isDynamicDim(0))
    sizes[0] = countRows(builder, loc, ids);
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value init =
      tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  // Below, an id outside of the table reads row 0 and selects zero. A table
  // without rows has no row 0, and all results are zero.
  if (tableType.getDimSize(0) == 0)
    return linalg::FillOp::create(builder, loc, zero, init).getResult(0);

  int64_t rank = type.getRank();
  AffineMap all = builder.getMultiDimIdentityMap(rank),
            first = all.getMajorSubMap(1);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  Value rows = countRows(builder, loc, table),
        rowZero = arith::ConstantIndexOp::create(builder, loc, 0);
  return linalg::GenericOp::create(
             builder, loc, TypeRange(type), ids, init,
             ArrayRef<AffineMap>{first, all}, iterators,
             [&](OpBuilder &b, Location, ValueRange in) {
               Value id =
                   arith::IndexCastOp::create(b, loc, b.getIndexType(), in[0]);
               // A negative id, as an unsigned number, is too large. [8-lookup]
               Value inside = arith::CmpIOp::create(
                   b, loc, arith::CmpIPredicate::ult, id, rows);
               SmallVector<Value> place{id};
               for (int64_t d = 1; d < rank; ++d)
                 place.push_back(linalg::IndexOp::create(b, loc, d));
               if (tableType.isDynamicDim(0)) {
                 // The table may have no row 0: read only with a valid id.
                 auto read = [&](OpBuilder &b, Location) {
                   scf::YieldOp::create(
                       b, loc,
                       tensor::ExtractOp::create(b, loc, table, place)
                           .getResult());
                 };
                 auto skip = [&](OpBuilder &b, Location) {
                   scf::YieldOp::create(b, loc, zero);
                 };
                 linalg::YieldOp::create(
                     b, loc,
                     scf::IfOp::create(b, loc, inside, read, skip)
                         .getResults());
                 return;
               }
               place[0] = arith::SelectOp::create(b, loc, inside, id, rowZero);
               Value element = tensor::ExtractOp::create(b, loc, table, place);
               linalg::YieldOp::create(
                   b, loc,
                   arith::SelectOp::create(b, loc, inside, element, zero)
                       .getResult());
             })
      .getResult(0);
}

Value lockstep::makeDense(OpBuilder &builder, Location loc,
                          RankedTensorType type, Value indices, Value values) {
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  Value zeros = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  return scatterRows(builder, loc, replica::Scatter::Add, zeros, indices,
                     values, countRows(builder, loc, indices));
}

Value lockstep::countRows(OpBuilder &builder, Location loc, Value tensor) {
  return builder.createOrFold<tensor::DimOp>(
      loc, tensor, arith::ConstantIndexOp::create(builder, loc, 0).getResult());
}
