//===- Paths.cpp - What paths through blocks issue ------------------------===//

#include "passes/Verify/Paths.h"

#include "passes/Analysis/UniformityAnalysis.h"

#include "mlir/IR/Dominance.h"

using namespace lockstep;
using namespace mlir;

/// The deepest nesting of branches on a path. A deeper one could make a proof
/// take time quadratic in the number of blocks.
static constexpr unsigned kMostOpenBranches = 64;

void PathFinder::append(Sequence &sequence, Block *block) {
  for (Operation &op : *block)
    matcher.append(sequence, &op, [](Operation *) { return true; });
}

std::optional<Sequence> PathFinder::find(Block *block, Block *join) {
  Sequence sequence;
  SmallVector<Block *> entered;
  bool found = true;
  while (block != join) {
    // A path through a cycle has no known length.
    if (!open.insert(block).second) {
      found = false;
      break;
    }
    entered.push_back(block);
    append(sequence, block);
    if (block->getNumSuccessors() == 0)
      break;
    Block *next = block->getNumSuccessors() == 1
                      ? block->getSuccessor(0)
                      : getJoin(postDominance, block);
    if (block->getNumSuccessors() > 1) {
      std::optional<Sequence> first;
      found = ++depth <= kMostOpenBranches;
      for (Block *successor : block->getSuccessors()) {
        if (!found)
          break;
        std::optional<Sequence> inner = find(successor, next ? next : join);
        found = inner && (!first || matcher.areEqual(*first, *inner));
        first = std::move(inner);
      }
      --depth;
      if (!found)
        break;
      llvm::move(*first, std::back_inserter(sequence));
      if (!next)
        break;
    }
    block = next;
  }
  for (Block *left : entered)
    open.erase(left);
  return found ? std::optional(std::move(sequence)) : std::nullopt;
}

/// The blocks of a shortest path from `from` to a block for which `isGoal`
/// holds, both included, or empty. Paths are not followed past `join`.
static SmallVector<Block *>
findShortest(Block *from, Block *join,
             llvm::function_ref<bool(Block *)> isGoal) {
  llvm::DenseMap<Block *, Block *> predecessors = {{from, nullptr}};
  SmallVector<Block *> pending = {from};
  for (size_t i = 0; i < pending.size(); ++i) {
    Block *block = pending[i];
    if (isGoal(block)) {
      SmallVector<Block *> path;
      for (; block; block = predecessors[block])
        path.push_back(block);
      std::reverse(path.begin(), path.end());
      return path;
    }
    for (Block *successor : block->getSuccessors())
      if (block != join && predecessors.try_emplace(successor, block).second)
        pending.push_back(successor);
  }
  return {};
}

bool PathFinder::findThrough(Block *block, Block *join, Block *target,
                             Sequence &sequence) {
  if (block == join)
    return false;
  SmallVector<Block *> path = findShortest(
      block, join, [&](Block *reached) { return reached == target; });
  for (Block *passed : path)
    append(sequence, passed);
  return !path.empty();
}

Sequence PathFinder::findAny(Block *block, Block *join) {
  Sequence sequence;
  for (Block *passed : findShortest(block, join, [&](Block *reached) {
         return reached == join || reached->hasNoSuccessors();
       }))
    if (passed != join)
      append(sequence, passed);
  return sequence;
}
