//===- ReadyTimes.h - When operands of collectives are ready ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_READYTIMES_H
#define LOCKSTEP_PASSES_ANALYSIS_READYTIMES_H

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Analysis/OperationTimes.h"

namespace lockstep {

/// Estimates the seconds at which the operands of the collectives of a block
/// are computed, counted from the start of the block. A replica executes the
/// block in order, and an operation that reads the result of a collective waits
/// for it.
class ReadyTimes {
public:
  ReadyTimes(mlir::Block &block, OperationTimes &times);

  double of(collective::StartOp start) const { return ready.lookup(start); }
  /// When the block has been executed.
  double getEnd() const { return now; }
  /// The seconds of the kernels before the first one that reads a result of
  /// `start`; of all kernels if none does.
  double neededAt(collective::StartOp start) const {
    auto it = needed.find(start);
    return it == needed.end() ? computed : it->second.ofKernels;
  }
  /// When the block reaches the first operation that reads a result of
  /// `start`, before it waits for it; its end if none does.
  double readAt(collective::StartOp start) const {
    auto it = needed.find(start);
    return it == needed.end() ? now : it->second.fromBegin;
  }

private:
  void visit(mlir::Operation *op);
  /// Waits for the collectives whose results `op` reads.
  void waitForOperands(mlir::Operation *op);
  /// Notes that an operation at this point needs the results of collectives on
  /// which `op` depends, or that `op`, which takes no time, passes them on.
  void need(mlir::Operation *op, bool takesTime);
  /// Calls `use` with the end of each collective that `op` depends on.
  void forOperandArrivals(mlir::Operation *op,
                          llvm::function_ref<void(double)> use) const;

  OperationTimes &times;
  /// When the replica has executed the operations so far.
  double now = 0;
  /// The link with the collectives that they have started.
  runtime::LinkTimeline link;
  /// The seconds of the kernels so far, without waits.
  double computed = 0;
  llvm::DenseMap<mlir::Operation *, double> ready;
  /// For each wait, the end of its collective; for an operation that takes no
  /// time, the last end among those that it depends on.
  llvm::DenseMap<mlir::Operation *, double> arrival;
  /// When the result of a collective is first needed.
  struct FirstNeed {
    /// With and without the waits before it.
    double fromBegin = 0, ofKernels = 0;
  };
  llvm::DenseMap<mlir::Operation *, FirstNeed> needed;
  /// For waits, and operations that take no time, the collectives on which they
  /// depend and which nothing before has needed.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 1>>
      carried;
};

/// The sum of the seconds that the model of `topology` predicts for the steps
/// of a module, those of its functions that assign variables.
double predictStepSeconds(mlir::ModuleOp module,
                          const runtime::Topology &topology, int64_t replicas);

} // namespace lockstep

#endif
