//===- ReduceAxes.cpp - Reductions along axes of a tensor -----------------===//

#include "passes/Lower/ReduceAxes.h"

#include "passes/Lower/Means.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

/// The sum of `value` over all replicas.
static Value sumUp(OpBuilder &builder, Location loc, Value value) {
  return replica::AllReduceOp::create(builder, loc, TypeRange(value.getType()),
                                      replica::Reduction::Sum, value)
      .getResult(0);
}

/// `value` in elements of type `element`, rounded if need be.
static Value round(OpBuilder &builder, Location loc, Value value,
                   Type element) {
  return getElementTypeOrSelf(value.getType()) == element
             ? value
             : divideBy(builder, loc, value, 1, element);
}

/// The sums of a replica's own elements along `axes`, of type `element`.
static Value addAlong(OpBuilder &builder, Location loc, Value value,
                      ArrayRef<int64_t> axes, Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> sizes;
  for (auto [d, size] :
       llvm::enumerate(tensor::getMixedSizes(builder, loc, value)))
    if (!llvm::is_contained(axes, static_cast<int64_t>(d)))
      sizes.push_back(size);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, element);
  Value init = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  SmallVector<int64_t> sorted(axes);
  llvm::sort(sorted);
  return linalg::ReduceOp::create(
             builder, loc, value, init, sorted,
             [&](OpBuilder &b, Location bodyLoc, ValueRange in) {
               Value wide =
                   type.getElementType() == element
                       ? in[0]
                       : arith::ExtFOp::create(b, bodyLoc, element, in[0])
                             .getResult();
               Value sum = isa<FloatType>(element)
                               ? arith::AddFOp::create(b, bodyLoc, wide, in[1])
                                     .getResult()
                               : arith::AddIOp::create(b, bodyLoc, wide, in[1])
                                     .getResult();
               linalg::YieldOp::create(b, bodyLoc, sum);
             })
      .getResult(0);
}

/// The number of elements along `axes` on all replicas together, an i64.
static Value countElements(OpBuilder &builder, Location loc, Value value,
                           ArrayRef<int64_t> axes) {
  Value count = arith::ConstantIndexOp::create(builder, loc, 1);
  for (int64_t axis : axes)
    count = arith::MulIOp::create(
        builder, loc, count, tensor::DimOp::create(builder, loc, value, axis));
  Value own =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), count);
  Value all = sumUp(
      builder, loc,
      tensor::FromElementsOp::create(
          builder, loc, RankedTensorType::get({}, builder.getI64Type()), own));
  return tensor::ExtractOp::create(builder, loc, all, ValueRange());
}

Value lockstep::reduceAxes(OpBuilder &builder, replica::ReduceOp op,
                           Value value, int64_t replicas) {
  Location loc = op.getLoc();
  ArrayRef<int64_t> axes = op.getAxesAttr().asArrayRef();
  auto type = cast<RankedTensorType>(value.getType());
  Type element = getElementTypeOrSelf(op.getType());
  Value sum = sumUp(
      builder, loc,
      addAlong(builder, loc, value, axes, getSumType(type.getElementType())));
  if (op.getReduction() != replica::Reduction::Mean)
    return round(builder, loc, sum, element);
  int64_t count = replicas;
  bool known = llvm::none_of(
      axes, [&](int64_t axis) { return type.isDynamicDim(axis); });
  for (int64_t axis : axes)
    count *= known ? type.getDimSize(axis) : 1;
  // The mean of no elements must be computed, as 0 / 0. [3.1-axis-empty]
  if (known && count > 0)
    return divideBy(builder, loc, sum, count, element);
  return divideBy(builder, loc, sum, countElements(builder, loc, value, axes),
                  element);
}
