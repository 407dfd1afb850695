//===- LowerReplica.cpp - Lower replica context to collectives ------------===//
//
// One rewrite per operation. Only operations of replica context are left after
// `splice-contexts`.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/Elementwise.h"
#include "passes/Lower/LowerSlices.h"
#include "passes/Lower/Means.h"
#include "passes/Lower/ServerRows.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Lower/ReplicaGroup.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_LOWERREPLICAPASS
#include "passes/Passes.h.inc"

namespace {

/// Lowers the operations of one module for a known number of replicas.
class ReplicaLowering {
public:
  ReplicaLowering(ModuleOp module, int64_t replicas)
      : module(module), builder(module.getContext()), replicas(replicas) {}

  LogicalResult run() {
    // A single replica communicates only with parameter servers, if any.
    if (replicas > 1 || !module.getOps<device::RoleOp>().empty())
      group = getGroupOfReplicas(module, replicas);
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa<replica::ReplicaDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      builder.setInsertionPoint(op);
      if (failed(lower(op)))
        return failure();
    }
    return success();
  }

private:
  LogicalResult lower(Operation *op) {
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<replica::AllReduceOp, replica::AllReduceSlicesOp,
              replica::AllGatherOp, replica::ScatterOp, replica::LookupOp,
              replica::SlicesToDenseOp, replica::ReadOp, replica::AssignOp,
              replica::AssignAddOp, replica::AssignSubOp>(
            [&](auto typed) { return lowerOp(typed); })
        .Case([&](replica::NumInSyncOp typed) {
          auto type = RankedTensorType::get({}, builder.getI32Type());
          auto value =
              DenseElementsAttr::get(type, static_cast<int32_t>(replicas));
          typed.replaceAllUsesWith(
              arith::ConstantOp::create(builder, typed.getLoc(), type, value)
                  .getResult());
          typed.erase();
          return success();
        })
        .Case([&](replica::IdOp typed) {
          // With one replica the id is 0; otherwise it remains, and the
          // executor supplies it. [2-replica-id]
          if (replicas > 1)
            return success();
          auto type = RankedTensorType::get({}, builder.getI32Type());
          typed.replaceAllUsesWith(
              arith::ConstantOp::create(builder, typed.getLoc(), type,
                                        DenseElementsAttr::get(type, 0))
                  .getResult());
          typed.erase();
          return success();
        })
        .Default([](Operation *) { return success(); });
  }

  /// Starts a collective over all ranks and waits for it. `sizes` are those of
  /// the results' dynamic dimensions.
  ValueRange communicate(Location loc, collective::Kind kind,
                         collective::Reduction reduction, ValueRange operands,
                         TypeRange results, IntegerAttr axis = {},
                         int64_t bytesPerPack = 0, ValueRange sizes = {}) {
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

  /// Reduction of `operand` over all replicas, in elements of type `element`.
  Value reduce(Location loc, replica::Reduction reduction, Value operand,
               Type element, int64_t bytesPerPack = 0) {
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

  /// The value of replica 0.
  Value broadcast(Location loc, Value value) {
    return replicas == 1 ? value
                         : communicate(loc, collective::Kind::Broadcast,
                                       collective::Reduction::None, value,
                                       value.getType())[0];
  }

  LogicalResult lowerOp(replica::AllReduceOp op) {
    // One collective per value: buckets are formed later, when the schedule is
    // known. [2.1-nest]
    SmallVector<Value> reduced;
    for (auto [operand, result] :
         llvm::zip_equal(op.getOperands(), op.getResults()))
      reduced.push_back(reduce(op.getLoc(), op.getReduction(), operand,
                               getElementTypeOrSelf(result.getType()),
                               op.getBytesPerPack()));
    op.replaceAllUsesWith(reduced);
    op.erase();
    return success();
  }

  LogicalResult lowerOp(replica::AllGatherOp op) {
    int64_t axis = op.getAxis();
    SmallVector<Value> ragged;
    for (auto [operand, result] :
         llvm::zip_equal(op.getOperands(), op.getResults())) {
      auto from = cast<RankedTensorType>(operand.getType()),
           to = cast<RankedTensorType>(result.getType());
      if (replicas == 1)
        continue;
      if (from.isDynamicDim(axis) && to.isDynamicDim(axis))
        ragged.push_back(operand);
      else if (!from.isDynamicDim(axis) && !to.isDynamicDim(axis) &&
               to.getDimSize(axis) != from.getDimSize(axis) * replicas)
        return op->emitError("expected ")
               << from.getDimSize(axis) * replicas << " rows from " << replicas
               << " replicas, found a result of type " << to
               << " [E_SHAPE_MISMATCH]";
    }
    llvm::MapVector<Value, Value> totals;
    if (replicas > 1 && !ragged.empty()) {
      // The total number of rows of each operand: replicas exchange their
      // counts, and each of them adds them up. [2.2-ragged]
      SmallVector<Value> counts =
          llvm::map_to_vector(ragged, [&](Value value) -> Value {
            return tensor::DimOp::create(builder, op.getLoc(), value, axis);
          });
      for (auto [value, total] : llvm::zip_equal(
               ragged,
               addCounts(op.getLoc(), exchangeCounts(op.getLoc(), counts))))
        totals[value] = total;
    }
    SmallVector<Value> gathered;
    for (auto [operand, result] :
         llvm::zip_equal(op.getOperands(), op.getResults()))
      gathered.push_back(gather(op.getLoc(), operand, axis,
                                cast<RankedTensorType>(result.getType()),
                                totals.lookup(operand)));
    op.replaceAllUsesWith(gathered);
    op.erase();
    return success();
  }

  /// Gathers the `counts` (indices) of all replicas: a row for each replica.
  Value exchangeCounts(Location loc, ValueRange counts) {
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

  /// The sums of the columns of `counts`, as indices.
  SmallVector<Value> addCounts(Location loc, Value counts) {
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
      totals.push_back(arith::IndexCastOp::create(builder, loc,
                                                  builder.getIndexType(), sum));
    }
    return totals;
  }

  /// Concatenates the values of all replicas along `axis`. `total` is the
  /// number of rows if it is dynamic. With one replica this is the value.
  Value gather(Location loc, Value value, int64_t axis,
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
    Value result = communicate(loc, collective::Kind::AllGather,
                               collective::Reduction::None, value, gathered,
                               builder.getI64IntegerAttr(axis),
                               /*bytesPerPack=*/0, sizes)[0];
    return gathered == resultType
               ? result
               : tensor::CastOp::create(builder, loc, resultType, result)
                     .getResult();
  }

  //===--------------------------------------------------------------------===//
  // Slices
  //===--------------------------------------------------------------------===//

  /// Rows, and their row indices in the whole tensor.
  struct Slices {
    Value values, indices;
    /// The number of valid rows, an index.
    Value count;
  };

  /// The slices of all replicas, one after the other. If `onlyFirst`, only
  /// those of replica 0 are valid: `count` is their number. [2.1-slices]
  Slices gatherSlices(Location loc, Slices own, bool onlyFirst) {
    if (replicas == 1)
      return own;
    auto places = cast<RankedTensorType>(own.indices.getType()),
         rows = cast<RankedTensorType>(own.values.getType());
    Value total, first = own.count;
    if (places.isDynamicDim(0) || rows.isDynamicDim(0)) {
      Value counts = exchangeCounts(loc, {own.count});
      total = addCounts(loc, counts)[0];
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value mine = tensor::ExtractOp::create(builder, loc, counts,
                                             ValueRange{zero, zero});
      first = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                         mine);
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

  LogicalResult lowerOp(replica::AllReduceSlicesOp op) {
    Location loc = op.getLoc();
    Slices all = gatherSlices(loc,
                              {op.getValues(), op.getIndices(),
                               countRows(builder, loc, op.getIndices())},
                              /*onlyFirst=*/false);
    if (op.getReduction() == replica::Reduction::Mean)
      all.values = divideBy(builder, loc, all.values, replicas,
                            getElementTypeOrSelf(op.getAllValues().getType()));
    SmallVector<Value> results{all.values, all.indices};
    for (auto [value, result] : llvm::zip_equal(results, op.getResults()))
      if (value.getType() != result.getType())
        value = tensor::CastOp::create(builder, loc, result.getType(), value);
    op.replaceAllUsesWith(results);
    op.erase();
    return success();
  }

  /// In replica context the replicas' slices are aggregated first (reference,
  /// section 5.2). [5.2-scatter-add]
  LogicalResult lowerOp(replica::ScatterOp op) {
    Location loc = op.getLoc();
    replica::VariableOp variable = replica::lookupVariable(op, symbols);
    Slices slices{op.getValues(), op.getIndices(), Value()};
    replica::Aggregation aggregation = variable.getAggregation();
    if (op->hasAttr(replica::kCrossReplica) ||
        aggregation == replica::Aggregation::Uniform) {
      slices.count = countRows(builder, loc, op.getIndices());
    } else {
      FailureOr<Slices> all =
          gatherFor(loc, variable, slices,
                    aggregation == replica::Aggregation::OnlyFirstReplica);
      if (failed(all))
        return failure();
      slices = *all;
      if (aggregation == replica::Aggregation::Mean)
        slices.values = divideBy(builder, loc, slices.values, replicas,
                                 getElementTypeOrSelf(slices.values.getType()));
    }
    Value table = replica::ReadOp::create(builder, loc, variable.getType(),
                                          op.getVariableAttr());
    Value changed = scatterRows(builder, loc, op.getKind(), table,
                                slices.indices, slices.values, slices.count);
    replica::AssignOp::create(builder, loc, op.getVariableAttr(), changed);
    op.erase();
    return success();
  }

  /// The slices of all replicas, on the ranks that hold the variable.
  FailureOr<Slices> gatherFor(Location loc, replica::VariableOp variable,
                              Slices own, bool onlyFirst) {
    if (!device::getRole(variable)) {
      own.count = countRows(builder, loc, own.indices);
      return gatherSlices(loc, own, onlyFirst);
    }
    FailureOr<ServerRows::Slices> all =
        ServerRows(builder, loc, variable, group, replicas)
            .gather(own.values, own.indices);
    if (failed(all))
      return failure();
    return Slices{all->values, all->indices,
                  onlyFirst ? all->first : all->total};
  }

  LogicalResult lowerOp(replica::LookupOp op) {
    replica::VariableOp variable = replica::lookupVariable(op, symbols);
    Value table = replica::ReadOp::create(
        builder, op.getLoc(), variable.getType(), op.getVariableAttr());
    if (device::getRole(variable)) {
      FailureOr<Value> rows =
          ServerRows(builder, op.getLoc(), variable, group, replicas)
              .lookUp(table, op.getIds());
      if (failed(rows))
        return failure();
      op.replaceAllUsesWith(*rows);
    } else {
      op.replaceAllUsesWith(
          lookUpRows(builder, op.getLoc(), table, op.getIds()));
    }
    op.erase();
    return success();
  }

  LogicalResult lowerOp(replica::SlicesToDenseOp op) {
    op.replaceAllUsesWith(makeDense(builder, op.getLoc(),
                                    cast<RankedTensorType>(op.getType()),
                                    op.getIndices(), op.getValues()));
    op.erase();
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Variables
  //===--------------------------------------------------------------------===//

  /// All copies of an on_read variable, combined (reference, section 5.3).
  LogicalResult lowerOp(replica::ReadOp op) {
    replica::VariableOp variable = replica::lookupVariable(op, symbols);
    bool combines = op.combinesCopies(variable);
    op.setAggregated(false);
    if (!combines)
      return success();
    builder.setInsertionPointAfter(op);
    Value combined =
        aggregate(op.getLoc(), variable.getAggregation(), op.getResult());
    if (combined == op.getResult())
      return success();
    Operation *last = combined.getDefiningOp();
    op.getResult().replaceUsesWithIf(combined, [&](OpOperand &use) {
      Operation *user =
          last->getBlock()->findAncestorOpInBlock(*use.getOwner());
      return user && last->isBeforeInBlock(user);
    });
    return success();
  }

  /// In replica context the variable's aggregation combines the replicas'
  /// values first (reference, section 5.2). In cross-replica context one value
  /// is assigned to all copies; if an on_read variable is the sum of its
  /// copies, each is assigned an equal part. [5.3-assign-sum, 5.3-assign-other]
  template <typename AssignOpTy> LogicalResult lowerOp(AssignOpTy op) {
    replica::VariableOp variable = replica::lookupVariable(op, symbols);
    bool ownCopy = static_cast<bool>(op->removeAttr(replica::kOwnCopy)),
         crossReplica =
             static_cast<bool>(op->removeAttr(replica::kCrossReplica));
    if (ownCopy || replicas == 1)
      return success();
    if (crossReplica && variable.isOnRead() &&
        variable.getAggregation() == replica::Aggregation::Sum)
      op.getValueMutable().assign(takePart(op.getLoc(), op.getValue()));
    if (!crossReplica && !variable.isOnRead())
      op.getValueMutable().assign(
          aggregate(op.getLoc(), variable.getAggregation(), op.getValue()));
    return success();
  }

  /// The replicas' values, combined by `aggregation`. [5.2-sum, 5.2-mean]
  Value aggregate(Location loc, replica::Aggregation aggregation, Value value) {
    Type element = getElementTypeOrSelf(value.getType());
    switch (aggregation) {
    case replica::Aggregation::None:
    case replica::Aggregation::Uniform:
      return value;
    case replica::Aggregation::Sum:
      return reduce(loc, replica::Reduction::Sum, value, element);
    case replica::Aggregation::Mean:
      // A mean of integers is allowed only for one literal on all replicas,
      // which is equal to its mean.
      return isa<IntegerType>(element)
                 ? value
                 : reduce(loc, replica::Reduction::Mean, value, element);
    case replica::Aggregation::OnlyFirstReplica:
      return broadcast(loc, value);
    }
    llvm_unreachable("unknown aggregation");
  }

  /// `value` / replicas in its own type: integers are truncated, and 16 bits
  /// are rounded once. [5.3-assign-sum]
  Value takePart(Location loc, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    Type element = type.getElementType();
    if (isa<FloatType>(element))
      return divideBy(builder, loc, value, replicas, element);
    return createElementwise(
        builder, loc, type, value, [&](OpBuilder &b, ValueRange in) -> Value {
          return arith::DivSIOp::create(
              b, loc, in[0],
              arith::ConstantOp::create(b, loc,
                                        b.getIntegerAttr(element, replicas)));
        });
  }

  ModuleOp module;
  OpBuilder builder;
  int64_t replicas;
  /// Finds the variables, which this pass does not change.
  SymbolTableCollection symbols;
  /// The name of the group of all ranks.
  StringAttr group;
};

struct LowerReplica : impl::LowerReplicaPassBase<LowerReplica> {
  void runOnOperation() override {
    FailureOr<int64_t> replicas = replica::getReplicaCount(getOperation());
    if (failed(replicas) ||
        failed(ReplicaLowering(getOperation(), *replicas).run()))
      signalPassFailure();
  }
};
} // namespace
} // namespace lockstep
