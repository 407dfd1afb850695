//===- CarryTensors.cpp - Scalars that loops carry go through memory ------===//

#include "passes/Kernels/Grouping.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_CARRYTENSORSPASS
#include "passes/Passes.h.inc"

namespace {

/// The tensor that takes the place of a scalar; the type itself for a tensor. Memory holds no `index`.
Type getCarriedType(Type type) {
  if (type.isIndex())
    return RankedTensorType::get({}, IntegerType::get(type.getContext(), 64));
  return type.isIntOrFloat() ? RankedTensorType::get({}, type) : type;
}

Value store(OpBuilder &builder, Location loc, Value value) {
  auto type = getCarriedType(value.getType());
  if (type == value.getType())
    return value;
  if (value.getType().isIndex())
    value = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  return tensor::FromElementsOp::create(builder, loc, type, value);
}

Value load(OpBuilder &builder, Location loc, Value stored, Type type) {
  if (stored.getType() == type)
    return stored;
  Value value = tensor::ExtractOp::create(builder, loc, stored, ValueRange());
  return type.isIndex() ? arith::IndexCastOp::create(builder, loc, type, value).getResult() : value;
}

/// What `op` takes or forwards, from operand `first` on, is stored before it.
void storeOperands(OpBuilder &builder, Operation *op, unsigned first) {
  builder.setInsertionPoint(op);
  for (OpOperand &operand : op->getOpOperands().drop_front(first))
    operand.set(store(builder, op->getLoc(), operand.get()));
}

/// Makes `value` a tensor; who used the scalar uses one that is loaded from it at the insertion point.
void loadInstead(OpBuilder &builder, Value value) {
  Type type = value.getType();
  if (getCarriedType(type) == type)
    return;
  SmallVector<OpOperand *> uses = llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
  value.setType(getCarriedType(type));
  Value loaded = load(builder, value.getLoc(), value, type);
  for (OpOperand *use : uses)
    use->set(loaded);
}

/// The arguments of `block`, from `first` on, become tensors, which are loaded at its start.
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

struct CarryTensors : impl::CarryTensorsPassBase<CarryTensors> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isStepControlFlow(op))
        ops.push_back(op);
    });
    OpBuilder builder(&getContext());
    for (Operation *op : ops) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
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
        for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
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
