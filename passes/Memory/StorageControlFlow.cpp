//===- StorageControlFlow.cpp - Storages of loops and branches ------------===//
//
// A loop-carried value, or a result of a branch, is in one storage during the
// whole loop or branch; the yielded values are computed there, or copied.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/StorageAssigner.h"

using namespace lockstep;
using namespace mlir;

StorageId StorageAssigner::assignCarried(Operation *loop, Value init,
                                         Value argument, OpResult result) {
  StorageId initial = plan.storageOf.at(init);
  if (std::optional<StorageId> variable =
          result ? preferred.variableInPlace(loop, result, init,
                                             /*isAllowed=*/false)
                 : std::nullopt;
      variable && isOnlyCarried(loop, init)) {
    plan.storageOf[argument] = *variable;
    return *variable;
  }
  if (mayCarry(loop, init, spaceOf(argument))) {
    carried.insert(initial);
    extend(initial, lifetimes.getFirst(loop), lifetimes.getLast(loop));
    plan.storageOf[argument] = initial;
    return initial;
  }
  StorageId id = createStorage(spaceOf(argument), getByteSize(argument));
  carried.insert(id);
  copyBefore(loop, init, id);
  extend(id, lifetimes.getFirst(loop), lifetimes.getLast(loop));
  plan.storageOf[argument] = id;
  return id;
}

bool StorageAssigner::isOnlyCarried(Operation *loop, Value init) const {
  return llvm::all_of(init.getUsers(), [&](Operation *user) {
    return user == loop ||
           (lifetimes.getLast(user) < lifetimes.getFirst(loop) &&
            !isView(user));
  });
}

bool StorageAssigner::mayCarry(Operation *loop, Value init,
                               device::Space space) const {
  const Storage &storage = plan.storages[plan.storageOf.at(init)];
  return init.getDefiningOp<device::InvokeOp>() && init.hasOneUse() &&
         init.getParentBlock() == loop->getBlock() && !storage.fixed &&
         storage.bucket < 0 && storage.space == space &&
         !carried.contains(plan.storageOf.at(init));
}

void StorageAssigner::copyYielded(Operation *terminator, ValueRange yielded,
                                  ArrayRef<StorageId> destinations) {
  // A source that is the destination of another copy is copied through a
  // temporary.
  for (auto [value, destination] : llvm::zip_equal(yielded, destinations)) {
    StorageId source = plan.storageOf.at(value);
    if (source == destination || stored.contains({value, destination}))
      continue;
    if (!llvm::is_contained(destinations, source)) {
      copyBefore(terminator, value, destination);
      continue;
    }
    StorageId temporary = createStorage(isPrivate(plan.storages[source].space)
                                            ? device::Space::Replica
                                            : device::Space::Shared,
                                        getByteSize(value));
    int64_t position = lifetimes.getFirst(terminator);
    extend(temporary, position, position);
    std::vector<StorageCopy> &copies = plan.copiesBefore[terminator];
    copies.insert(copies.begin(),
                  {source, temporary, value, terminator->getLoc()});
    copies.push_back({temporary, destination, value, terminator->getLoc()});
  }
}

LogicalResult StorageAssigner::assign(scf::ForOp loop) {
  std::vector<StorageId> ids;
  for (auto [init, argument, result, yielded] :
       llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(),
                       loop.getResults(), loop.getYieldedValues())) {
    if (failed(expectTensor(loop, argument)))
      return failure();
    ids.push_back(assignCarried(loop, init, argument, cast<OpResult>(result)));
    hold(result, ids.back(), lifetimes.getLast(loop));
    preferred.prefer(yielded, ids.back(), {argument});
  }
  if (failed(assignBlock(*loop.getBody())))
    return failure();
  copyYielded(loop.getBody()->getTerminator(), loop.getYieldedValues(), ids);
  return success();
}

std::optional<StorageId> StorageAssigner::branchInPlace(scf::IfOp branch,
                                                        OpResult result) {
  const PreferredStorage *target = preferred.find(result);
  if (!target || target->residents.empty())
    return std::nullopt;
  // Otherwise each replica would write the variable.
  bool isOnce = replicas == 1 || shared.contains(result);
  return preferred.variableInPlace(branch, result, target->residents.front(),
                                   /*isAllowed=*/isOnce);
}

LogicalResult StorageAssigner::assign(scf::IfOp branch) {
  std::vector<StorageId> ids;
  std::vector<SmallVector<Value>> residents;
  for (OpResult result : branch.getResults()) {
    if (failed(expectTensor(branch, result)))
      return failure();
    std::optional<StorageId> variable = branchInPlace(branch, result);
    ids.push_back(variable
                      ? *variable
                      : createStorage(spaceOf(result), getByteSize(result)));
    residents.push_back(variable ? preferred.find(result)->residents
                                 : SmallVector<Value>());
    extend(ids.back(), lifetimes.getFirst(branch), lifetimes.getLast(branch));
    hold(result, ids.back(), lifetimes.getLast(branch));
  }
  for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    if (region->empty())
      continue;
    Operation *yield = region->front().getTerminator();
    for (auto [yielded, id, before] :
         llvm::zip_equal(yield->getOperands(), ids, residents))
      preferred.prefer(yielded, id, before);
    if (failed(assignBlock(region->front())))
      return failure();
    copyYielded(yield, yield->getOperands(), ids);
  }
  return success();
}

LogicalResult StorageAssigner::assign(scf::WhileOp loop) {
  std::vector<StorageId> ids;
  for (auto [init, argument] :
       llvm::zip_equal(loop.getInits(), loop.getBeforeArguments())) {
    if (failed(expectTensor(loop, argument)))
      return failure();
    ids.push_back(assignCarried(loop, init, argument));
  }
  if (failed(assignBlock(*loop.getBeforeBody())))
    return failure();
  for (auto [forwarded, argument, result] :
       llvm::zip_equal(loop.getConditionOp().getArgs(),
                       loop.getAfterArguments(), loop.getResults())) {
    StorageId id = plan.storageOf.at(forwarded);
    hold(argument, id, lifetimes.getFirst(loop));
    hold(result, id, lifetimes.getFirst(loop));
    extend(id, lifetimes.getFirst(loop), lifetimes.getLast(loop));
  }
  // A carried value may be overwritten when the arguments of the after-region
  // in its storage have been read.
  for (auto [i, yielded] : llvm::enumerate(loop.getYieldOp()->getOperands())) {
    SmallVector<Value> residents;
    for (BlockArgument argument : loop.getAfterArguments())
      if (plan.storageOf.at(argument) == ids[i])
        residents.push_back(argument);
    preferred.prefer(yielded, ids[i], residents);
  }
  if (failed(assignBlock(*loop.getAfterBody())))
    return failure();
  copyYielded(loop.getYieldOp(), loop.getYieldOp()->getOperands(), ids);
  return success();
}

LogicalResult StorageAssigner::expectTensor(Operation *op, Value carriedValue) {
  if (auto type = dyn_cast<RankedTensorType>(carriedValue.getType());
      type && type.hasStaticShape())
    return success();
  return op->emitError("expected values that loops and branches of a step "
                       "carry to be tensors of static shape, found ")
         << carriedValue.getType();
}
