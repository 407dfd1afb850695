//===- RoleDecisions.cpp - Conditions shared by several roles -------------===//

#include "passes/Roles/RoleDecisions.h"

#include "passes/Roles/RoleHomes.h"

#include "dialect/Device/DeviceDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace mlir;

/// The operands that control `op`: bounds and steps of loops, conditions.
static SmallVector<OpOperand *> getDecidingOperands(Operation *op) {
  return TypeSwitch<Operation *, SmallVector<OpOperand *>>(op)
      .Case([](scf::ForOp loop) {
        return SmallVector<OpOperand *>{&loop.getLowerBoundMutable(),
                                        &loop.getUpperBoundMutable(),
                                        &loop.getStepMutable()};
      })
      .Case([](scf::IfOp branch) {
        return SmallVector<OpOperand *>{&branch.getConditionMutable()};
      })
      .Case([](scf::WhileOp loop) {
        return SmallVector<OpOperand *>{
            &loop.getConditionOp().getConditionMutable()};
      })
      .Default([](Operation *) { return SmallVector<OpOperand *>(); });
}

SmallVector<Value> lockstep::getDecisions(Operation *op) {
  return llvm::map_to_vector(getDecidingOperands(op),
                             [](OpOperand *operand) { return operand->get(); });
}

/// Whether every role has a value without communication: a constant, or the
/// value of a host scalar.
static bool isDirect(func::FuncOp step, Value value) {
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  if (matchPattern(value, m_Constant()))
    return true;
  auto extract = value.getDefiningOp<tensor::ExtractOp>();
  auto scalar =
      extract ? dyn_cast<BlockArgument>(extract.getTensor()) : BlockArgument();
  if (!scalar || scalar.getOwner()->getParentOp() != step ||
      !extract.getIndices().empty())
    return false;
  auto binding = step.getArgAttrOfType<device::BindingAttr>(
      scalar.getArgNumber(), "device.binding");
  return binding && binding.getKind() == device::BindingKind::Scalar;
}

llvm::SetVector<Value> lockstep::wrapDecisions(func::FuncOp step) {
  // One broadcast for all uses of a value.
  llvm::MapVector<Value, SmallVector<OpOperand *>> uses;
  step.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isProjected(op))
      for (OpOperand *operand : getDecidingOperands(op))
        if (!isDirect(step, operand->get()))
          uses[operand->get()].push_back(operand);
  });
  llvm::SetVector<Value> tensors;
  for (auto &[value, operands] : uses) {
    OpBuilder builder(step.getContext());
    builder.setInsertionPointAfterValue(value);
    Location loc = value.getLoc();
    // An index, whose width is not fixed, is sent as i64.
    Type type = value.getType(),
         sent = type.isIndex() ? builder.getI64Type() : type;
    Value number =
        sent == type
            ? value
            : arith::IndexCastOp::create(builder, loc, sent, value).getResult();
    Value tensor = tensor::FromElementsOp::create(
        builder, loc, RankedTensorType::get({}, sent), number);
    Value again = tensor::ExtractOp::create(builder, loc, tensor, ValueRange());
    if (sent != type)
      again = arith::IndexCastOp::create(builder, loc, type, again);
    for (OpOperand *operand : operands)
      operand->set(again);
    tensors.insert(tensor);
  }
  return tensors;
}
