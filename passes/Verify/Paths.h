//===- Paths.h - What paths through blocks issue ----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_VERIFY_PATHS_H
#define LOCKSTEP_PASSES_VERIFY_PATHS_H

#include "passes/Verify/Sequence.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir {
class PostDominanceInfo;
} // namespace mlir

namespace lockstep {

/// Finds the sequences of collectives that paths issue, from a block to the
/// join where replicas reconverge (the post-dominator), or to the end.
class PathFinder {
public:
  PathFinder(SequenceMatcher &matcher, mlir::PostDominanceInfo &postDominance)
      : matcher(matcher), postDominance(postDominance) {}

  /// The sequence that all paths from `block` to `join` issue; null `join`: to
  /// the end. Nullopt if their sequences differ, they contain a cycle, or
  /// branches on them are nested too deeply.
  std::optional<Sequence> find(mlir::Block *block, mlir::Block *join);

  /// Appends what a shortest path from `block` to the end of `target` issues.
  /// False if there is none.
  bool findThrough(mlir::Block *block, mlir::Block *join, mlir::Block *target,
                   Sequence &sequence);

  /// What a shortest path from `block` to `join` or to the end issues.
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
