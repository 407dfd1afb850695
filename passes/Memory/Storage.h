//===- Storage.h - Assignment of values to storages -------------*- C++ -*-===//
//
// A storage is a range of bytes that contains one or several values of a step,
// one after the other. Values are first assigned to storages (this file), then
// offsets are chosen (Placement.h), then the step is converted to device IR
// (BuildProgram.h).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_MEMORY_STORAGE_H
#define LOCKSTEP_PASSES_MEMORY_STORAGE_H

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Memory/Layout.h"
#include "passes/Memory/Sizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

namespace lockstep {

using StorageId = unsigned;

/// A range of memory. `begin` and `end` are positions in the program that
/// delimit its live range.
struct Storage {
  device::Space space = device::Space::Replica;
  /// Whether the offset is predetermined (variables, inputs, constants).
  bool fixed = false;
  int64_t offset = 0;
  int64_t size = 0;
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = -1;
  /// The bucket that contains it, or -1, and its offset in the bucket in bytes.
  int64_t bucket = -1;
  int64_t bucketOffset = 0;
};

/// Storages that are contiguous, because one collective reads or writes all of
/// them.
struct BucketStorage {
  std::vector<StorageId> members;
  int64_t size = 0;
};

/// A copy of `value` between storages.
struct StorageCopy {
  StorageId source;
  StorageId destination;
  mlir::Value value;
  mlir::Location location;
};

/// The storages of one step.
struct StoragePlan {
  std::vector<Storage> storages;
  std::vector<BucketStorage> buckets;
  llvm::DenseMap<mlir::Value, StorageId> storageOf;
  /// Copies before an operation: to buckets, to loop-carried values, at the end
  /// of blocks.
  llvm::DenseMap<mlir::Operation *, std::vector<StorageCopy>> copiesBefore;
  /// The storages of the operands of a start, after copies.
  llvm::DenseMap<mlir::Operation *, std::vector<StorageId>> startOperands;
  /// The storages of the results that the host reads, by their numbers.
  llvm::DenseMap<unsigned, StorageId> outputs;
  /// Kernel invocations that one replica executes for all.
  llvm::DenseSet<mlir::Operation *> once;
  /// The scratch memory of an invocation.
  llvm::DenseMap<mlir::Operation *, StorageId> scratch;
};

/// Assigns the values of `step` to storages. `layout` has the addresses of
/// variables, inputs, scalars and constants.
llvm::FailureOr<StoragePlan> assignStorages(mlir::func::FuncOp step,
                                            int64_t replicas, bool reuse,
                                            StepLayout &layout);

/// Whether `space` is private to each replica, which may write to it without
/// synchronization.
inline bool isPrivate(device::Space space) {
  return space == device::Space::Replica ||
         space == device::Space::ReplicaVariable;
}

} // namespace lockstep

#endif
