//===- InPlaceResults.cpp - In-place results of kernels -------------------===//

#include "passes/Kernels/InPlaceResults.h"

#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

static bool isVariable(device::BindingAttr binding) {
  return binding && binding.getKind() == device::BindingKind::Variable;
}

OldValues::OldValues(func::FuncOp step) : step(step) {
  for (BlockArgument argument : step.getArguments())
    if (auto binding = step.getArgAttrOfType<device::BindingAttr>(
            argument.getArgNumber(), "device.binding");
        isVariable(binding))
      arguments[binding.getName()] = argument;
}

Value OldValues::find(Value value) {
  llvm::SmallDenseSet<Value> visited;
  return find(value, visited);
}

Value OldValues::find(Value value, llvm::SmallDenseSet<Value> &visited) {
  if (!visited.insert(value).second)
    return {};
  for (OpOperand &use : value.getUses()) {
    if (auto branch = dyn_cast<scf::IfOp>(use.getOwner()->getParentOp());
        branch && isa<scf::YieldOp>(use.getOwner()))
      if (Value old = find(branch.getResult(use.getOperandNumber()), visited))
        return old;
    if (isa<func::ReturnOp>(use.getOwner()))
      if (auto binding = step.getResultAttrOfType<device::BindingAttr>(
              use.getOperandNumber(), "device.binding");
          isVariable(binding))
        if (Value argument = arguments.lookup(binding.getName()))
          return argument;
  }
  return {};
}

/// Whether `op` computes each element of `result` after all reads of the same
/// element of `argument`, also if common loops compute it with the operations
/// before it.
static bool isComputedAfterReads(OpResult result, linalg::GenericOp op,
                                 BlockArgument argument) {
  if (argument.use_empty() || !lockstep::isElementwise(op) ||
      !op.getMatchingIndexingMap(op.getTiedOpOperand(result)).isIdentity())
    return false;
  return llvm::all_of(argument.getUses(), [&](OpOperand &use) {
    auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
    return reader && !reader.isDpsInit(&use) &&
           reader.getMatchingIndexingMap(&use).isIdentity() &&
           (reader == op || (reader->getBlock() == op->getBlock() &&
                             reader->isBeforeInBlock(op)));
  });
}

/// Whether computing `result` in the memory of `argument` only overwrites
/// elements that are not read afterwards.
static bool mayReuseArgument(Value result, BlockArgument argument) {
  if (argument.getType() != result.getType())
    return false;
  if (auto generic = result.getDefiningOp<linalg::GenericOp>())
    return isComputedAfterReads(cast<OpResult>(result), generic, argument);
  if (!argument.hasOneUse())
    return false;
  OpOperand &use = *argument.use_begin();
  if (use.getOwner() != result.getDefiningOp())
    return false;
  if (auto loop = dyn_cast<scf::ForOp>(use.getOwner()))
    return loop.getTiedLoopInit(cast<OpResult>(result)) == &use;
  // The inserted elements do not depend on the argument, which has one use.
  auto insert = dyn_cast<tensor::InsertSliceOp>(use.getOwner());
  return insert && &use == &insert.getDestMutable();
}

void lockstep::annotateInPlace(device::KernelOp kernel, OldValues &oldValues,
                               ArrayRef<Value> arguments,
                               ArrayRef<Value> outputs) {
  auto yielded = kernel.getBody().front().getTerminator()->getOperands();
  SmallVector<int64_t> inPlace(yielded.size(), -1);
  auto tryArgument = [&](unsigned result, BlockArgument argument) {
    if (inPlace[result] < 0 && mayReuseArgument(yielded[result], argument) &&
        !llvm::is_contained(inPlace, argument.getArgNumber()))
      inPlace[result] = argument.getArgNumber();
  };
  auto inputs = kernel.getBody().getArguments().take_front(arguments.size());
  for (auto [result, output] : llvm::enumerate(outputs))
    if (Value old = oldValues.find(output))
      for (auto [argument, input] : llvm::zip_equal(arguments, inputs))
        if (argument == old)
          tryArgument(result, input);
  for (unsigned result = 0; result < outputs.size(); ++result)
    for (BlockArgument input : inputs)
      tryArgument(result, input);
  if (llvm::any_of(inPlace, [](int64_t argument) { return argument >= 0; }))
    kernel.setInPlace(inPlace);
}
