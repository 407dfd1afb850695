//===- LowerReplica.cpp - Lower replica context to collectives ------------===//
//
// One rewrite per operation. Only operations of replica context are left after
// `splice-contexts`.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/Elementwise.h"
#include "passes/Lower/LowerSlices.h"
#include "passes/Lower/Means.h"
#include "passes/Lower/ReplicaCollectives.h"
#include "passes/Lower/ServerRows.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Lower/ReplicaGroup.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"

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
  ReplicaLowering(ModuleOp module, StringAttr group, int64_t replicas)
      : module(module), builder(module.getContext()), group(group),
        replicas(replicas), collectives(builder, group, replicas) {}

  LogicalResult run() {
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
  using Slices = ReplicaCollectives::Slices;

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

  LogicalResult lowerOp(replica::AllReduceOp op) {
    // One collective per value: buckets are formed later, when the schedule is
    // known. [2.1-nest]
    SmallVector<Value> reduced;
    for (auto [operand, result] :
         llvm::zip_equal(op.getOperands(), op.getResults()))
      reduced.push_back(collectives.reduce(
          op.getLoc(), op.getReduction(), operand,
          getElementTypeOrSelf(result.getType()), op.getBytesPerPack()));
    op.replaceAllUsesWith(reduced);
    op.erase();
    return success();
  }

  /// Checks that the values of all replicas have as many rows as the result,
  /// where both numbers are static.
  LogicalResult checkRows(Operation *op, RankedTensorType from,
                          RankedTensorType to, int64_t axis) {
    // With one replica the value is the result, also without the axis.
    // [2.2-single]
    bool hasAxis = axis >= 0 && axis < from.getRank();
    if ((replicas == 1 && !hasAxis) || from.isDynamicDim(axis) ||
        to.isDynamicDim(axis) ||
        to.getDimSize(axis) == from.getDimSize(axis) * replicas)
      return success();
    return op->emitError("expected ")
           << countText(from.getDimSize(axis) * replicas, "row") << " from "
           << countText(replicas, "replica") << ", found a result of type "
           << to << " [E_SHAPE_MISMATCH]";
  }

  LogicalResult lowerOp(replica::AllGatherOp op) {
    int64_t axis = op.getAxis();
    SmallVector<Value> ragged;
    for (auto [operand, result] :
         llvm::zip_equal(op.getOperands(), op.getResults())) {
      auto from = cast<RankedTensorType>(operand.getType()),
           to = cast<RankedTensorType>(result.getType());
      if (failed(checkRows(op, from, to, axis)))
        return failure();
      if (replicas > 1 && from.isDynamicDim(axis) && to.isDynamicDim(axis))
        ragged.push_back(operand);
    }
    llvm::MapVector<Value, Value> totals;
    if (replicas > 1 && !ragged.empty()) {
      // The total number of rows of each operand: replicas exchange their
      // counts, and each of them adds them up. [2.2-ragged]
      SmallVector<Value> counts =
          llvm::map_to_vector(ragged, [&](Value value) -> Value {
            return tensor::DimOp::create(builder, op.getLoc(), value, axis);
          });
      for (auto [value, total] :
           llvm::zip_equal(ragged, collectives.addCounts(op.getLoc(), counts)))
        totals[value] = total;
    }
    SmallVector<Value> gathered;
    for (auto [operand, result] :
         llvm::zip_equal(op.getOperands(), op.getResults()))
      gathered.push_back(collectives.gather(
          op.getLoc(), operand, axis, cast<RankedTensorType>(result.getType()),
          totals.lookup(operand)));
    op.replaceAllUsesWith(gathered);
    op.erase();
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Slices
  //===--------------------------------------------------------------------===//

  LogicalResult lowerOp(replica::AllReduceSlicesOp op) {
    Location loc = op.getLoc();
    for (auto [operand, result] :
         llvm::zip_equal(op.getOperands(), op.getResults()))
      if (failed(checkRows(op, cast<RankedTensorType>(operand.getType()),
                           cast<RankedTensorType>(result.getType()),
                           /*axis=*/0)))
        return failure();
    Slices all =
        collectives.gatherSlices(loc,
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
      return collectives.gatherSlices(loc, own, onlyFirst);
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
      return collectives.reduce(loc, replica::Reduction::Sum, value, element);
    case replica::Aggregation::Mean:
      // A mean of integers is allowed only for one literal on all replicas,
      // which is equal to its mean.
      return isa<IntegerType>(element)
                 ? value
                 : collectives.reduce(loc, replica::Reduction::Mean, value,
                                      element);
    case replica::Aggregation::OnlyFirstReplica:
      return collectives.broadcast(loc, value);
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
  /// The name of the group of all ranks.
  StringAttr group;
  int64_t replicas;
  ReplicaCollectives collectives;
  /// Finds the variables, which this pass does not change.
  SymbolTableCollection symbols;
};

struct LowerReplica : impl::LowerReplicaPassBase<LowerReplica> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<int64_t> replicas = replica::getReplicaCount(module);
    if (failed(replicas))
      return signalPassFailure();
    // A single replica communicates only with parameter servers, if any.
    StringAttr group;
    if (*replicas > 1 || !module.getOps<device::RoleOp>().empty())
      group = getGroupOfReplicas(module, *replicas);
    if (failed(ReplicaLowering(module, group, *replicas).run()))
      signalPassFailure();
  }
};
} // namespace
} // namespace lockstep
