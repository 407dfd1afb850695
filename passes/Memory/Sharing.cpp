//===- Sharing.cpp - Values shared by the replicas of a process -----------===//

#include "passes/Memory/Sharing.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Memory/Sizes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace lockstep;
using namespace mlir;

namespace {

class SharingFinder {
public:
  explicit SharingFinder(const UniformityAnalysis &uniformity)
      : uniformity(uniformity) {}

  Sharing find(func::FuncOp step, const ModuleLayout &layout) {
    llvm::DenseSet<Value> assigned;
    auto returnOp =
        cast<func::ReturnOp>(step.getBody().front().getTerminator());
    for (auto [i, value] : llvm::enumerate(returnOp.getOperands()))
      if (auto binding = step.getResultAttrOfType<device::BindingAttr>(
              i, "device.binding");
          binding.getKind() == device::BindingKind::Variable &&
          layout.getVariable(binding.getName()).space ==
              device::Space::Variable)
        assign(value, assigned);
    // Loops carry results to the next iteration: iterate to a fixed point.
    for (changed = true; changed;) {
      changed = false;
      step.walk([&](Operation *op) {
        visit(op, assigned);
        shareCarried(op);
      });
    }
    return std::move(sharing);
  }

private:
  /// Adds a new value of a variable; that of a branch is computed on a side.
  static void assign(Value value, llvm::DenseSet<Value> &assigned) {
    auto branch = value.getDefiningOp<scf::IfOp>();
    if (!assigned.insert(value).second || !branch)
      return;
    unsigned result = cast<OpResult>(value).getResultNumber();
    for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
      assign(yield.getOperand(result), assigned);
  }

  void share(Value value) {
    changed |=
        uniformity.isUniform(value) && sharing.values.insert(value).second;
  }

  void visit(Operation *op, const llvm::DenseSet<Value> &assigned) {
    bool isShared = isa<collective::WaitOp>(op) ||
                    llvm::any_of(op->getOperands(), [&](Value v) {
                      return sharing.values.contains(v);
                    });
    if (auto invoke = dyn_cast<device::InvokeOp>(op)) {
      isShared |= llvm::any_of(op->getResults(),
                               [&](Value v) { return assigned.contains(v); });
      isShared &= llvm::all_of(
          op->getResults(), [&](Value v) { return uniformity.isUniform(v); });
      changed |= isShared && sharing.once.insert(op).second;
    }
    // `share` skips values that are not uniform, such as results of collectives
    // of a part of the ranks.
    if (isShared &&
        (isa<collective::WaitOp, device::InvokeOp>(op) || isView(op)))
      for (Value result : op->getResults())
        share(result);
  }

  /// Values that loops and branches yield are stored once if they are uniform
  /// and some yielded value is.
  void shareCarried(Operation *op) {
    auto carry = [&](Value from, Value to) {
      if (sharing.values.contains(from))
        share(to);
    };
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [yielded, argument, result] :
           llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs(),
                           loop.getResults())) {
        carry(yielded, argument);
        carry(argument, result);
      }
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
        if (!region->empty() && branch.getNumResults() > 0)
          for (auto [yielded, result] :
               llvm::zip_equal(region->front().getTerminator()->getOperands(),
                               branch.getResults()))
            carry(yielded, result);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [yielded, argument] : llvm::zip_equal(
               loop.getYieldOp()->getOperands(), loop.getBeforeArguments()))
        carry(yielded, argument);
      for (auto [forwarded, argument, result] :
           llvm::zip_equal(loop.getConditionOp().getArgs(),
                           loop.getAfterArguments(), loop.getResults())) {
        carry(forwarded, argument);
        carry(forwarded, result);
      }
    }
  }

  const UniformityAnalysis &uniformity;
  Sharing sharing;
  bool changed = false;
};

} // namespace

Sharing lockstep::findSharing(func::FuncOp step, int64_t replicas,
                              const UniformityAnalysis &uniformity,
                              const ModuleLayout &layout) {
  return replicas == 1 ? Sharing()
                       : SharingFinder(uniformity).find(step, layout);
}
