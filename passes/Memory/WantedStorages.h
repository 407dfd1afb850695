//===- WantedStorages.h - Where values are needed in the end ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_WANTEDSTORAGES_H
#define LOCKSTEP_PASSES_MEMORY_WANTEDSTORAGES_H

#include "dialect/Replica/Strategy.h"
#include "passes/Memory/Lifetimes.h"
#include "passes/Memory/Storage.h"

#include <optional>

namespace lockstep {

/// A storage in which a value should be computed, because it is needed there in
/// the end: a variable's, of its next value; a loop's, of what it goes on with.
struct Wanted {
  StorageId storage;
  /// Values that are in the storage before.
  mlir::SmallVector<mlir::Value> residents;
};

/// What is wanted where, and whether it may be computed there.
///
/// Where workers take steps on their own, others change variables at any time.
/// Then a step must not work on a copy and store it in the end: it would undo
/// what others have done meanwhile. What reads and writes a variable stays
/// together, without a wait in between, and who changes nothing stores nothing.
class WantedStorages {
public:
  /// All must outlive the result; `plan` may grow. `symbols` finds kernels.
  WantedStorages(const Lifetimes &lifetimes, const StoragePlan &plan,
                 int64_t replicas, const replica::StrategyProperties &strategy,
                 mlir::SymbolTableCollection &symbols)
      : lifetimes(lifetimes), plan(plan), replicas(replicas),
        strategy(strategy), symbols(symbols) {}

  /// The first wish counts.
  void want(mlir::Value value, StorageId storage,
            mlir::ArrayRef<mlir::Value> residents) {
    wanted.try_emplace(
        value, Wanted{storage, mlir::SmallVector<mlir::Value>(residents)});
  }
  /// Where a value is wanted; null: anywhere. Valid until the next wish.
  const Wanted *find(mlir::Value value) const {
    auto it = wanted.find(value);
    return it == wanted.end() ? nullptr : &it->second;
  }

  /// Whether `result` of `invoke` may be computed into the storage it is wanted
  /// in: everything in there has been read, or is read by the invocation itself
  /// at the positions where it writes.
  bool mayTake(device::InvokeOp invoke, mlir::OpResult result,
               const Wanted &target) const;

  bool isChangedByOthers(StorageId id) const {
    return plan.storages[id].space == device::Space::Variable &&
           !strategy.collectivesCrossWorkers;
  }
  /// Whether what `invoke` computes beside a variable is to be stored there at
  /// once: others change it, and nobody reads the old value later.
  bool isStoredAtOnce(device::InvokeOp invoke, const Wanted &target) const;
  /// The variable that `result` of the loop or branch `op` is wanted in, if
  /// others change it and the operation may work on it in place of a copy:
  /// `init` is its old value, which nobody needs behind the operation.
  std::optional<StorageId> variableInPlace(mlir::Operation *op,
                                           mlir::OpResult result,
                                           mlir::Value init) const;

private:
  bool mayOverwrite(device::InvokeOp invoke, mlir::OpResult result,
                    mlir::Value resident) const;
  bool isReadLater(mlir::Value value, mlir::Operation *op) const;

  const Lifetimes &lifetimes;
  const StoragePlan &plan;
  int64_t replicas;
  const replica::StrategyProperties &strategy;
  mlir::SymbolTableCollection &symbols;
  llvm::DenseMap<mlir::Value, Wanted> wanted;
};

} // namespace lockstep

#endif // LOCKSTEP_PASSES_MEMORY_WANTEDSTORAGES_H
