//===- SpliceContexts.cpp - Lower cross-replica context -------------------===//
//
// Cross-replica context is executed by every rank, on the rank's own component
// of per-replica values and on values that are equal on all ranks; the memory
// planner stores and computes the latter once per process. So a program becomes
// a step, the regions of merge_calls and runs are inlined, and the operations
// of cross-replica context become those of replica context.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/BoundedBatch.h"
#include "passes/Lower/Means.h"
#include "passes/Lower/ReduceAxes.h"
#include "passes/Lower/ReplicaGroup.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/InlinedSteps.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SPLICECONTEXTSPASS
#include "passes/Passes.h.inc"

namespace {

/// The host value that is the number of batches of a program.
constexpr StringLiteral kNumBatches = "num_batches";

/// Inlines the regions of one step or program.
class ContextSplicer {
public:
  ContextSplicer(MLIRContext *context, int64_t replicas)
      : builder(context), replicas(replicas) {}

  void splice(replica::ProgramOp program) {
    builder.setInsertionPoint(program);
    SmallVector<Type> inputs, results;
    SmallVector<Attribute> attributes;
    SmallVector<Location> locations;
    for (auto [i, argument] : llvm::enumerate(program.getArguments())) {
      // An iterator is replaced by its number of batches.
      bool iterates = isa<replica::IteratorType>(argument.getType());
      inputs.push_back(iterates
                           ? RankedTensorType::get({}, builder.getI64Type())
                           : replica::getComponent(argument.getType()));
      attributes.push_back(
          iterates ? builder.getDictionaryAttr(builder.getNamedAttr(
                         "replica.scalar", builder.getStringAttr(kNumBatches)))
                   : program.getArgAttrDict(i));
      locations.push_back(argument.getLoc());
    }
    for (Type type : program.getResultTypes())
      results.push_back(replica::getComponent(type));
    auto step =
        replica::StepOp::create(builder, program.getLoc(), program.getSymName(),
                                builder.getFunctionType(inputs, results));
    step.setArgAttrsAttr(builder.getArrayAttr(attributes));
    step.setResAttrsAttr(program.getResAttrsAttr());
    Block &from = program.getBody().front();
    Block *to = builder.createBlock(&step.getBody(), {}, inputs, locations);
    IRMapping mapping;
    mapping.map(from.getArguments(), to->getArguments());
    spliceBody(from, mapping);
    builder.clone(*from.getTerminator(), mapping);
    program.erase();
    splice(step);
  }

  void splice(replica::StepOp step) {
    // A run inside of a merge_call may contain further merge_calls.
    for (;;) {
      SmallVector<replica::MergeCallOp> calls;
      step->walk<WalkOrder::PreOrder>([&](replica::MergeCallOp call) {
        calls.push_back(call);
        return WalkResult::skip();
      });
      if (calls.empty())
        return;
      for (replica::MergeCallOp call : calls)
        splice(call);
    }
  }

private:
  void splice(replica::MergeCallOp call) {
    builder.setInsertionPoint(call);
    Block &body = call.getBody().front();
    IRMapping mapping;
    mapping.map(body.getArguments(), call.getOperands());
    addBarrier(call);
    spliceBody(body, mapping);
    addBarrier(call);
    for (auto [result, yielded] : llvm::zip_equal(
             call.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookup(yielded));
    call.erase();
  }

  /// All replicas enter a merge_call together, and none leaves it before all
  /// have ended it. What follows from collectives and data dependences is
  /// removed when collectives are simplified.
  void addBarrier(replica::MergeCallOp call) {
    if (replicas < 2)
      return;
    auto module = call->getParentOfType<ModuleOp>();
    collective::BarrierOp::create(
        builder, call.getLoc(),
        FlatSymbolRefAttr::get(getGroupOfReplicas(module, replicas)),
        /*channel=*/IntegerAttr());
  }

  /// Clones `body`, which is in cross-replica context, before the insertion
  /// point.
  void spliceBody(Block &body, IRMapping &mapping) {
    for (Operation &inner : body.without_terminator())
      spliceOperation(&inner, mapping);
  }

  void spliceOperation(Operation *op, IRMapping &mapping) {
    TypeSwitch<Operation *>(op)
        .Case([&](replica::NumBatchesOp typed) {
          mapping.map(typed.getResult(), mapping.lookup(typed.getIterator()));
        })
        .Case<replica::RunOp, replica::NextOp, replica::ReduceToOp,
              replica::BatchReduceToOp, replica::ReduceOp,
              replica::ReduceSlicesOp, replica::BroadcastToOp,
              replica::GatherOp, replica::LocalResultsOp, replica::UpdateOp,
              replica::UpdateNonSlotOp, replica::ValuesFromFunctionOp>(
            [&](auto typed) { spliceOp(typed, mapping); })
        .Case([&](replica::ReadOp) {
          cast<replica::ReadOp>(builder.clone(*op, mapping))
              .setAggregated(true);
        })
        .Case<replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp,
              replica::ScatterOp>([&](auto) {
          builder.clone(*op, mapping)
              ->setAttr(replica::kCrossReplica, builder.getUnitAttr());
        })
        .Default([&](Operation *other) { spliceRegions(other, mapping); });
  }

  /// Clones control flow, and converts the operations in it.
  void spliceRegions(Operation *op, IRMapping &mapping) {
    OpBuilder::InsertionGuard guard(builder);
    Operation *clone = builder.insert(op->cloneWithoutRegions(mapping));
    for (auto [from, to] :
         llvm::zip_equal(op->getRegions(), clone->getRegions()))
      for (Block &block : from) {
        SmallVector<Location> locations =
            llvm::map_to_vector(block.getArguments(), [](Value argument) {
              return argument.getLoc();
            });
        SmallVector<Type> types =
            llvm::map_to_vector(block.getArgumentTypes(), [](Type type) {
              Type component = replica::getComponent(type);
              return component ? component : type;
            });
        Block *copy = builder.createBlock(&to, to.end(), types, locations);
        mapping.map(block.getArguments(), copy->getArguments());
        for (Operation &inner : block)
          spliceOperation(&inner, mapping);
      }
    for (OpResult result : clone->getResults())
      if (Type component = replica::getComponent(result.getType()))
        result.setType(component);
  }

  //===--------------------------------------------------------------------===//
  // Regions
  //===--------------------------------------------------------------------===//

  /// The body of a run is in replica context already. [3-run]
  void spliceOp(replica::RunOp op, IRMapping &mapping) {
    Block &body = op.getBody().front();
    IRMapping inner;
    for (auto [argument, operand] :
         llvm::zip_equal(body.getArguments(), op.getOperands()))
      inner.map(argument, mapping.lookup(operand));
    for (Operation &nested : body.without_terminator())
      builder.clone(nested, inner);
    for (auto [result, yielded] :
         llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands()))
      mapping.map(result, inner.lookup(yielded));
  }

  void spliceOp(replica::UpdateOp op, IRMapping &mapping) {
    Block &body = op.getBody().front();
    Value current = replica::ReadOp::create(builder, op.getLoc(),
                                            body.getArgument(0).getType(),
                                            op.getVariableAttr());
    mapping.map(body.getArgument(0), current);
    for (auto [argument, operand] :
         llvm::zip_equal(body.getArguments().drop_front(), op.getOperands()))
      mapping.map(argument, mapping.lookup(operand));
    spliceBody(body, mapping);
    ValueRange yielded = body.getTerminator()->getOperands();
    // Every copy is assigned the value that has been computed from it.
    auto assign = replica::AssignOp::create(
        builder, op.getLoc(), op.getVariableAttr(), mapping.lookup(yielded[0]));
    assign->setAttr(replica::kOwnCopy, builder.getUnitAttr());
    for (auto [result, value] :
         llvm::zip_equal(op.getResults(), yielded.drop_front()))
      mapping.map(result, mapping.lookup(value));
  }

  template <typename OpTy>
  void spliceRegionOf(OpTy op, ValueRange arguments, IRMapping &mapping) {
    Block &body = op.getBody().front();
    mapping.map(body.getArguments(), arguments);
    spliceBody(body, mapping);
    for (auto [result, value] :
         llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands()))
      mapping.map(result, mapping.lookup(value));
  }

  void spliceOp(replica::UpdateNonSlotOp op, IRMapping &mapping) {
    SmallVector<Value> arguments =
        llvm::map_to_vector(op.getOperands(), [&](Value operand) {
          return mapping.lookup(operand);
        });
    spliceRegionOf(op, arguments, mapping);
  }

  void spliceOp(replica::ValuesFromFunctionOp op, IRMapping &mapping) {
    Value id = replica::IdOp::create(
        builder, op.getLoc(), RankedTensorType::get({}, builder.getI32Type()));
    spliceRegionOf(op, id, mapping);
  }

  /// Loads the tensors of a batch. A tensor with dynamic sizes is loaded with
  /// its largest size, together with its actual sizes. [6.1-next]
  void spliceOp(replica::NextOp op, IRMapping &mapping) {
    Location loc = op.getLoc();
    auto argument = cast<BlockArgument>(op.getIterator());
    auto program =
        cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    auto names = program.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                     "replica.batches");
    auto bounds = program.getArgAttrOfType<DenseI64ArrayAttr>(
        argument.getArgNumber(), "replica.bounds");
    ArrayRef<int64_t> limits =
        bounds ? bounds.asArrayRef() : ArrayRef<int64_t>();
    SmallVector<Attribute> loaded;
    SmallVector<Type> types;
    auto add = [&](const Twine &name, Type type) {
      loaded.push_back(builder.getStringAttr(name));
      types.push_back(type);
    };
    auto sizeType = RankedTensorType::get({}, builder.getI64Type());
    for (auto [name, element] :
         llvm::zip_equal(names.getAsValueRange<StringAttr>(),
                         op.getIterator().getType().getElements())) {
      auto type = cast<RankedTensorType>(element);
      add(name, getBoundedType(type, limits));
      limits = limits.drop_front(type.getNumDynamicDims());
      for (int64_t d : getPartialDims(type))
        add(name + ".dim" + Twine(d), sizeType);
    }
    ValueRange batch = device::LoadBatchOp::create(builder, loc, types,
                                                   builder.getArrayAttr(loaded))
                           .getResults();
    for (OpResult result : op.getResults()) {
      auto type =
          cast<RankedTensorType>(replica::getComponent(result.getType()));
      Value value = batch.front();
      ValueRange sizes = batch.slice(1, getPartialDims(type).size());
      batch = batch.drop_front(1 + sizes.size());
      if (!type.hasStaticShape())
        value = takeBatch(builder, loc, type, value, sizes);
      mapping.map(result, value);
    }
  }

  //===--------------------------------------------------------------------===//
  // Reductions and gathers
  //===--------------------------------------------------------------------===//

  /// The reduction of `value`, whose original type is `type`, to components of
  /// type `result`.
  Value reduce(Location loc, replica::Reduction reduction, Value value,
               Type type, Type result) {
    result = replica::getComponent(result);
    if (isa<replica::PerReplicaType>(type))
      return replica::AllReduceOp::create(builder, loc, TypeRange(result),
                                          reduction, value)
          .getResult(0);
    // A value that is equal on all ranks is its own mean (reference, section
    // 4). [3.1-none-plain-mean]
    return value.getType() == result
               ? value
               : divideBy(builder, loc, value, 1, getElementTypeOrSelf(result));
  }

  void spliceOp(replica::ReduceToOp op, IRMapping &mapping) {
    mapping.map(op.getResult(), reduce(op.getLoc(), op.getReduction(),
                                       mapping.lookup(op.getValue()),
                                       op.getValue().getType(), op.getType()));
  }

  void spliceOp(replica::BatchReduceToOp op, IRMapping &mapping) {
    for (auto [operand, result] :
         llvm::zip_equal(op.getOperands(), op.getResults()))
      mapping.map(result, reduce(op.getLoc(), op.getReduction(),
                                 mapping.lookup(operand), operand.getType(),
                                 result.getType()));
  }

  void spliceOp(replica::ReduceOp op, IRMapping &mapping) {
    Value value = mapping.lookup(op.getValue());
    mapping.map(op.getResult(),
                op.getAxes() ? reduceAxes(builder, op, value, replicas)
                             : reduce(op.getLoc(), op.getReduction(), value,
                                      op.getValue().getType(), op.getType()));
  }

  void spliceOp(replica::ReduceSlicesOp op, IRMapping &mapping) {
    auto all = replica::AllReduceSlicesOp::create(
        builder, op.getLoc(), op.getResultTypes(), op.getReduction(),
        mapping.lookup(op.getValues()), mapping.lookup(op.getIndices()));
    mapping.map(op.getResults(), all.getResults());
  }

  void spliceOp(replica::BroadcastToOp op, IRMapping &mapping) {
    mapping.map(op.getResult(), mapping.lookup(op.getValue()));
  }

  void spliceOp(replica::GatherOp op, IRMapping &mapping) {
    Value value = mapping.lookup(op.getValue());
    if (isa<replica::PerReplicaType>(op.getValue().getType()))
      value = replica::AllGatherOp::create(builder, op.getLoc(),
                                           op.getResult().getType(), value,
                                           op.getAxis())
                  .getResult(0);
    mapping.map(op.getResult(), value);
  }

  /// The list of all components: gathered along a new leading axis, then cut
  /// into pieces. [1.2-local-results]
  void spliceOp(replica::LocalResultsOp op, IRMapping &mapping) {
    Location loc = op.getLoc();
    Value value = mapping.lookup(op.getValue());
    if (isa<replica::MirroredType>(op.getValue().getType())) {
      for (Value result : op.getResults())
        mapping.map(result, value);
      return;
    }
    auto component = cast<RankedTensorType>(value.getType());
    // Tensors without elements are equal on all replicas, and a slice of one is
    // invalid.
    if (llvm::is_contained(component.getShape(), 0) &&
        component.hasStaticShape()) {
      Value nothing = tensor::EmptyOp::create(
          builder, loc, component.getShape(), component.getElementType());
      for (Value result : op.getResults())
        mapping.map(result, nothing);
      return;
    }
    SmallVector<ReassociationIndices> groups =
        leadingUnitGroups(component.getRank());
    SmallVector<int64_t> row{1};
    llvm::append_range(row, component.getShape());
    Value expanded = tensor::ExpandShapeOp::create(
        builder, loc, component.clone(row), value, groups);
    row[0] = replicas;
    Value all = replica::AllGatherOp::create(builder, loc, component.clone(row),
                                             expanded, /*axis=*/0)
                    .getResult(0);
    row[0] = 1;
    for (auto [index, result] : llvm::enumerate(op.getResults())) {
      SmallVector<OpFoldResult> offsets(row.size(), builder.getIndexAttr(0)),
          strides(row.size(), builder.getIndexAttr(1));
      offsets[0] = builder.getIndexAttr(index);
      SmallVector<OpFoldResult> sizes =
          getAsIndexOpFoldResult(builder.getContext(), row);
      Value slice = tensor::ExtractSliceOp::create(
          builder, loc, component.clone(row), all, offsets, sizes, strides);
      mapping.map(result, tensor::CollapseShapeOp::create(
                              builder, loc, component, slice, groups)
                              .getResult());
    }
  }

  /// [[0, 1], [2], ...]: a tensor of `rank` dimensions with a unit dimension in
  /// front.
  static SmallVector<ReassociationIndices> leadingUnitGroups(int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    for (int64_t d = 0; d < rank; ++d)
      groups.push_back(d == 0 ? ReassociationIndices{0, 1}
                              : ReassociationIndices{d + 1});
    return groups;
  }

  OpBuilder builder;
  int64_t replicas;
};

struct SpliceContexts : impl::SpliceContextsPassBase<SpliceContexts> {
  void runOnOperation() override {
    FailureOr<int64_t> replicas = replica::getReplicaCount(getOperation());
    if (failed(replicas) || failed(checkStepsAreInlined(getOperation())))
      return signalPassFailure();
    ContextSplicer splicer(&getContext(), *replicas);
    for (Operation &op :
         llvm::make_early_inc_range(*getOperation().getBody())) {
      if (auto step = dyn_cast<replica::StepOp>(op))
        splicer.splice(step);
      else if (auto program = dyn_cast<replica::ProgramOp>(op))
        splicer.splice(program);
    }
  }
};
} // namespace
} // namespace lockstep
