//===- StorageAssigner.h - Finds the storages of a step ---------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_STORAGEASSIGNER_H
#define LOCKSTEP_PASSES_MEMORY_STORAGEASSIGNER_H

#include "passes/Memory/Lifetimes.h"
#include "passes/Memory/Storage.h"
#include "passes/Memory/WantedStorages.h"

namespace lockstep {

/// Goes through a step once, in program order, and gives each value a storage.
/// Loops and branches are in StorageControlFlow.cpp, all else in Storage.cpp.
/// Errors are emitted at the operation that has no place in a step.
class StorageAssigner {
public:
  StorageAssigner(mlir::func::FuncOp step, int64_t replicas, bool reuse,
                  StepLayout &layout);

  llvm::FailureOr<StoragePlan> run();

private:
  //===--------------------------------------------------------------------===//
  // Storages
  //===--------------------------------------------------------------------===//

  /// Where a value that is computed is stored: once a process, or once a
  /// replica.
  device::Space spaceOf(mlir::Value value) const;
  StorageId createStorage(device::Space space, int64_t size);
  /// A storage whose place is given.
  StorageId createFixed(Place place, mlir::Value value);
  /// Says that `value` is in `id` from position `begin` until its last use.
  void hold(mlir::Value value, StorageId id, int64_t begin);
  /// Says that `id` holds something needed from position `begin` to `end`.
  void extend(StorageId id, int64_t begin, int64_t end);
  void copyBefore(mlir::Operation *op, mlir::Value source,
                  StorageId destination);
  void assignArguments();
  /// Says that the next values of variables are wanted in the variables.
  void wantVariables();
  /// What is computed beside a variable that others change is stored at once,
  /// if it can be.
  void storeAtOnce(device::InvokeOp invoke, mlir::OpResult result,
                   const Wanted &target);

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  llvm::LogicalResult assignBlock(mlir::Block &block);
  /// Views, and constants; an error for what has no place in a step.
  llvm::LogicalResult assignOther(mlir::Operation *op);
  llvm::LogicalResult assign(device::InvokeOp invoke);
  /// The storage of the operand that `result` may take over, if nobody needs it
  /// afterwards.
  std::optional<StorageId> takeOver(device::InvokeOp invoke,
                                    device::KernelOp kernel,
                                    mlir::OpResult result);
  /// A batch is there until the next one is loaded.
  llvm::LogicalResult assign(device::LoadBatchOp load);
  llvm::LogicalResult assign(collective::StartOp start);
  int64_t createBucket();
  /// Puts `id` behind the other members of `bucket`.
  void joinBucket(int64_t bucket, StorageId id);
  llvm::LogicalResult assign(collective::WaitOp) { return llvm::success(); }

  //===--------------------------------------------------------------------===//
  // Loops and branches
  //===--------------------------------------------------------------------===//

  /// The storage of a value that a loop carries, with `init` in it before the
  /// loop.
  StorageId assignCarried(mlir::Operation *loop, mlir::Value init,
                          mlir::Value argument, mlir::OpResult result = {});
  /// Whether nobody reads `init` once the loop has begun: the value before it,
  /// not what is in its memory then.
  bool isOnlyCarried(mlir::Operation *loop, mlir::Value init) const;
  /// Whether the loop may work on the memory of `init` itself: a value of a
  /// kernel that nobody else reads.
  bool mayCarry(mlir::Operation *loop, mlir::Value init,
                device::Space space) const;
  /// Copies what `terminator` yields to `destinations`, where it is not
  /// computed there already.
  void copyYielded(mlir::Operation *terminator, mlir::ValueRange yielded,
                   llvm::ArrayRef<StorageId> destinations);
  llvm::LogicalResult assign(mlir::scf::ForOp loop);
  /// A branch whose result is a variable's next value works on the variable.
  std::optional<StorageId> branchInPlace(mlir::scf::IfOp branch,
                                         mlir::OpResult result);
  llvm::LogicalResult assign(mlir::scf::IfOp branch);
  llvm::LogicalResult assign(mlir::scf::WhileOp loop);
  /// An error at `op` if a value that it carries is no tensor of static shape.
  llvm::LogicalResult expectTensor(mlir::Operation *op,
                                   mlir::Value carriedValue);

  //===--------------------------------------------------------------------===//
  // The end of the step
  //===--------------------------------------------------------------------===//

  void assignReturn(mlir::func::ReturnOp returnOp);
  /// Whether `value` stays where it is after the step.
  bool keepsOutput(mlir::Value value) const;
  /// The host reads an output after the end: from memory of the program, which
  /// holds it till then. What belongs to others (inputs, scalars), and the old
  /// value of a variable, is copied first.
  StorageId assignOutput(mlir::func::ReturnOp returnOp, mlir::Value value);

  mlir::func::FuncOp step;
  int64_t replicas;
  bool reuse;
  StepLayout &layout;
  Lifetimes lifetimes;
  UniformityAnalysis uniformity;
  StoragePlan plan;
  /// Values that are stored once a process.
  llvm::DenseSet<mlir::Value> shared;
  /// The variables' values before the step, by their names: a variable that is
  /// assigned is an argument.
  llvm::StringMap<mlir::BlockArgument> variables;
  /// What the storages of variables hold after the step, if they are assigned.
  llvm::DenseMap<StorageId, mlir::Value> nextValues;
  WantedStorages wanted;
  /// Values that are in the storage they are wanted in already, besides their
  /// own.
  llvm::DenseSet<std::pair<mlir::Value, StorageId>> stored;
  /// Storages that hold loop-carried values.
  llvm::DenseSet<StorageId> carried;
};

} // namespace lockstep

#endif // LOCKSTEP_PASSES_MEMORY_STORAGEASSIGNER_H
