//===- StorageAssigner.h - Assign values to storages ------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_STORAGEASSIGNER_H
#define LOCKSTEP_PASSES_MEMORY_STORAGEASSIGNER_H

#include "passes/Memory/Lifetimes.h"
#include "passes/Memory/PreferredStorages.h"
#include "passes/Memory/Storage.h"

namespace lockstep {

/// Visits the operations of a step once, in program order, and assigns each
/// value to a storage. Loops and branches are in StorageControlFlow.cpp, other
/// operations in Storage.cpp. Errors are emitted at operations that a step does
/// not support.
class StorageAssigner {
public:
  StorageAssigner(mlir::func::FuncOp step, int64_t replicas, bool reuse,
                  StepLayout &layout);

  llvm::FailureOr<StoragePlan> run();

private:
  //===--------------------------------------------------------------------===//
  // Storages
  //===--------------------------------------------------------------------===//

  /// The memory space of a computed value: one per process, or one per replica.
  device::Space spaceOf(mlir::Value value) const;
  StorageId createStorage(device::Space space, int64_t size);
  /// A storage at a predetermined address.
  StorageId createFixed(Place place, mlir::Value value);
  /// Records that `value` is in `id` from position `begin` until its last use.
  void hold(mlir::Value value, StorageId id, int64_t begin);
  /// Extends the live range of `id` to include positions `begin` to `end`.
  void extend(StorageId id, int64_t begin, int64_t end);
  void copyBefore(mlir::Operation *op, mlir::Value source,
                  StorageId destination);
  void assignArguments();
  /// Requests that the new values of variables are computed in the variables.
  void preferVariables();
  /// Copies the new value of a variable that other workers change to it
  /// directly after `invoke`, if possible.
  void storeAtOnce(device::InvokeOp invoke, mlir::OpResult result,
                   const PreferredStorage &target);

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  llvm::LogicalResult assignBlock(mlir::Block &block);
  /// Views, and constants; an error for operations that a step does not
  /// support.
  llvm::LogicalResult assignOther(mlir::Operation *op);
  llvm::LogicalResult assign(device::InvokeOp invoke);
  /// The storage of the operand in whose memory `result` may be computed, if
  /// the operand is dead afterwards.
  std::optional<StorageId> reuseOperandStorage(device::InvokeOp invoke,
                                               device::KernelOp kernel,
                                               mlir::OpResult result);
  /// A batch is valid until the next one is loaded.
  llvm::LogicalResult assign(device::LoadBatchOp load);
  llvm::LogicalResult assign(collective::StartOp start);
  int64_t createBucket();
  /// Appends `id` to the members of `bucket`.
  void joinBucket(int64_t bucket, StorageId id);
  llvm::LogicalResult assign(collective::WaitOp) { return llvm::success(); }

  //===--------------------------------------------------------------------===//
  // Loops and branches
  //===--------------------------------------------------------------------===//

  /// The storage of a loop-carried value, which contains `init` before the
  /// loop.
  StorageId assignCarried(mlir::Operation *loop, mlir::Value init,
                          mlir::Value argument, mlir::OpResult result = {});
  /// Whether `init` (the initial value, not the carried one in its memory) is
  /// not read after the start of the loop.
  bool isOnlyCarried(mlir::Operation *loop, mlir::Value init) const;
  /// Whether the loop may use the memory of `init` for the carried value: a
  /// result of a kernel without other uses.
  bool mayCarry(mlir::Operation *loop, mlir::Value init,
                device::Space space) const;
  /// Copies the values that `terminator` yields to `destinations`, unless they
  /// are computed there.
  void copyYielded(mlir::Operation *terminator, mlir::ValueRange yielded,
                   llvm::ArrayRef<StorageId> destinations);
  llvm::LogicalResult assign(mlir::scf::ForOp loop);
  /// The storage of a variable, if the branch may compute `result`, its new
  /// value, in place.
  std::optional<StorageId> branchInPlace(mlir::scf::IfOp branch,
                                         mlir::OpResult result);
  llvm::LogicalResult assign(mlir::scf::IfOp branch);
  llvm::LogicalResult assign(mlir::scf::WhileOp loop);
  /// Emits an error at `op` if a value that it carries is not a tensor of
  /// static shape.
  llvm::LogicalResult expectTensor(mlir::Operation *op,
                                   mlir::Value carriedValue);

  //===--------------------------------------------------------------------===//
  // The end of the step
  //===--------------------------------------------------------------------===//

  void assignReturn(mlir::func::ReturnOp returnOp);
  /// Whether the memory of `value` still contains it after the step.
  bool keepsOutput(mlir::Value value) const;
  /// The storage from which the host reads an output after the step. A value in
  /// memory that may change (inputs, scalars), or the old value of a variable,
  /// is copied first.
  StorageId assignOutput(mlir::func::ReturnOp returnOp, mlir::Value value);

  mlir::func::FuncOp step;
  int64_t replicas;
  bool reuse;
  StepLayout &layout;
  Lifetimes lifetimes;
  UniformityAnalysis uniformity;
  StoragePlan plan;
  /// Values that are stored once per process.
  llvm::DenseSet<mlir::Value> shared;
  /// The variables' values before the step, by their names: a variable that is
  /// assigned is an argument.
  llvm::StringMap<mlir::BlockArgument> variables;
  /// The new values of assigned variables, by their storages.
  llvm::DenseMap<StorageId, mlir::Value> nextValues;
  PreferredStorages preferred;
  /// Values that have been copied to their preferred storage, in addition to
  /// their own.
  llvm::DenseSet<std::pair<mlir::Value, StorageId>> stored;
  /// Storages of loop-carried values.
  llvm::DenseSet<StorageId> carried;
};

} // namespace lockstep

#endif // LOCKSTEP_PASSES_MEMORY_STORAGEASSIGNER_H
