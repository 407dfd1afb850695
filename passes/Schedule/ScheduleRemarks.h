//===- ScheduleRemarks.h - Why collectives stand where they do --*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_SCHEDULE_SCHEDULEREMARKS_H
#define LOCKSTEP_PASSES_SCHEDULE_SCHEDULEREMARKS_H

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"

#include "llvm/ADT/DenseMap.h"

namespace lockstep {

/// Explains the schedule of a block: constructed before it is made, asked for
/// remarks afterwards.
class ScheduleRemarks {
public:
  ScheduleRemarks(mlir::Block &block, llvm::StringRef function);
  void emit();

private:
  void explain(collective::StartOp start);
  void explainOrder(collective::StartOp start);
  void explainMembers(collective::StartOp start);
  unsigned position(mlir::Operation *op) const { return positions.lookup(op); }
  /// The kernels at positions from `first` to `last`, both left out.
  llvm::SmallVector<device::InvokeOp> kernelsBetween(unsigned first,
                                                     unsigned last) const;
  size_t kernelsBefore(unsigned end) const;
  /// The operation that computes the last operand, or null if all come from
  /// outside of the block.
  mlir::Operation *lastProducer(collective::StartOp start) const;
  /// The operation of the block that computes `value`, or null if it comes from
  /// outside.
  mlir::Operation *producerOf(mlir::Value value) const;

  mlir::Block &block;
  llvm::StringRef function;
  /// The kernels in the order in which they stood, and for each start, how many
  /// of them stood before it.
  llvm::SmallVector<mlir::Operation *> kernels;
  llvm::DenseMap<mlir::Operation *, size_t> before;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
};

} // namespace lockstep

#endif
