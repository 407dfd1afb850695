//===- CarryTensors.cpp - Convert loop-carried scalars to tensors ---------===//
//
// A step keeps only tensors, in memory, and indices, in registers. So values
// that loops and branches carry become tensors, and their counters become
// indices.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernels/Grouping.h"
#include "passes/Kernels/KernelScalars.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_CARRYTENSORSPASS
#include "passes/Passes.h.inc"

namespace {

/// Stores the operands of `op`, from `first` on, in tensors before it.
void storeOperands(OpBuilder &builder, Operation *op, unsigned first) {
  builder.setInsertionPoint(op);
  for (OpOperand &operand : op->getOpOperands().drop_front(first))
    operand.set(storeScalar(builder, op->getLoc(), operand.get()));
}

/// Makes `value` a tensor, and replaces its uses by a scalar that is loaded
/// from it at the insertion point.
void loadInstead(OpBuilder &builder, Value value) {
  Type type = value.getType();
  if (getStoredType(type) == type)
    return;
  SmallVector<OpOperand *> uses =
      llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
  value.setType(getStoredType(type));
  Value loaded = loadScalar(builder, value.getLoc(), value, type);
  for (OpOperand *use : uses)
    use->set(loaded);
}

/// Makes the arguments of `block`, from `first` on, tensors, which are loaded
/// at its start.
void loadArguments(OpBuilder &builder, Block &block, unsigned first) {
  builder.setInsertionPointToStart(&block);
  for (BlockArgument argument : block.getArguments().drop_front(first))
    loadInstead(builder, argument);
}

void loadResults(OpBuilder &builder, Operation *op) {
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getResults())
    loadInstead(builder, result);
}

/// Makes the counter of `loop` an index, which is converted to the original
/// type in the body. Fails if it does not fit into a register.
LogicalResult countByIndex(OpBuilder &builder, scf::ForOp loop) {
  Value counter = loop.getInductionVar();
  Type type = counter.getType();
  bool isWide = type.isIndex() || type.getIntOrFloatBitWidth() >= 64;
  if (loop.getUnsignedCmp() && isWide)
    return loop.emitError(
               "expected a counter that is compared as a signed number, or one "
               "of less than 64 bits, found an unsigned ")
           << type;
  if (type.isIndex())
    return success();
  if (type.getIntOrFloatBitWidth() > 64)
    return loop.emitError("expected a counter of at most 64 bits, found ")
           << type;
  auto convert = [&](Value value, Type to) -> Value {
    // An unsigned number of less than 64 bits is not negative in a register, so
    // comparing it as a signed one is right.
    if (loop.getUnsignedCmp())
      return builder.createOrFold<arith::IndexCastUIOp>(loop.getLoc(), to,
                                                        value);
    return builder.createOrFold<arith::IndexCastOp>(loop.getLoc(), to, value);
  };
  builder.setInsertionPoint(loop);
  for (OpOperand &bound :
       loop->getOpOperands().take_front(loop.getNumControlOperands()))
    bound.set(convert(bound.get(), builder.getIndexType()));
  counter.setType(builder.getIndexType());
  builder.setInsertionPointToStart(loop.getBody());
  Value narrow = convert(counter, type);
  counter.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
  loop.setUnsignedCmp(false);
  return success();
}

/// Replaces a while loop whose condition is constantly false by the operations
/// of its first region. (One whose condition is constantly true is kept.)
void inlineLoopsWithoutIterations(func::FuncOp step) {
  SmallVector<scf::WhileOp> loops;
  step.walk([&](scf::WhileOp loop) {
    if (matchPattern(loop.getConditionOp().getCondition(), m_Zero()))
      loops.push_back(loop);
  });
  IRRewriter rewriter(step.getContext());
  for (scf::WhileOp loop : loops) {
    scf::ConditionOp condition = loop.getConditionOp();
    rewriter.inlineBlockBefore(loop.getBeforeBody(), loop, loop.getInits());
    rewriter.replaceOp(loop, condition.getArgs());
    rewriter.eraseOp(condition);
  }
}

struct CarryTensors : impl::CarryTensorsPassBase<CarryTensors> {
  void runOnOperation() override {
    inlineLoopsWithoutIterations(getOperation());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isStepControlFlow(op))
        ops.push_back(op);
    });
    OpBuilder builder(&getContext());
    for (Operation *op : ops) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        if (failed(countByIndex(builder, loop)))
          return signalPassFailure();
        storeOperands(builder, loop, loop.getNumControlOperands());
        loadArguments(builder, *loop.getBody(), loop.getNumInductionVars());
        storeOperands(builder, loop.getBody()->getTerminator(), 0);
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        storeOperands(builder, loop, 0);
        loadArguments(builder, *loop.getBeforeBody(), 0);
        storeOperands(builder, loop.getConditionOp(), 1);
        loadArguments(builder, *loop.getAfterBody(), 0);
        storeOperands(builder, loop.getYieldOp(), 0);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        for (Region *region :
             {&branch.getThenRegion(), &branch.getElseRegion()})
          if (!region->empty())
            storeOperands(builder, region->front().getTerminator(), 0);
      } else {
        continue;
      }
      loadResults(builder, op);
    }
  }
};
} // namespace
} // namespace lockstep
