//===- Lifetimes.h - Live ranges of values in a step ------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_LIFETIMES_H
#define LOCKSTEP_PASSES_MEMORY_LIFETIMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace lockstep {

/// Numbers the operations of a step in program order. An operation with regions
/// has a first position, before its regions, and a last one, behind them.
class Lifetimes {
public:
  explicit Lifetimes(mlir::func::FuncOp step);

  int64_t getFirst(mlir::Operation *op) const {
    return positions.lookup(op).first;
  }
  int64_t getLast(mlir::Operation *op) const {
    return positions.lookup(op).second;
  }

  /// The end of the live range: the last position that reads `value` or a view
  /// of it. A use in a loop that does not contain the definition counts as one
  /// at the end of the loop, since the next iteration may read it.
  int64_t getLastUse(mlir::Value value) const;

  /// Whether all uses of `value` and its views come before `op`, or are `op`
  /// itself.
  bool isUnusedAfter(mlir::Value value, mlir::Operation *op) const {
    return getLastUse(value) <= getFirst(op);
  }

private:
  int64_t number(mlir::Block &block, int64_t next);

  llvm::DenseMap<mlir::Operation *, std::pair<int64_t, int64_t>> positions;
};

} // namespace lockstep

#endif
