//===- Paths.h - What ways through blocks issue -----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_VERIFY_PATHS_H
#define LOCKSTEP_PASSES_VERIFY_PATHS_H

#include "passes/Verify/Sequence.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir {
class PostDominanceInfo;
} // namespace mlir

namespace lockstep {

/// The sequences of ways from a block to the one where replicas come together
/// again, or to the end.
class PathFinder {
public:
  PathFinder(SequenceMatcher &matcher, mlir::PostDominanceInfo &postDominance)
      : matcher(matcher), postDominance(postDominance) {}

  /// What all ways from `block` to `join` issue; null `join`: to the end.
  /// Nullopt if they issue different things, go round, or part again and again
  /// before they meet.
  std::optional<Sequence> find(mlir::Block *block, mlir::Block *join);

  /// Appends what a shortest way from `block` through `target` issues, up to
  /// the end of that block. False if there is none.
  bool findThrough(mlir::Block *block, mlir::Block *join, mlir::Block *target,
                   Sequence &sequence);

  /// What a shortest way from `block` to `join` issues.
  Sequence findAny(mlir::Block *block, mlir::Block *join);

private:
  void append(Sequence &sequence, mlir::Block *block);

  SequenceMatcher &matcher;
  mlir::PostDominanceInfo &postDominance;
  llvm::DenseSet<mlir::Block *> open;
  unsigned depth = 0;
};

} // namespace lockstep

#endif
