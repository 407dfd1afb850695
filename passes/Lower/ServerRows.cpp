//===- ServerRows.cpp - Exchange rows of a table with a server ------------===//

#include "passes/Lower/ServerRows.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "passes/Analysis/SizeBounds.h"
#include "passes/Lower/LowerSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

ServerRows::ServerRows(OpBuilder &builder, Location loc,
                       replica::VariableOp variable, StringAttr group,
                       int64_t replicas)
    : builder(builder), loc(loc), group(group), replicas(replicas),
      server(device::getRole(variable).getFirstRank()),
      rows(cast<RankedTensorType>(variable.getType()).getDimSize(0)) {}

Value ServerRows::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

FailureOr<ServerRows::Selected> ServerRows::select(Value ids) {
  auto type = cast<RankedTensorType>(ids.getType());
  std::optional<int64_t> bound =
      type.getRank() == 1 ? findSizeBound(ids, 0, replicas) : std::nullopt;
  if (!bound)
    return emitError(loc,
                     "expected ids of one dimension, of a size with a known "
                     "bound, for a table on parameter servers, found ")
           << type;
  int64_t number = *bound;
  Type i64 = builder.getI64Type();
  // One loop fills the list without a branch: each id is written behind the
  // selected ones, and is overwritten by the next unless the count is
  // incremented because it is selected.
  Value list = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{number},
                                       type.getElementType());
  Value places =
      tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{2, number}, i64);
  Value none = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get({}, i64),
                             builder.getI64IntegerAttr(0)));
  Value zero = constant(0), one = constant(1), size = constant(rows);
  auto loop = scf::ForOp::create(
      builder, loc, zero, countRows(builder, loc, ids), one,
      ValueRange{list, places, none},
      [&](OpBuilder &b, Location, Value i, ValueRange carried) {
        Value id = tensor::ExtractOp::create(b, loc, ids, i);
        // Compared as unsigned, a negative id is too large.
        Value inside = arith::CmpIOp::create(
            b, loc, arith::CmpIPredicate::ult,
            arith::IndexCastOp::create(b, loc, b.getIndexType(), id), size);
        Value count =
            tensor::ExtractOp::create(b, loc, carried[2], ValueRange());
        Value end = arith::IndexCastOp::create(b, loc, b.getIndexType(), count);
        Value newList = tensor::InsertOp::create(b, loc, id, carried[0], end);
        Value source = arith::IndexCastOp::create(b, loc, i64, i);
        Value withSource = tensor::InsertOp::create(b, loc, source, carried[1],
                                                    ValueRange{zero, end});
        Value position = arith::SelectOp::create(
            b, loc, inside, count,
            arith::ConstantIntOp::create(b, loc, -1, 64));
        Value newPlaces = tensor::InsertOp::create(b, loc, position, withSource,
                                                   ValueRange{one, i});
        Value newCount = arith::AddIOp::create(
            b, loc, count, arith::ExtUIOp::create(b, loc, i64, inside));
        scf::YieldOp::create(
            b, loc,
            ValueRange{newList, newPlaces,
                       tensor::InsertOp::create(b, loc, newCount, carried[2],
                                                ValueRange())
                           .getResult()});
      });
  Value count = arith::IndexCastOp::create(
      builder, loc, builder.getIndexType(),
      tensor::ExtractOp::create(builder, loc, loop.getResult(2), ValueRange()));
  auto line = [&](int64_t index) -> Value {
    SmallVector<OpFoldResult> offsets{builder.getIndexAttr(index),
                                      builder.getIndexAttr(0)},
        sizes{builder.getIndexAttr(1), builder.getIndexAttr(number)},
        strides(2, builder.getIndexAttr(1));
    return tensor::ExtractSliceOp::create(
        builder, loc, RankedTensorType::get({number}, i64), loop.getResult(1),
        offsets, sizes, strides);
  };
  Value positions = type.hasStaticShape()
                        ? line(1)
                        : takeFirst(line(1), countRows(builder, loc, ids));
  return Selected{takeFirst(loop.getResult(0), count),
                  takeFirst(line(0), count), count, positions, number};
}

Value ServerRows::takeFirst(Value buffer, Value count) {
  auto type = cast<RankedTensorType>(buffer.getType());
  return tensor::ExtractSliceOp::create(
      builder, loc,
      RankedTensorType::get({ShapedType::kDynamic}, type.getElementType()),
      buffer, ArrayRef<OpFoldResult>{builder.getIndexAttr(0)},
      ArrayRef<OpFoldResult>{count},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
}

Value ServerRows::exchange(collective::Kind kind, ValueRange inputs,
                           RankedTensorType result, ValueRange sizes,
                           int64_t bound) {
  auto start = collective::StartOp::create(
      builder, loc,
      collective::PendingType::get(builder.getContext(), Type(result)), kind,
      collective::Reduction::None, group.getValue(),
      /*channel=*/IntegerAttr(), inputs, sizes, builder.getI64IntegerAttr(0),
      /*bytes_per_pack=*/0,
      sizes.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(bound),
      builder.getI64IntegerAttr(server), /*sources=*/DenseI64ArrayAttr());
  return collective::WaitOp::create(builder, loc, Type(result), start, inputs)
      .getResult(0);
}

ServerRows::Counts ServerRows::gatherCounts(Value count) {
  Type i64 = builder.getI64Type();
  Value own = tensor::FromElementsOp::create(
      builder, loc, RankedTensorType::get({1}, i64),
      arith::IndexCastOp::create(builder, loc, i64, count).getResult());
  Counts counts;
  counts.all = exchange(collective::Kind::Gather, own,
                        RankedTensorType::get({replicas}, i64), {}, 0);
  Value zero = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get({}, i64),
                             builder.getI64IntegerAttr(0)));
  Value sum =
      linalg::ReduceOp::create(
          builder, loc, counts.all, zero, ArrayRef<int64_t>{0},
          [&](OpBuilder &b, Location bodyLoc, ValueRange in) {
            linalg::YieldOp::create(
                b, bodyLoc,
                arith::AddIOp::create(b, bodyLoc, in[0], in[1]).getResult());
          })
          .getResult(0);
  auto load = [&](Value tensor, ValueRange place) -> Value {
    return arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(),
        tensor::ExtractOp::create(builder, loc, tensor, place));
  };
  counts.total = load(sum, {});
  counts.first = load(counts.all, constant(0));
  return counts;
}

Value ServerRows::gatherRows(Value own, Value total, int64_t bound) {
  auto type = cast<RankedTensorType>(own.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = ShapedType::kDynamic;
  return exchange(collective::Kind::Gather, own, type.clone(shape), total,
                  bound * replicas);
}

FailureOr<Value> ServerRows::lookUp(Value table, Value ids) {
  FailureOr<Selected> selected = select(ids);
  if (failed(selected))
    return failure();
  Counts counts = gatherCounts(selected->count);
  Value requested = gatherRows(selected->ids, counts.total, selected->bound);
  Value found = lookUpRows(builder, loc, table, requested);
  Value received = exchange(collective::Kind::Scatter, {found, counts.all},
                            cast<RankedTensorType>(found.getType()),
                            selected->count, selected->bound);
  return lookUpRows(builder, loc, received, selected->positions);
}

FailureOr<ServerRows::Slices> ServerRows::gather(Value values, Value indices) {
  FailureOr<Selected> selected = select(indices);
  if (failed(selected))
    return failure();
  Counts counts = gatherCounts(selected->count);
  Value own = lookUpRows(builder, loc, values, selected->sources);
  return Slices{gatherRows(own, counts.total, selected->bound),
                gatherRows(selected->ids, counts.total, selected->bound),
                counts.total, counts.first};
}
