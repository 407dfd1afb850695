//===- ShardVariables.cpp - Divide variables among the replicas -----------===//
//
// Each replica stores an equal part of a variable's elements, computes the new
// values of its part from the same part of the gradients' sum, and a step
// gathers the variables that it reads. `DividedUpdates` finds which ones.
//
//===----------------------------------------------------------------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "dialect/Replica/Strategy.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"
#include "passes/Simplify/DivideStep.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SHARDVARIABLESPASS
#include "passes/Passes.h.inc"

namespace {

using collective::Kind;
using collective::WaitOp;

struct ShardVariables : impl::ShardVariablesPassBase<ShardVariables> {
  using ShardVariablesPassBase::ShardVariablesPassBase;

  void runOnOperation() override {
    module = getOperation();
    FailureOr<int64_t> count = replica::getReplicaCount(module);
    if (failed(count))
      return signalPassFailure();
    replicas = *count;
    if (replicas < 2 || replica::StrategyProperties::of(module).placement !=
                            replica::Placement::Mirrored)
      return;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        steps.emplace_back(function, replicas, reassociate);
    findVariables();
    for (bool changes = true; changes;) {
      changes = false;
      for (DividedUpdates &updates : steps)
        updates.find([&](StringAttr name) { return variables.contains(name); },
                     [&](StringAttr name, const std::string &reason) {
                       changes |= refuse(name, reason);
                     });
    }
    if (!variables.empty())
      divide();
    if (piecesRequired)
      checkPieces();
  }

private:
  /// Finds the variables that can be divided.
  void findVariables() {
    for (const DividedUpdates &updates : steps)
      updates.forSummedVariables([&](StringAttr name, Value value) {
        updated.try_emplace(name, value.getLoc());
      });
    for (auto variable : module.getOps<replica::VariableOp>()) {
      StringAttr name = variable.getSymNameAttr();
      if (!updated.contains(name) || variable.isPerReplica())
        continue;
      variables[name] = variable;
      auto type = cast<RankedTensorType>(variable.getType());
      if (type.getNumElements() < replicas)
        refuse(name, "it has fewer elements than there are replicas");
      else if (variable.getInitialAttr() &&
               !variable.getInitialAttr().isSplat())
        refuse(name, "the elements of its initial value differ");
      else if (type.getNumElements() % replicas != 0 &&
               getByteSize(type) < padFrom)
        refuse(name, std::to_string(replicas) +
                         " replicas do not divide its elements, and its parts "
                         "are padded only from " +
                         bytesText(padFrom) + " on");
    }
  }

  /// Emits an error for each piece of a variable that is not divided.
  void checkPieces() {
    for (auto variable : module.getOps<replica::VariableOp>())
      if (variable->hasAttr(device::kShard) && !variable.getWholeShape()) {
        emitError(getUpdateLocation(variable))
            << "expected pieces of a variable that replicas can divide, found "
            << textOf(variable) << ": "
            << (reasons.contains(variable.getSymNameAttr())
                    ? reasons.at(variable.getSymNameAttr())
                    : "its new value is not computed from sums of the same "
                      "rows alone");
        signalPassFailure();
      }
  }

  /// Returns whether the variable would have been divided.
  bool refuse(StringAttr name, const std::string &reason) {
    auto it = variables.find(name);
    if (it == variables.end())
      return false;
    remark::missed(updated.find(name)->second,
                   decision(Stage::Simplify, "NotDivided", name))
        << (textOf(it->second) +
            " is not divided among the replicas: " + reason);
    reasons[name] = reason;
    variables.erase(it);
    return true;
  }

  static std::string textOf(replica::VariableOp variable) {
    auto type = cast<RankedTensorType>(variable.getType());
    return "variable '" + variable.getStoredName().str() + "' (" +
           typeText(type) + ")";
  }

  void divide() {
    auto isDivided = [&](StringAttr name) { return variables.contains(name); };
    FlatSymbolRefAttr group;
    for (const DividedUpdates &updates : steps)
      for (WaitOp sum : updates.getSums())
        group = sum.getStart().getGroupAttr();
    for (const DividedUpdates &updates : steps)
      divideStep(updates, replicas, group, isDivided);
    for (auto &[name, variable] : variables) {
      auto type = cast<RankedTensorType>(variable.getType());
      RankedTensorType part = getPartType(type, replicas);
      std::string text = textOf(variable) + " is divided: each of " +
                         countText(replicas, "replica") +
                         " stores and updates " + bytesText(getByteSize(part));
      if (int64_t padding =
              part.getNumElements() * replicas - type.getNumElements())
        text += "; the parts end with " + countText(padding, "element") +
                " of padding, for which its gradient is copied, and its value "
                "where a step gathers it";
      remark::passed(updated.find(name)->second,
                     decision(Stage::Simplify, "Divided", name))
          << text;
      if (ElementsAttr initial = variable.getInitialAttr())
        variable.setInitialAttr(
            cast<SplatElementsAttr>(initial).resizeSplat(part));
      variable.setWholeShape(type.getShape());
      variable.setType(part);
    }
    for (const DividedUpdates &updates : steps)
      joinPieces(updates.getFunction());
  }

  ModuleOp module;
  int64_t replicas = 0;
  std::vector<DividedUpdates> steps;
  /// Where each variable gets a new value that depends on sums.
  llvm::DenseMap<StringAttr, Location> updated;
  /// Why variables are not divided.
  llvm::DenseMap<StringAttr, std::string> reasons;
  /// Those that are divided.
  llvm::MapVector<StringAttr, replica::VariableOp> variables;
};

} // namespace
} // namespace lockstep
