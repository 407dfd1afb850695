//===- LowerReplica.cpp - Replica context to explicit collectives ---------===//
//
// One rewrite an operation. The body of a merge_call is spliced into the step: every rank executes
// it on values that are equal everywhere, and the memory planner stores and computes such values
// once a process.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/Elementwise.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
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
  ReplicaLowering(ModuleOp module, int64_t replicas) : module(module), builder(module.getContext()), replicas(replicas) {}

  LogicalResult run() {
    if (replicas > 1) {
      builder.setInsertionPointToStart(module.getBody());
      // A variable may have the name already.
      SymbolTable symbols(module);
      group = symbols.insert(collective::GroupOp::create(builder, module.getLoc(), "all", /*ranks=*/DenseI64ArrayAttr()));
    }
    // A merge_call is spliced into its parent before what it held is lowered.
    SmallVector<replica::MergeCallOp> mergeCalls;
    module.walk([&](replica::MergeCallOp op) { mergeCalls.push_back(op); });
    for (replica::MergeCallOp op : mergeCalls) {
      builder.setInsertionPoint(op);
      spliceMergeCall(op);
    }

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
        .Case<replica::AllReduceOp, replica::AllGatherOp, replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp>(
            [&](auto typed) { return lowerOp(typed); })
        .Case([&](replica::NumInSyncOp typed) {
          auto type = RankedTensorType::get({}, builder.getI32Type());
          auto value = DenseElementsAttr::get(type, static_cast<int32_t>(replicas));
          typed.replaceAllUsesWith(arith::ConstantOp::create(builder, typed.getLoc(), type, value).getResult());
          typed.erase();
          return success();
        })
        .Case([&](replica::IdOp typed) {
          // With one replica the id is known; otherwise the executor supplies it, and it stays.
          if (replicas > 1)
            return success();
          auto type = RankedTensorType::get({}, builder.getI32Type());
          typed.replaceAllUsesWith(
              arith::ConstantOp::create(builder, typed.getLoc(), type, DenseElementsAttr::get(type, 0)).getResult());
          typed.erase();
          return success();
        })
        .Default([](Operation *) { return success(); });
  }

  /// Starts a collective over all ranks and waits for it. `sizes` are those of the results' dynamic dimensions.
  ValueRange communicate(Location loc, collective::Kind kind, collective::Reduction reduction, ValueRange operands,
                         TypeRange results, IntegerAttr axis = {}, int64_t bytesPerPack = 0, ValueRange sizes = {}) {
    auto pending = collective::PendingType::get(builder.getContext(), llvm::to_vector(results));
    auto start = collective::StartOp::create(builder, loc, pending, kind, reduction, group, /*channel=*/IntegerAttr(),
                                             operands, sizes, axis, bytesPerPack, /*bounds=*/DenseI64ArrayAttr());
    return collective::WaitOp::create(builder, loc, results, start, operands).getResults();
  }

  /// Sum or mean of `operands` over all replicas; a mean of integers is f64 (reference, section 2.1).
  SmallVector<Value> reduce(Location loc, replica::Reduction reduction, ValueRange operands, int64_t bytesPerPack = 0) {
    // A collective for each value: buckets are formed later, where it is known what is ready when.
    return llvm::map_to_vector(operands, [&](Value operand) -> Value {
      auto type = cast<RankedTensorType>(operand.getType());
      bool mean = reduction == replica::Reduction::Mean, narrow = type.getElementType().isF16() || type.getElementType().isBF16();
      // The sum below a mean is not rounded to 16 bits: the division rounds once.
      RankedTensorType sumType = mean && narrow ? type.clone(builder.getF32Type()) : type;
      Value sum = operand;
      if (replicas > 1)
        sum = communicate(loc, collective::Kind::AllReduce, collective::Reduction::Sum, operand, sumType, {}, bytesPerPack)[0];
      if (!mean)
        return sum;
      return divideBy(replicas, loc, sum, isa<FloatType>(type.getElementType()) ? type.getElementType() : builder.getF64Type());
    });
  }

  /// `sum` / `count` in elements of type `element`, in the precision of the wider of the two.
  Value divideBy(int64_t count, Location loc, Value sum, Type element) {
    auto type = cast<RankedTensorType>(sum.getType());
    if (count == 1 && type.getElementType() == element)
      return sum;
    // Multiplying is exact, hence equal to dividing, only for powers of two.
    bool multiply = llvm::isPowerOf2_64(count);
    double factor = multiply ? 1.0 / static_cast<double>(count) : static_cast<double>(count);
    return createElementwise(builder, loc, type.clone(element), sum, [&](OpBuilder &b, ValueRange in) -> Value {
      Value value = in[0];
      if (isa<IntegerType>(value.getType()))
        value = arith::SIToFPOp::create(b, loc, element, value);
      Value constant = arith::ConstantOp::create(b, loc, b.getFloatAttr(value.getType(), factor));
      value = multiply ? arith::MulFOp::create(b, loc, value, constant).getResult()
                       : arith::DivFOp::create(b, loc, value, constant).getResult();
      return value.getType() == element ? value : arith::TruncFOp::create(b, loc, element, value).getResult();
    });
  }

  /// The value of replica 0.
  Value broadcast(Location loc, Value value) {
    return replicas == 1 ? value : communicate(loc, collective::Kind::Broadcast, collective::Reduction::None, value, value.getType())[0];
  }

  LogicalResult lowerOp(replica::AllReduceOp op) {
    SmallVector<Value> reduced = reduce(op.getLoc(), op.getReduction(), op.getOperands(), op.getBytesPerPack());
    op.replaceAllUsesWith(reduced);
    op.erase();
    return success();
  }

  LogicalResult lowerOp(replica::AllGatherOp op) {
    int64_t axis = op.getAxis();
    SmallVector<Value> ragged;
    for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults())) {
      auto from = cast<RankedTensorType>(operand.getType()), to = cast<RankedTensorType>(result.getType());
      if (from.isDynamicDim(axis) && to.isDynamicDim(axis))
        ragged.push_back(operand);
      else if (!from.isDynamicDim(axis) && !to.isDynamicDim(axis) && to.getDimSize(axis) != from.getDimSize(axis) * replicas)
        return op->emitError("expected ") << from.getDimSize(axis) * replicas << " rows from " << replicas
                                          << " replicas, found a result of type " << to << " [E_SHAPE_MISMATCH]";
    }
    llvm::MapVector<Value, Value> totals;
    if (replicas > 1 && !ragged.empty())
      totals = exchangeSizes(op.getLoc(), ragged, axis);
    SmallVector<Value> gathered;
    for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults()))
      gathered.push_back(gather(op.getLoc(), operand, axis, cast<RankedTensorType>(result.getType()), totals.lookup(operand)));
    op.replaceAllUsesWith(gathered);
    op.erase();
    return success();
  }

  /// How many rows all replicas together have of each of `values`, whose own numbers of rows are known only at run time: replicas
  /// tell each other, and all of them add up.
  llvm::MapVector<Value, Value> exchangeSizes(Location loc, ArrayRef<Value> values, int64_t axis) {
    auto count = static_cast<int64_t>(values.size());
    Type i64 = builder.getI64Type();
    SmallVector<Value> sizes = llvm::map_to_vector(values, [&](Value value) -> Value {
      return arith::IndexCastOp::create(builder, loc, i64, tensor::DimOp::create(builder, loc, value, axis));
    });
    Value own = tensor::FromElementsOp::create(builder, loc, RankedTensorType::get({1, count}, i64), sizes);
    auto allType = RankedTensorType::get({replicas, count}, i64);
    Value all = communicate(loc, collective::Kind::AllGather, collective::Reduction::None, own, allType, builder.getI64IntegerAttr(0))[0];
    Value zero = tensor::FromElementsOp::create(builder, loc, RankedTensorType::get({count}, i64),
                                                SmallVector<Value>(count, arith::ConstantIntOp::create(builder, loc, 0, 64)));
    Value sums = linalg::ReduceOp::create(builder, loc, all, zero, ArrayRef<int64_t>{0}, [&](OpBuilder &b, Location bodyLoc, ValueRange in) {
                   linalg::YieldOp::create(b, bodyLoc, arith::AddIOp::create(b, bodyLoc, in[0], in[1]).getResult());
                 }).getResult(0);
    llvm::MapVector<Value, Value> totals;
    for (auto [i, value] : llvm::enumerate(values)) {
      Value index = arith::ConstantIndexOp::create(builder, loc, i);
      Value sum = tensor::ExtractOp::create(builder, loc, sums, index);
      totals[value] = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), sum);
    }
    return totals;
  }

  /// Concatenates the values of all replicas along `axis`, `total` rows if `resultType` does not say how many; nothing to do for one
  /// replica.
  Value gather(Location loc, Value value, int64_t axis, RankedTensorType resultType, Value total) {
    auto from = cast<RankedTensorType>(value.getType());
    if (replicas == 1)
      return from == resultType ? value : tensor::CastOp::create(builder, loc, resultType, value).getResult();
    SmallVector<int64_t> shape(from.getShape());
    shape[axis] = from.isDynamicDim(axis) ? resultType.getDimSize(axis) : from.getDimSize(axis) * replicas;
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < from.getRank(); ++d)
      if (ShapedType::isDynamic(shape[d]))
        sizes.push_back(d == axis ? total : tensor::DimOp::create(builder, loc, value, d).getResult());
    RankedTensorType gathered = from.clone(shape);
    Value result = communicate(loc, collective::Kind::AllGather, collective::Reduction::None, value, gathered,
                               builder.getI64IntegerAttr(axis), /*bytesPerPack=*/0, sizes)[0];
    return gathered == resultType ? result : tensor::CastOp::create(builder, loc, resultType, result).getResult();
  }

  /// In replica context the variable's aggregation combines the replicas' values first (reference, section 5.2).
  template <typename AssignOpTy> LogicalResult lowerOp(AssignOpTy op) {
    if (op->hasAttr(kSpliced)) {
      op->removeAttr(kSpliced);
      return success();
    }
    auto variable = SymbolTable::lookupNearestSymbolFrom<replica::VariableOp>(op, op.getVariableAttr());
    if (variable.getSynchronization() == replica::Synchronization::OnRead || replicas == 1)
      return success();
    op.getValueMutable().assign(aggregate(op.getLoc(), variable.getAggregation(), op.getValue()));
    return success();
  }

  /// What the replicas' values are together.
  Value aggregate(Location loc, replica::Aggregation aggregation, Value value) {
    switch (aggregation) {
    case replica::Aggregation::None:
      return value;
    case replica::Aggregation::Sum:
      return reduce(loc, replica::Reduction::Sum, value)[0];
    case replica::Aggregation::Mean:
      return reduce(loc, replica::Reduction::Mean, value)[0];
    case replica::Aggregation::OnlyFirstReplica:
      return broadcast(loc, value);
    }
    llvm_unreachable("unknown aggregation");
  }

  //===--------------------------------------------------------------------===//
  // merge_call
  //===--------------------------------------------------------------------===//

  /// Marks assignments that stood in cross-replica context, where aggregation has no meaning.
  static constexpr StringLiteral kSpliced = "lockstep.cross_replica";

  void spliceMergeCall(replica::MergeCallOp op) {
    IRMapping mapping;
    for (auto [argument, operand] : llvm::zip_equal(op.getBody().getArguments(), op.getOperands()))
      mapping.map(argument, operand);
    spliceBody(op.getBody().front(), mapping);
    for (auto [result, yielded] : llvm::zip_equal(op.getResults(), op.getBody().front().getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookup(yielded));
    op.erase();
  }

  /// Clones `body` before the insertion point, rank by rank: a per-replica value is the rank's own component.
  void spliceBody(Block &body, IRMapping &mapping) {
    for (Operation &inner : body.without_terminator())
      spliceOperation(&inner, mapping);
  }

  void spliceOperation(Operation *op, IRMapping &mapping) {
    Location loc = op->getLoc();
    TypeSwitch<Operation *>(op)
        .Case([&](replica::ReduceToOp reduceTo) {
          Value value = mapping.lookup(reduceTo.getValue());
          if (isa<replica::PerReplicaType>(reduceTo.getValue().getType()))
            value = reduce(loc, reduceTo.getReduction(), value)[0];
          else if (RankedTensorType type = reduceTo.getResult().getType().getComponent(); value.getType() != type)
            // The mean of a value that is equal everywhere is the value (reference, section 4); of an integer, as f64.
            value = divideBy(1, loc, value, type.getElementType());
          mapping.map(reduceTo.getResult(), value);
        })
        .Case([&](replica::BroadcastToOp broadcast) {
          mapping.map(broadcast.getResult(), mapping.lookup(broadcast.getValue()));
        })
        .Case([&](replica::GatherOp gatherOp) {
          Value value = mapping.lookup(gatherOp.getValue());
          auto allGather = replica::AllGatherOp::create(builder, loc, gatherOp.getResult().getType(), value, gatherOp.getAxis());
          mapping.map(gatherOp.getResult(), allGather.getResult(0));
        })
        .Case([&](replica::LocalResultsOp local) { spliceLocalResults(local, mapping); })
        .Case([&](replica::UpdateOp update) { spliceUpdate(update, mapping); })
        .Case([&](replica::ReadOp read) { spliceRead(read, mapping); })
        .Case<replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp>([&](auto assign) { spliceAssignment(assign, mapping); })
        .Default([&](Operation *other) { spliceRegions(other, mapping); });
  }

  /// Control flow keeps its form; what is in it is spliced.
  void spliceRegions(Operation *op, IRMapping &mapping) {
    OpBuilder::InsertionGuard guard(builder);
    Operation *clone = builder.insert(op->cloneWithoutRegions(mapping));
    for (auto [from, to] : llvm::zip_equal(op->getRegions(), clone->getRegions()))
      for (Block &block : from) {
        SmallVector<Location> locations = llvm::map_to_vector(block.getArguments(), [](Value argument) { return argument.getLoc(); });
        Block *copy = builder.createBlock(&to, to.end(), block.getArgumentTypes(), locations);
        mapping.map(block.getArguments(), copy->getArguments());
        for (Operation &inner : block)
          spliceOperation(&inner, mapping);
      }
  }

  /// In cross-replica context, an on_read variable is the combination of its copies (reference, section 5.3).
  void spliceRead(replica::ReadOp op, IRMapping &mapping) {
    auto variable = SymbolTable::lookupNearestSymbolFrom<replica::VariableOp>(op, op.getVariableAttr());
    Value value = cast<replica::ReadOp>(builder.clone(*op)).getResult();
    if (variable.getSynchronization() == replica::Synchronization::OnRead)
      value = aggregate(op.getLoc(), variable.getAggregation(), value);
    mapping.map(op.getResult(), value);
  }

  /// In cross-replica context one value goes to all copies. Those of an on_read variable that is their sum get an equal part each.
  template <typename AssignOpTy> void spliceAssignment(AssignOpTy op, IRMapping &mapping) {
    auto variable = SymbolTable::lookupNearestSymbolFrom<replica::VariableOp>(op, op.getVariableAttr());
    auto assign = cast<AssignOpTy>(builder.clone(*op, mapping));
    assign->setAttr(kSpliced, builder.getUnitAttr());
    if (variable.getSynchronization() != replica::Synchronization::OnRead || variable.getAggregation() != replica::Aggregation::Sum ||
        replicas == 1)
      return;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(assign);
    assign.getValueMutable().assign(takePart(op.getLoc(), assign.getValue()));
  }

  /// `value` / replicas in its own type: integers are truncated, and 16 bits are rounded once.
  Value takePart(Location loc, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    Type element = type.getElementType();
    return createElementwise(builder, loc, type, value, [&](OpBuilder &b, ValueRange in) -> Value {
      if (isa<IntegerType>(element))
        return arith::DivSIOp::create(b, loc, in[0], arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, replicas)));
      Type wide = element.getIntOrFloatBitWidth() < 32 ? b.getF32Type() : element;
      Value whole = wide == element ? in[0] : arith::ExtFOp::create(b, loc, wide, in[0]).getResult();
      Value count = arith::ConstantOp::create(b, loc, b.getFloatAttr(wide, static_cast<double>(replicas)));
      Value part = arith::DivFOp::create(b, loc, whole, count);
      return wide == element ? part : arith::TruncFOp::create(b, loc, element, part).getResult();
    });
  }

  /// The list of all components: gathered along a new leading axis, then cut into pieces.
  void spliceLocalResults(replica::LocalResultsOp op, IRMapping &mapping) {
    Location loc = op.getLoc();
    Value value = mapping.lookup(op.getValue());
    auto component = cast<RankedTensorType>(value.getType());
    SmallVector<ReassociationIndices> groups = leadingUnitGroups(component.getRank());
    SmallVector<int64_t> row{1};
    llvm::append_range(row, component.getShape());
    Value expanded = tensor::ExpandShapeOp::create(builder, loc, component.clone(row), value, groups);
    row[0] = replicas;
    Value all = replica::AllGatherOp::create(builder, loc, component.clone(row), expanded, /*axis=*/0).getResult(0);
    row[0] = 1;
    for (auto [index, result] : llvm::enumerate(op.getResults())) {
      SmallVector<OpFoldResult> offsets(row.size(), builder.getIndexAttr(0)), strides(row.size(), builder.getIndexAttr(1));
      offsets[0] = builder.getIndexAttr(index);
      SmallVector<OpFoldResult> sizes = getAsIndexOpFoldResult(builder.getContext(), row);
      Value slice = tensor::ExtractSliceOp::create(builder, loc, component.clone(row), all, offsets, sizes, strides);
      mapping.map(result, tensor::CollapseShapeOp::create(builder, loc, component, slice, groups).getResult());
    }
  }

  /// [[0, 1], [2], ...]: a tensor of `rank` dimensions with a unit dimension in front.
  static SmallVector<ReassociationIndices> leadingUnitGroups(int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    for (int64_t d = 0; d < rank; ++d)
      groups.push_back(d == 0 ? ReassociationIndices{0, 1} : ReassociationIndices{d + 1});
    return groups;
  }

  void spliceUpdate(replica::UpdateOp op, IRMapping &mapping) {
    Block &body = op.getBody().front();
    Value current = replica::ReadOp::create(builder, op.getLoc(), body.getArgument(0).getType(), op.getVariableAttr());
    mapping.map(body.getArgument(0), current);
    for (auto [argument, operand] : llvm::zip_equal(body.getArguments().drop_front(), op.getOperands()))
      mapping.map(argument, mapping.lookup(operand));
    spliceBody(body, mapping);
    ValueRange yielded = body.getTerminator()->getOperands();
    auto assign = replica::AssignOp::create(builder, op.getLoc(), op.getVariableAttr(), mapping.lookup(yielded[0]));
    assign->setAttr(kSpliced, builder.getUnitAttr());
    for (auto [result, value] : llvm::zip_equal(op.getResults(), yielded.drop_front()))
      mapping.map(result, mapping.lookup(value));
  }

  ModuleOp module;
  OpBuilder builder;
  int64_t replicas;
  /// The name of the group of all ranks.
  StringAttr group;
};

struct LowerReplica : impl::LowerReplicaPassBase<LowerReplica> {
  void runOnOperation() override {
    FailureOr<int64_t> replicas = replica::getReplicaCount(getOperation());
    if (failed(replicas) || failed(ReplicaLowering(getOperation(), *replicas).run()))
      signalPassFailure();
  }
};
} // namespace
} // namespace lockstep
