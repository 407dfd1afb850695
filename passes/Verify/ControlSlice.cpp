//===- ControlSlice.cpp - Slices that keep the control flow ---------------===//

#include "passes/Verify/ControlSlice.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/DenseSet.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// Finds which values control flow, collectives and the slicing criteria depend
/// on, and replaces operands that feed only other values by zeros.
class Slicer {
public:
  explicit Slicer(FunctionOpInterface function) : function(function) {}

  /// The value of `operand` must be the same in the slice.
  void addCriterion(OpOperand &operand) {
    criteria.insert(&operand);
    addNeeded(operand.get());
  }

  void run() {
    function->walk([&](Operation *op) {
      if (auto variable = op->getAttrOfType<FlatSymbolRefAttr>("variable")) {
        llvm::append_range(readsOf[variable], op->getResults());
        for (Region &region : op->getRegions())
          llvm::append_range(readsOf[variable], region.getArguments());
      }
    });
    function->walk([&](Operation *op) { visit(op); });
    while (!pending.empty())
      follow(pending.pop_back_val());
    for (auto &[operand, targets] : flows)
      if (!criteria.contains(operand) &&
          llvm::none_of(targets,
                        [&](Value target) { return needed.contains(target); }))
        replace(*operand);
  }

private:
  void addNeeded(Value value) {
    if (needed.insert(value).second)
      pending.push_back(value);
  }

  /// `operand` is needed if and only if one of `targets` is. A tensor of
  /// dynamic shape is always needed: a zero would need its sizes.
  void addFlow(OpOperand &operand, ValueRange targets) {
    Type type = operand.get().getType();
    if (auto shaped = dyn_cast<ShapedType>(type);
        shaped && !shaped.hasStaticShape())
      return addNeeded(operand.get());
    for (Value target : targets) {
      sources[target].push_back(operand.get());
      isFollowed.insert(target);
    }
    flows.emplace_back(&operand, SmallVector<Value>(targets));
  }

  /// `decisions` select the path through `op`. They are needed if `op` has side
  /// effects or one of its results is needed.
  void addDecision(Operation *op, ValueRange decisions) {
    bool acts = !wouldOpBeTriviallyDead(op);
    for (Value decision : decisions) {
      if (acts)
        addNeeded(decision);
      for (Value result : op->getResults())
        sources[result].push_back(decision);
    }
    for (Value result : op->getResults())
      isFollowed.insert(result);
  }

  void visit(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      Value bounds[] = {loop.getLowerBound(), loop.getUpperBound(),
                        loop.getStep()};
      addDecision(op, bounds);
      llvm::append_range(sources[loop.getInductionVar()], bounds);
      isFollowed.insert(loop.getInductionVar());
      return addForwarded(loop);
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      addDecision(op, loop.getConditionOp().getCondition());
      return addForwarded(loop);
    }
    if (isa<scf::IfOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>(op)) {
      addDecision(op, op->getOperands());
      return addForwarded(cast<RegionBranchOpInterface>(op));
    }
    if (isa<replica::MergeCallOp, replica::RunOp>(op)) {
      for (OpOperand &operand : op->getOpOperands())
        addFlow(operand,
                op->getRegion(0).getArgument(operand.getOperandNumber()));
      return addYields(op);
    }
    if (isa<replica::AllReduceOp, replica::ReduceToOp, replica::BatchReduceToOp,
            replica::ReduceOp, replica::AllGatherOp>(op) &&
        op->getNumOperands() == op->getNumResults()) {
      for (OpOperand &operand : op->getOpOperands())
        addFlow(operand, op->getResult(operand.getOperandNumber()));
      return;
    }
    if (isa<replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp>(op))
      return addFlow(op->getOpOperand(0),
                     readsOf[op->getAttrOfType<FlatSymbolRefAttr>("variable")]);
    if (auto start = dyn_cast<collective::StartOp>(op))
      return visitStart(start);
    if (auto wait = dyn_cast<collective::WaitOp>(op)) {
      for (auto [input, result] :
           llvm::zip(wait.getInputsMutable(), wait.getResults()))
        addFlow(input, result);
      for (Value result : wait.getResults())
        sources[result].push_back(wait.getPending());
      return;
    }
    if (auto branch = dyn_cast<BranchOpInterface>(op)) {
      for (OpOperand &operand : op->getOpOperands())
        if (std::optional<BlockArgument> argument =
                branch.getSuccessorBlockArgument(operand.getOperandNumber()))
          addFlow(operand, *argument);
        else
          addNeeded(operand.get());
      return;
    }
    if (isa<FunctionOpInterface>(op))
      return;
    if (op->hasTrait<OpTrait::IsTerminator>()) {
      if (op->getParentOp() == function)
        for (OpOperand &operand : op->getOpOperands())
          addFlow(operand, {});
      else if (!isYielding(op->getParentOp()))
        for (Value operand : op->getOperands())
          addNeeded(operand);
      return;
    }
    if (!wouldOpBeTriviallyDead(op))
      for (Value operand : op->getOperands())
        addNeeded(operand);
  }

  /// True if `visit(op)` handles what the terminators in `op` pass on, or if
  /// `op` is dead without uses, so that its results alone need those operands.
  static bool isYielding(Operation *op) {
    return isa<scf::ForOp, scf::WhileOp, scf::IfOp, scf::IndexSwitchOp,
               scf::ExecuteRegionOp, replica::MergeCallOp, replica::RunOp>(
               op) ||
           wouldOpBeTriviallyDead(op);
  }

  /// Flows from the operands of a loop or branch and of its terminators to the
  /// arguments of its regions and to its results.
  void addForwarded(RegionBranchOpInterface op) {
    RegionBranchSuccessorMapping mapping;
    op.getSuccessorOperandInputMapping(mapping);
    auto add = [&](Operation *from) {
      for (OpOperand &operand : from->getOpOperands())
        if (auto targets = mapping.find(&operand); targets != mapping.end())
          addFlow(operand, targets->second);
    };
    add(op);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (block.hasNoSuccessors())
          add(block.getTerminator());
  }

  void addYields(Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (block.hasNoSuccessors())
          for (OpOperand &operand : block.getTerminator()->getOpOperands())
            addFlow(operand, op->getResult(operand.getOperandNumber()));
  }

  /// The operands of a start flow to the results of its waits.
  void visitStart(collective::StartOp start) {
    SmallVector<Value> results;
    for (Operation *user : start.getPending().getUsers())
      llvm::append_range(results, user->getResults());
    bool isWaitedForHere = llvm::all_of(start.getPending().getUsers(),
                                        llvm::IsaPred<collective::WaitOp>);
    for (OpOperand &operand : start->getOpOperands())
      if (isa<TensorType>(operand.get().getType()) && isWaitedForHere)
        addFlow(operand, results);
      else
        addNeeded(operand.get());
  }

  void follow(Value value) {
    for (Value source : sources.lookup(value))
      addNeeded(source);
    if (isFollowed.contains(value))
      return;
    Operation *op = value.getDefiningOp();
    if (!op)
      op = cast<BlockArgument>(value).getOwner()->getParentOp();
    if (isa<FunctionOpInterface>(op))
      return;
    // A result of an operation with regions may depend on any operation in it.
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        addNeeded(operand);
    });
  }

  static void replace(OpOperand &operand) {
    Type type = operand.get().getType();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!(tensor ? tensor.getElementType() : type).isIntOrIndexOrFloat() ||
        operand.get().getDefiningOp<arith::ConstantOp>())
      return;
    OpBuilder builder(operand.getOwner());
    operand.set(arith::ConstantOp::create(builder, operand.getOwner()->getLoc(),
                                          builder.getZeroAttr(type)));
  }

  FunctionOpInterface function;
  llvm::DenseMap<Attribute, SmallVector<Value>> readsOf;
  /// The values that a value is computed from, and the values for which that
  /// list is complete (others depend on all operands of their operation).
  llvm::DenseMap<Value, SmallVector<Value>> sources;
  llvm::DenseSet<Value> isFollowed;
  std::vector<std::pair<OpOperand *, SmallVector<Value>>> flows;
  llvm::DenseSet<OpOperand *> criteria;
  llvm::DenseSet<Value> needed;
  SmallVector<Value> pending;
};

/// A copy of `original` without functions: its symbols without regions, and a
/// strategy with `replicas` replicas.
ModuleOp cloneSymbols(ModuleOp original, int64_t replicas) {
  ModuleOp module = ModuleOp::create(original.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  bool hasStrategy = false;
  for (Operation &op : *original.getBody()) {
    if (op.getNumRegions() > 0)
      continue;
    Operation *copy = builder.clone(op);
    if (auto variable = dyn_cast<replica::VariableOp>(copy))
      variable.removeInitialAttr();
    if (auto strategy = dyn_cast<replica::StrategyOp>(copy)) {
      strategy.setReplicas(replicas);
      hasStrategy = true;
    }
  }
  if (hasStrategy)
    return module;
  OperationState state(original.getLoc(),
                       replica::StrategyOp::getOperationName());
  auto strategy = cast<replica::StrategyOp>(builder.create(state));
  strategy.setSymName("strategy");
  strategy.setKind(replica::Kind::Mirrored);
  strategy.setReplicas(replicas);
  return module;
}

} // namespace

ControlSlice::ControlSlice(FunctionOpInterface original, int64_t replicas,
                           ArrayRef<OpOperand *> criteria)
    : module(cloneSymbols(original->getParentOfType<ModuleOp>(), replicas)) {
  IRMapping mapping;
  Operation *copy = original->clone(mapping);
  module->push_back(copy);
  function = cast<FunctionOpInterface>(copy);
  for (auto [from, to] : mapping.getOperationMap())
    originals[to] = from;
  Slicer slicer(function);
  for (OpOperand *operand : criteria)
    slicer.addCriterion(mapping.lookup(operand->getOwner())
                            ->getOpOperand(operand->getOperandNumber()));
  slicer.run();

  IRRewriter rewriter(copy->getContext());
  (void)runRegionDCE(rewriter, copy->getRegions());
  SmallVector<linalg::LinalgOp> named;
  copy->walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp>(op))
      named.push_back(op);
  });
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
}
