//===- PreferredStorages.h - Preferred storages of values -------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_PREFERREDSTORAGES_H
#define LOCKSTEP_PASSES_MEMORY_PREFERREDSTORAGES_H

#include "dialect/Replica/Strategy.h"
#include "passes/Memory/Lifetimes.h"
#include "passes/Memory/Storage.h"

#include <optional>

namespace lockstep {

/// The storage in which a value should be computed to avoid a copy: that of a
/// variable for its new value, or of a loop-carried value for the yielded one.
struct PreferredStorage {
  StorageId storage;
  /// Values that are in the storage before.
  mlir::SmallVector<mlir::Value> residents;
};

/// The preferred storages of values, and whether these may be computed there.
///
/// With asynchronous workers, others may change variables at any time. Then a
/// step must not work on a copy and store it at the end, because it would
/// overwrite concurrent updates. The read and the write of a variable stay
/// close together, without a wait in between, and a path that does not change
/// a variable does not store it.
class PreferredStorages {
public:
  /// All arguments must outlive the object; `plan` may grow. `symbols` finds
  /// kernels.
  PreferredStorages(const Lifetimes &lifetimes, const StoragePlan &plan,
                    int64_t replicas,
                    const replica::StrategyProperties &strategy,
                    mlir::SymbolTableCollection &symbols)
      : lifetimes(lifetimes), plan(plan), replicas(replicas),
        strategy(strategy), symbols(symbols) {}

  /// Requests that `value` is computed in `storage`. The first request for a
  /// value has priority.
  void prefer(mlir::Value value, StorageId storage,
              mlir::ArrayRef<mlir::Value> residents) {
    preferences.try_emplace(
        value,
        PreferredStorage{storage, mlir::SmallVector<mlir::Value>(residents)});
  }
  /// The preferred storage of a value; null if there is none. Valid until the
  /// next call of `prefer`.
  const PreferredStorage *find(mlir::Value value) const {
    auto it = preferences.find(value);
    return it == preferences.end() ? nullptr : &it->second;
  }

  /// Whether `result` of `invoke` may be computed in its preferred storage: all
  /// values in it are dead, or are read by the invocation itself at the
  /// positions that it writes.
  bool mayUse(device::InvokeOp invoke, mlir::OpResult result,
              const PreferredStorage &target) const;

  bool isChangedByOthers(StorageId id) const {
    return plan.storages[id].space == device::Space::Variable &&
           !strategy.collectivesCrossWorkers;
  }
  /// Whether a new value that `invoke` computes in other memory must be copied
  /// to the variable directly after it: other workers change the variable, and
  /// its old value is not read later.
  bool isStoredAtOnce(device::InvokeOp invoke,
                      const PreferredStorage &target) const;
  /// The storage of the variable whose new value is `result` of the loop or
  /// branch `op`, if `op` may update it in place: `init` is its old value,
  /// which is dead after the operation. If no others change the variable, that
  /// is an optimization, which the caller allows.
  std::optional<StorageId> variableInPlace(mlir::Operation *op,
                                           mlir::OpResult result,
                                           mlir::Value init,
                                           bool isAllowed) const;

private:
  bool mayOverwrite(device::InvokeOp invoke, mlir::OpResult result,
                    mlir::Value resident) const;
  bool isReadLater(mlir::Value value, mlir::Operation *op) const;

  const Lifetimes &lifetimes;
  const StoragePlan &plan;
  int64_t replicas;
  const replica::StrategyProperties &strategy;
  mlir::SymbolTableCollection &symbols;
  llvm::DenseMap<mlir::Value, PreferredStorage> preferences;
};

} // namespace lockstep

#endif // LOCKSTEP_PASSES_MEMORY_PREFERREDSTORAGES_H
