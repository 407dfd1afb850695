//===- StructureControlFlow.cpp - Convert blocks and switches to scf ------===//
//
// Later stages support only structured loops and branches with two sides.
// MLIR's CFG-to-SCF transformation lifts branches between blocks; a switch
// becomes nested branches.
//
//===----------------------------------------------------------------------===//

#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/InlinedSteps.h"
#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Passes.h"

#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_STRUCTURECONTROLFLOWPASS
#include "passes/Passes.h.inc"

namespace {

/// Converts blocks to branches and loops of `scf`.
class StepTransformation : public ControlFlowToSCFTransformation {
public:
  /// A value that is never read: an unwritten tensor, or zero.
  Value getUndefValue(Location location, OpBuilder &builder,
                      Type type) override {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.hasStaticShape())
      return tensor::EmptyOp::create(builder, location, tensor.getShape(),
                                     tensor.getElementType());
    if (!tensor && type.isIntOrIndexOrFloat())
      return arith::ConstantOp::create(builder, location,
                                       builder.getZeroAttr(type));
    emitError(location,
              "expected values of static shape between blocks, found ")
        << type;
    failed = true;
    return ControlFlowToSCFTransformation::getUndefValue(location, builder,
                                                         type);
  }

  /// Collects the loops for `rotateLoop`, which moves the body out of the
  /// before-region. Values that a before-region computes could be forwarded by
  /// kernels only in the memory of the loop-carried values.
  FailureOr<Operation *>
  createStructuredDoWhileLoopOp(OpBuilder &builder, Operation *replaced,
                                ValueRange inits, Value condition,
                                ValueRange next, Region &&body) override {
    auto loop = ControlFlowToSCFTransformation::createStructuredDoWhileLoopOp(
        builder, replaced, inits, condition, next, std::move(body));
    if (succeeded(loop))
      loops.push_back(cast<scf::WhileOp>(*loop));
    return loop;
  }

  /// Loops that have been created.
  SmallVector<scf::WhileOp> loops;
  /// An undefined value of an unsupported type was requested.
  bool failed = false;
};

/// Converts `do { body } while (condition)` to
/// `go = true; while (go) { body; go = condition }`.
void rotateLoop(scf::WhileOp loop) {
  OpBuilder builder(loop);
  Location location = loop.getLoc();
  SmallVector<Value> inits(loop.getInits());
  inits.push_back(
      arith::ConstantOp::create(builder, location, builder.getBoolAttr(true)));
  SmallVector<Type> types =
      llvm::map_to_vector(inits, [](Value init) { return init.getType(); });
  auto decided = scf::WhileOp::create(builder, location, types, inits);
  SmallVector<Location> locations(types.size(), location);
  Block *before =
      builder.createBlock(&decided.getBefore(), {}, types, locations);
  scf::ConditionOp::create(builder, location, before->getArguments().back(),
                           before->getArguments());
  decided.getAfter().takeBody(loop.getBefore());
  Block &body = decided.getAfter().front();
  body.addArgument(types.back(), location);
  auto condition = cast<scf::ConditionOp>(body.getTerminator());
  SmallVector<Value> next(condition.getArgs());
  next.push_back(condition.getCondition());
  builder.setInsertionPoint(condition);
  scf::YieldOp::create(builder, location, next);
  condition.erase();
  loop.replaceAllUsesWith(decided.getResults().drop_back());
  loop.erase();
}

/// Rejects blocks that the transformation does not support, because it would
/// leave invalid IR that cannot be printed.
LogicalResult verifyBlocks(Region &body) {
  SmallVector<Block *> pending;
  llvm::DenseSet<Block *> ending;
  for (Block &block : body) {
    Operation *terminator = block.getTerminator();
    if (block.hasNoSuccessors())
      pending.push_back(&block);
    else if (!isa<cf::BranchOp, cf::CondBranchOp, cf::SwitchOp>(terminator))
      return terminator->emitError("expected a branch between blocks that the "
                                   "compiler knows, found '")
             << terminator->getName() << "'";
  }
  while (!pending.empty())
    if (Block *block = pending.pop_back_val(); ending.insert(block).second)
      llvm::append_range(pending, block->getPredecessors());
  for (Block &block : body)
    if (!ending.contains(&block))
      return block.getTerminator()->emitError(
          "expected blocks that lead to the end of the step, found a loop "
          "without an end");
  return success();
}

bool hasBranches(Operation *function) {
  Region &body = function->getRegion(0);
  return !body.empty() && !body.hasOneBlock();
}

LogicalResult structureBlocks(Operation *function) {
  Region &body = function->getRegion(0);
  if (failed(verifyBlocks(body)))
    return failure();
  StepTransformation transformation;
  DominanceInfo dominance(function);
  if (failed(transformCFGToSCF(body, transformation, dominance)))
    return function->emitError(
        "expected blocks that can be made loops and branches");
  for (scf::WhileOp loop : transformation.loops)
    rotateLoop(loop);
  return failure(transformation.failed);
}

/// Converts a switch to a chain of branches. `taken` are the regions that the
/// ranks enter; empty if that is not known.
class SwitchSplitter {
public:
  SwitchSplitter(scf::IndexSwitchOp op, ArrayRef<unsigned> taken)
      : op(op), builder(op) {
    auto isEntered = [&](unsigned region) {
      return taken.empty() || llvm::is_contained(taken, region);
    };
    for (auto [index, value] : llvm::enumerate(op.getCases()))
      if (isEntered(index + 1))
        sides.push_back({value, &op.getCaseRegions()[index]});
    if (isEntered(0))
      sides.push_back({0, &op.getDefaultRegion()});
  }

  void run() {
    op.replaceAllUsesWith(split(0));
    op.erase();
  }

private:
  struct Side {
    int64_t value;
    Region *region;
  };

  /// The results of the chain for the sides from `first` on. The last side
  /// needs no comparison.
  SmallVector<Value> split(size_t first) {
    if (first + 1 == sides.size())
      return moveOut(*sides[first].region);
    Location location = op.getLoc();
    Value number =
        arith::ConstantIndexOp::create(builder, location, sides[first].value);
    Value isHere = arith::CmpIOp::create(
        builder, location, arith::CmpIPredicate::eq, op.getArg(), number);
    auto branch =
        scf::IfOp::create(builder, location, op.getResultTypes(), isHere,
                          /*addThenBlock=*/true, /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(builder);
    fill(branch.thenBlock(), [&] { return moveOut(*sides[first].region); });
    fill(branch.elseBlock(), [&] { return split(first + 1); });
    return branch.getResults();
  }

  void fill(Block *block, llvm::function_ref<SmallVector<Value>()> make) {
    if (!block->empty())
      block->back().erase();
    builder.setInsertionPointToEnd(block);
    SmallVector<Value> results = make();
    scf::YieldOp::create(builder, op.getLoc(), results);
  }

  /// Moves the operations of `region` to the insertion point, and returns the
  /// values that it yields.
  SmallVector<Value> moveOut(Region &region) {
    Block &block = region.front();
    Operation *yield = block.getTerminator();
    SmallVector<Value> yielded(yield->getOperands());
    Block *target = builder.getInsertionBlock();
    target->getOperations().splice(builder.getInsertionPoint(),
                                   block.getOperations(), block.begin(),
                                   yield->getIterator());
    return yielded;
  }

  scf::IndexSwitchOp op;
  OpBuilder builder;
  std::vector<Side> sides;
};

struct StructureControlFlow
    : impl::StructureControlFlowPassBase<StructureControlFlow> {
  void runOnOperation() override {
    bool isStructured = true;
    for (Operation &op : getOperation().getOps()) {
      if (!isa<replica::StepOp, replica::ProgramOp, func::FuncOp>(op) ||
          !hasBranches(&op))
        continue;
      isStructured = false;
      if (failed(structureBlocks(&op)))
        return signalPassFailure();
    }

    // Switches in scalar code, which becomes part of a kernel, are left to
    // LLVM.
    SmallVector<scf::IndexSwitchOp> switches;
    getOperation().walk([&](scf::IndexSwitchOp op) {
      if (!op->getParentOfType<linalg::LinalgOp>() &&
          !op->getParentOfType<tensor::GenerateOp>())
        switches.push_back(op);
    });
    if (switches.empty()) {
      if (isStructured)
        markAllAnalysesPreserved();
      return;
    }
    if (failed(checkStepsAreInlined(getOperation())))
      return signalPassFailure();
    UniformityAnalysis uniformity(getOperation());
    SmallVector<SmallVector<unsigned>> takenRegions =
        llvm::map_to_vector(switches, [&](scf::IndexSwitchOp op) {
          return uniformity.getConstants().getTakenRegions(op);
        });
    // The walk is post-order, so nested switches are split first.
    for (auto [op, taken] : llvm::zip_equal(switches, takenRegions))
      SwitchSplitter(op, taken).run();
  }
};

} // namespace
} // namespace lockstep
