//===- Inputs.cpp - What values are computed from -------------------------===//

#include "passes/Verify/Inputs.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Verify/ReasonNotes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <functional>

using namespace lockstep;
using namespace mlir;

namespace {

class InputFinder {
public:
  /// Walks def-use chains backwards, through values for which `follow` holds.
  /// Which result of a call (of a kernel or function) depends on which operand
  /// is not known, so calls are followed only if `throughCalls`.
  InputFinder(std::function<bool(Value)> follow, bool throughCalls)
      : follow(std::move(follow)), throughCalls(throughCalls) {}

  void find(ValueRange values) {
    add(values);
    while (!pending.empty())
      visit(pending.pop_back_val());
  }

  Inputs inputs;

private:
  void add(ValueRange values) {
    for (Value value : values)
      if (follow(value) && seen.insert(value).second)
        pending.push_back(value);
  }

  void visit(Value value) {
    if (visitStructured(value))
      return;
    auto argument = dyn_cast<BlockArgument>(value);
    // Each batch is an input.
    if (!argument &&
        isa<replica::NextOp, device::LoadBatchOp>(value.getDefiningOp()))
      return void(inputs.arguments.insert(value));
    if (!argument)
      return visit(value.getDefiningOp());
    Block *block = argument.getOwner();
    if (!block->isEntryBlock()) {
      for (Block *before : block->getPredecessors())
        add(before->getTerminator()->getOperands());
      return;
    }
    if (auto function = dyn_cast<FunctionOpInterface>(block->getParentOp()))
      return addArgument(function, argument);
    visit(block->getParentOp());
  }

  /// Follows an argument or result of structured control flow, or of a region
  /// in another context, to the value that is passed to it. False if `value` is
  /// neither.
  bool visitStructured(Value value) {
    auto result = dyn_cast<OpResult>(value);
    unsigned index = result ? result.getResultNumber()
                            : cast<BlockArgument>(value).getArgNumber();
    Operation *op = result
                        ? result.getOwner()
                        : cast<BlockArgument>(value).getOwner()->getParentOp();
    bool isEntry =
        result || cast<BlockArgument>(value).getOwner()->isEntryBlock();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      add({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
      if (!result && index == 0)
        return true;
      unsigned carried = result ? index : index - 1;
      add({loop.getInitArgs()[carried], loop.getYieldedValues()[carried]});
      return true;
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      bool isBefore = !result && cast<BlockArgument>(value).getOwner() ==
                                     loop.getBeforeBody();
      if (isBefore)
        add({loop.getInits()[index], loop.getYieldOp().getOperand(index)});
      else
        add({loop.getConditionOp().getCondition(),
             loop.getConditionOp().getArgs()[index]});
      return true;
    }
    if (isa<scf::IfOp, scf::IndexSwitchOp, scf::ExecuteRegionOp, replica::RunOp,
            replica::MergeCallOp>(op) &&
        isEntry) {
      if (!result) {
        add(op->getOperand(index));
        return true;
      }
      if (!isa<replica::RunOp, replica::MergeCallOp>(op))
        add(op->getOperands());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (block.hasNoSuccessors())
            add(block.getTerminator()->getOperand(index));
      return true;
    }
    return false;
  }

  /// A result of an operation with regions may depend on any operation in it.
  void visit(Operation *op) {
    if (isStaticSize(op) ||
        (!throughCalls && isa<device::InvokeOp, CallOpInterface>(op)) ||
        !visited.insert(op).second)
      return;
    op->walk([&](Operation *inner) {
      add(inner->getOperands());
      if (auto variable = inner->getAttrOfType<FlatSymbolRefAttr>("variable"))
        inputs.variables.insert(variable.getAttr());
      inputs.hasRank |=
          isa<replica::IdOp, replica::ValuesFromFunctionOp>(inner);
    });
  }

  void addArgument(FunctionOpInterface function, BlockArgument argument) {
    auto binding = function.getArgAttrOfType<device::BindingAttr>(
        argument.getArgNumber(), "device.binding");
    if (binding && binding.getKind() == device::BindingKind::Rank)
      inputs.hasRank = true;
    else if (binding && binding.getKind() == device::BindingKind::Variable)
      inputs.variables.insert(
          StringAttr::get(function.getContext(), binding.getName()));
    else
      inputs.arguments.insert(argument);
  }

  std::function<bool(Value)> follow;
  bool throughCalls;
  llvm::DenseSet<Value> seen;
  llvm::DenseSet<Operation *> visited;
  SmallVector<Value> pending;
};

} // namespace

Inputs Inputs::of(ValueRange values) {
  InputFinder finder([](Value) { return true; }, /*throughCalls=*/true);
  finder.find(values);
  return std::move(finder.inputs);
}

Inputs Inputs::perReplicaInputsOf(ValueRange values,
                                  const UniformityAnalysis &uniformity) {
  InputFinder finder(
      [&](Value from) { return !uniformity.isEqualWhereDefined(from); },
      /*throughCalls=*/false);
  finder.find(values);
  return std::move(finder.inputs);
}

bool Inputs::intersects(const Inputs &others) const {
  return llvm::any_of(arguments,
                      [&](Value argument) {
                        return others.arguments.contains(argument);
                      }) ||
         llvm::any_of(variables, [&](Attribute variable) {
           return others.variables.contains(variable);
         });
}

std::string Inputs::describe() const {
  if (!arguments.empty()) {
    auto argument = dyn_cast<BlockArgument>(arguments.front());
    if (!argument)
      return "a batch of '" +
             arguments.front().getDefiningOp()->getName().getStringRef().str() +
             "'";
    return describeArgument(
        cast<FunctionOpInterface>(argument.getOwner()->getParentOp()),
        argument.getArgNumber());
  }
  if (!variables.empty())
    return "variable '" + cast<StringAttr>(variables.front()).str() + "'";
  return hasRank ? "the number of the replica" : "";
}
