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
  /// With `keepsOrder`, collectives keep their order. With `sharesProcess`, the
  /// topology has all replicas in one process.
  ScheduleRemarks(mlir::Block &block, llvm::StringRef function, bool keepsOrder,
                  bool sharesProcess);
  void emit();

private:
  void explain(collective::StartOp start);
  void explainOrder(collective::StartOp start, collective::StartOp previous);
  void explainMembers(collective::StartOp start);
  /// Why no kernel hides the collective of the wait.
  std::string reasonOfExposure(collective::WaitOp wait) const;
  unsigned position(mlir::Operation *op) const { return positions.lookup(op); }
  /// The kernels before a position.
  size_t kernelsBefore(unsigned end) const { return kernelsUpTo[end]; }
  /// The kernels at positions between `first` and `last`, both excluded.
  llvm::ArrayRef<device::InvokeOp> kernelsBetween(unsigned first,
                                                  unsigned last) const;
  /// The operation that computes the last operand, or null if all come from
  /// outside of the block.
  mlir::Operation *lastProducer(collective::StartOp start) const;
  /// The operation of the block that computes `value`, before it is reshaped,
  /// or null if it comes from outside.
  mlir::Operation *producerOf(mlir::Value value) const;

  mlir::Block &block;
  llvm::StringRef function;
  bool keepsOrder, sharesProcess;
  /// For each start, the number of kernels that were before it as written.
  llvm::DenseMap<mlir::Operation *, size_t> before;
  /// The operations and the kernels, as scheduled.
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<device::InvokeOp> kernels;
  /// For each position, the number of kernels before it.
  llvm::SmallVector<size_t> kernelsUpTo = {0};
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
};

} // namespace lockstep

#endif
