//===- ReadyTimes.h - When operands of collectives are ready ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_BUCKET_READYTIMES_H
#define LOCKSTEP_PASSES_BUCKET_READYTIMES_H

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Analysis/OperationTimes.h"

namespace lockstep {

/// Estimates the seconds at which the operands of the collectives of a block
/// are computed, counted from the start of the block. A replica executes the
/// block in order, and an operation that reads the result of a collective waits
/// for it. Collectives occupy the link one after the other.
class ReadyTimes {
public:
  ReadyTimes(mlir::Block &block, OperationTimes &times);

  double of(collective::StartOp start) const { return ready.lookup(start); }

private:
  void visit(mlir::Operation *op);
  /// Waits for the collectives whose results `op` reads.
  void waitForOperands(mlir::Operation *op);
  /// Calls `use` with the end of each collective that `op` depends on.
  void forOperandArrivals(mlir::Operation *op,
                          llvm::function_ref<void(double)> use) const;

  OperationTimes &times;
  /// When the replica has executed the operations so far, and when the link has
  /// transferred what they have started.
  double now = 0, linkFree = 0;
  llvm::DenseMap<mlir::Operation *, double> ready;
  /// For each wait, the end of its collective; for an operation that takes no
  /// time, the last end among those that it depends on.
  llvm::DenseMap<mlir::Operation *, double> arrival;
};

} // namespace lockstep

#endif
