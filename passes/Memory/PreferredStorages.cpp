//===- PreferredStorages.cpp - Preferred storages of values ---------------===//

#include "passes/Memory/PreferredStorages.h"

#include "passes/Memory/Sizes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace lockstep;
using namespace mlir;

bool PreferredStorages::mayUse(device::InvokeOp invoke, OpResult result,
                               const PreferredStorage &target) const {
  const Storage &storage = plan.storages[target.storage];
  bool isOnce = replicas == 1 || plan.once.contains(invoke);
  if ((storage.space == device::Space::Variable ||
       storage.space == device::Space::Shared) &&
      !isOnce)
    return false;
  if (isPrivate(storage.space) && plan.once.contains(invoke))
    return false;
  for (Value resident : target.residents) {
    if (resident.getParentBlock() != invoke->getBlock() &&
        !isa<BlockArgument>(resident))
      return false;
    if (!mayOverwrite(invoke, result, resident))
      return false;
  }
  return true;
}

bool PreferredStorages::mayOverwrite(device::InvokeOp invoke, OpResult result,
                                     Value resident) const {
  if (lifetimes.getLastUse(resident) < lifetimes.getFirst(invoke))
    return true;
  if (isReadLater(resident, invoke))
    return false;
  // What reads it later is on another side of a branch.
  StorageId storage = plan.storageOf.at(resident);
  if (llvm::none_of(invoke->getOperands(), [&](Value operand) {
        auto it = plan.storageOf.find(operand);
        return it != plan.storageOf.end() && it->second == storage;
      }))
    return true;
  // The invocation itself reads `resident`: allowed only for the operand in
  // whose memory the result may be computed.
  auto kernel = symbols.lookupNearestSymbolFrom<device::KernelOp>(
      invoke, invoke.getKernelAttr());
  std::optional<unsigned> operand =
      kernel.getInPlaceArgument(result.getResultNumber());
  return operand && invoke.getOperand(*operand) == resident &&
         llvm::count(invoke->getOperands(), resident) == 1 &&
         llvm::none_of(resident.getUsers(), isView);
}

/// Whether the two operations are on different sides of a branch.
static bool areExclusive(Operation *a, Operation *b) {
  for (auto branch = b->getParentOfType<scf::IfOp>(); branch;
       branch = branch->getParentOfType<scf::IfOp>())
    if (branch->isProperAncestor(a))
      return branch.getThenRegion().isAncestor(a->getParentRegion()) !=
             branch.getThenRegion().isAncestor(b->getParentRegion());
  return false;
}

/// Whether `value` may be read after `op`.
bool PreferredStorages::isReadLater(Value value, Operation *op) const {
  if (lifetimes.getLastUse(value) <= lifetimes.getFirst(op))
    return false;
  // The next iteration of a loop may read a value that is defined outside of
  // the loop.
  auto loop = op->getParentOfType<LoopLikeOpInterface>();
  if (loop && !loop->isAncestor(value.getParentBlock()->getParentOp()))
    return true;
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isView(user) || (lifetimes.getLast(user) > lifetimes.getFirst(op) &&
                         !areExclusive(user, op)))
      return true;
    // A condition or bound is read where the extracted scalar is used.
    return user->getNumResults() == 1 &&
           user->getResult(0).getType().isIntOrIndexOrFloat() &&
           isReadLater(user->getResult(0), op);
  });
}

bool PreferredStorages::isStoredAtOnce(device::InvokeOp invoke,
                                       const PreferredStorage &target) const {
  return isChangedByOthers(target.storage) &&
         llvm::none_of(target.residents, [&](Value resident) {
           return isReadLater(resident, invoke);
         });
}

std::optional<StorageId>
PreferredStorages::variableInPlace(Operation *op, OpResult result, Value init,
                                   bool isAllowed) const {
  const PreferredStorage *target = find(result);
  if (!target || plan.storageOf.at(init) != target->storage ||
      plan.storages[target->storage].space != device::Space::Variable)
    return std::nullopt;
  if (isChangedByOthers(target->storage) ? replicas != 1 : !isAllowed)
    return std::nullopt;
  for (Value resident : target->residents)
    if (lifetimes.getLastUse(resident) > lifetimes.getLast(op))
      return std::nullopt;
  return target->storage;
}
