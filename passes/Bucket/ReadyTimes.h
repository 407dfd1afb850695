//===- ReadyTimes.h - When operands of collectives are ready ---*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_BUCKET_READYTIMES_H
#define LOCKSTEP_PASSES_BUCKET_READYTIMES_H

#include "dialect/Collective/CollectiveDialect.h"
#include "runtime/model/CostModel.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace lockstep {

/// How many bytes a collective transfers for each byte of its operands: f16 and
/// bf16 are reduced, and sent, as f32.
int64_t getWidening(collective::StartOp start);

/// Estimates the seconds at which the operands of the collectives of a block
/// are computed, counted from the start of the block. A replica executes the
/// block in order, and an operation that reads the result of a collective waits
/// for it. Collectives occupy the link one after the other.
class ReadyTimes {
public:
  ReadyTimes(mlir::Block &block, const runtime::Topology &topology,
             int64_t replicas, mlir::SymbolTableCollection &symbols);

  double of(collective::StartOp start) const { return ready.lookup(start); }

  /// Seconds of an operation, those in its regions included.
  double secondsOf(mlir::Operation *op);
  /// The number of ranks in the group of a collective.
  int64_t membersOf(collective::StartOp start);

private:
  void visit(mlir::Operation *op);
  double secondsOf(mlir::Region &region);
  double secondsOf(collective::StartOp start);
  /// Waits for the collectives whose results `op` reads.
  void waitForOperands(mlir::Operation *op);
  /// Calls `use` with the end of each collective that `op` depends on.
  void forOperandArrivals(mlir::Operation *op,
                          llvm::function_ref<void(double)> use) const;

  const runtime::Topology &topology;
  int64_t replicas;
  mlir::SymbolTableCollection &symbols;
  /// When the replica has executed the operations so far, and when the link has
  /// transferred what they have started.
  double now = 0, linkFree = 0;
  llvm::DenseMap<mlir::Operation *, double> ready;
  /// For each wait, the end of its collective; for an operation that takes no
  /// time, the last end among those that it depends on.
  llvm::DenseMap<mlir::Operation *, double> arrival;
  /// For each kernel, the seconds of a launch.
  llvm::DenseMap<mlir::Operation *, double> kernels;
};

} // namespace lockstep

#endif
