//===- ReplicaCollectives.cpp - Collectives of all replicas ---------------===//

#include "passes/Lower/ReplicaCollectives.h"

#include "passes/Lower/Means.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

static collective::Reduction getExchanged(replica::Reduction reduction) {
  switch (reduction) {
  case replica::Reduction::Sum:
  case replica::Reduction::Mean:
    return collective::Reduction::Sum;
  case replica::Reduction::Product:
    return collective::Reduction::Product;
  case replica::Reduction::Min:
    return collective::Reduction::Min;
  case replica::Reduction::Max:
    return collective::Reduction::Max;
  }
  llvm_unreachable("all reductions are listed");
}

ValueRange ReplicaCollectives::communicate(Location loc, collective::Kind kind,
                                           collective::Reduction reduction,
                                           ValueRange operands,
                                           TypeRange results, IntegerAttr axis,
                                           int64_t bytesPerPack,
                                           ValueRange sizes) {
  auto pending = collective::PendingType::get(builder.getContext(),
                                              llvm::to_vector(results));
  auto start = collective::StartOp::create(
      builder, loc, pending, kind, reduction, group,
      /*channel=*/IntegerAttr(), operands, sizes, axis, bytesPerPack,
      /*bounds=*/DenseI64ArrayAttr(), /*root=*/IntegerAttr(),
      /*sources=*/DenseI64ArrayAttr());
  return collective::WaitOp::create(builder, loc, results, start, operands)
      .getResults();
}

Value ReplicaCollectives::reduce(Location loc, replica::Reduction reduction,
                                 Value operand, Type element,
                                 int64_t bytesPerPack) {
  auto type = cast<RankedTensorType>(operand.getType());
  bool mean = reduction == replica::Reduction::Mean;
  Value reduced = operand;
  if (replicas > 1) {
    RankedTensorType sumType =
        mean ? type.clone(getSumType(type.getElementType())) : type;
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        sizes.push_back(tensor::DimOp::create(builder, loc, operand, d));
    reduced =
        communicate(loc, collective::Kind::AllReduce, getExchanged(reduction),
                    operand, sumType, {}, bytesPerPack, sizes)[0];
  }
  return mean ? divideBy(builder, loc, reduced, replicas, element) : reduced;
}

Value ReplicaCollectives::broadcast(Location loc, Value value) {
  return replicas == 1 ? value
                       : communicate(loc, collective::Kind::Broadcast,
                                     collective::Reduction::None, value,
                                     value.getType())[0];
}

Value ReplicaCollectives::exchangeCounts(Location loc, ValueRange counts) {
  auto number = static_cast<int64_t>(counts.size());
  Type i64 = builder.getI64Type();
  SmallVector<Value> own =
      llvm::map_to_vector(counts, [&](Value count) -> Value {
        return arith::IndexCastOp::create(builder, loc, i64, count);
      });
  Value row = tensor::FromElementsOp::create(
      builder, loc, RankedTensorType::get({1, number}, i64), own);
  auto allType = RankedTensorType::get({replicas, number}, i64);
  return communicate(loc, collective::Kind::AllGather,
                     collective::Reduction::None, row, allType,
                     builder.getI64IntegerAttr(0))[0];
}

SmallVector<Value> ReplicaCollectives::addColumns(Location loc, Value counts) {
  int64_t number = cast<RankedTensorType>(counts.getType()).getDimSize(1);
  Value zero = tensor::FromElementsOp::create(
      builder, loc, RankedTensorType::get({number}, builder.getI64Type()),
      SmallVector<Value>(number,
                         arith::ConstantIntOp::create(builder, loc, 0, 64)));
  Value sums =
      linalg::ReduceOp::create(
          builder, loc, counts, zero, ArrayRef<int64_t>{0},
          [&](OpBuilder &b, Location bodyLoc, ValueRange in) {
            linalg::YieldOp::create(
                b, bodyLoc,
                arith::AddIOp::create(b, bodyLoc, in[0], in[1]).getResult());
          })
          .getResult(0);
  SmallVector<Value> totals;
  for (int64_t i = 0; i < number; ++i) {
    Value sum = tensor::ExtractOp::create(
        builder, loc, sums,
        arith::ConstantIndexOp::create(builder, loc, i).getResult());
    totals.push_back(
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), sum));
  }
  return totals;
}

Value ReplicaCollectives::gather(Location loc, Value value, int64_t axis,
                                 RankedTensorType resultType, Value total) {
  auto from = cast<RankedTensorType>(value.getType());
  if (replicas == 1)
    return from == resultType
               ? value
               : tensor::CastOp::create(builder, loc, resultType, value)
                     .getResult();
  SmallVector<int64_t> shape(from.getShape());
  shape[axis] = from.isDynamicDim(axis) ? resultType.getDimSize(axis)
                                        : from.getDimSize(axis) * replicas;
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (ShapedType::isDynamic(shape[d]))
      sizes.push_back(
          d == axis
              ? total
              : tensor::DimOp::create(builder, loc, value, d).getResult());
  RankedTensorType gathered = from.clone(shape);
  Value result =
      communicate(loc, collective::Kind::AllGather, collective::Reduction::None,
                  value, gathered, builder.getI64IntegerAttr(axis),
                  /*bytesPerPack=*/0, sizes)[0];
  return gathered == resultType
             ? result
             : tensor::CastOp::create(builder, loc, resultType, result)
                   .getResult();
}

SmallVector<Value> ReplicaCollectives::addCounts(Location loc,
                                                 ValueRange counts) {
  return addColumns(loc, exchangeCounts(loc, counts));
}

ReplicaCollectives::Slices
ReplicaCollectives::gatherSlices(Location loc, Slices own, bool onlyFirst) {
  if (replicas == 1)
    return own;
  auto places = cast<RankedTensorType>(own.indices.getType()),
       rows = cast<RankedTensorType>(own.values.getType());
  Value total, first = own.count;
  if (places.isDynamicDim(0) || rows.isDynamicDim(0)) {
    Value counts = exchangeCounts(loc, {own.count});
    total = addColumns(loc, counts)[0];
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value mine =
        tensor::ExtractOp::create(builder, loc, counts, ValueRange{zero, zero});
    first =
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), mine);
  } else {
    total = arith::ConstantIndexOp::create(builder, loc,
                                           places.getDimSize(0) * replicas);
  }
  auto all = [&](Value value, RankedTensorType type) {
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = type.isDynamicDim(0) ? ShapedType::kDynamic
                                    : type.getDimSize(0) * replicas;
    return gather(loc, value, /*axis=*/0, type.clone(shape), total);
  };
  return {all(own.values, rows), all(own.indices, places),
          onlyFirst ? first : total};
}
