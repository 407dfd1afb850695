//===- ScheduleRemarks.h - Remarks about the schedule -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_SCHEDULE_SCHEDULEREMARKS_H
#define LOCKSTEP_PASSES_SCHEDULE_SCHEDULEREMARKS_H

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"

#include "llvm/ADT/DenseMap.h"

namespace lockstep {

/// Emits remarks about the schedule of a block. Constructed before scheduling;
/// `emit` is called afterwards.
class ScheduleRemarks {
public:
  /// With `keepsOrder`, collectives keep their order.
  ScheduleRemarks(mlir::Block &block, llvm::StringRef function,
                  bool keepsOrder);
  void emit();

private:
  void explain(collective::StartOp start);
  void explainOrder(collective::StartOp start);
  void explainMembers(collective::StartOp start);
  unsigned position(mlir::Operation *op) const { return positions.lookup(op); }
  /// The kernels at positions between `first` and `last`, both excluded.
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
  bool keepsOrder;
  /// The kernels in the original order, and for each start, the number of
  /// kernels that were before it.
  llvm::SmallVector<mlir::Operation *> kernels;
  llvm::DenseMap<mlir::Operation *, size_t> before;
  llvm::SmallVector<mlir::Operation *> ops;
  /// For each position, the number of kernels before it.
  llvm::SmallVector<size_t> kernelsUpTo = {0};
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
};

} // namespace lockstep

#endif
