//===- Flow.h - blocks and branches of a program ----------------*- C++ -*-===//
//
// Computes the basic blocks of a program, the op at which both sides of each
// branch join (the begin of its immediate post-dominator, computed as by
// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm"), and which
// branches are local. Between a *local* branch and its join there is no
// exchange with other ranks, so that these can observe which side was taken
// only through the values that it writes.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_FLOW_H
#define LOCKSTEP_RUNTIME_VERIFICATION_FLOW_H

#include <cstdint>
#include <vector>

namespace lockstep::runtime::verification {

struct Model;
struct Op;
struct Program;

/// A basic block: the ops `begin` to `end` - 1.
struct Block {
  uint32_t begin = 0, end = 0;
  /// Blocks: the next one, and the target of the last op. `none` (~0u) if there
  /// is none.
  uint32_t successors[2] = {~0u, ~0u};
  bool reachable = false;
};

/// A conditional branch.
struct Branch {
  uint32_t op = 0;
  /// The op at which both sides join; `none` (~0u) if they do so only at the
  /// end of the program, or if one of them never ends.
  uint32_t join = ~0u;
  /// Whether it is known that no op between the branch and the join is an
  /// exchange. The search for one is limited.
  bool local = false;
  /// The blocks between a local branch and its join.
  std::vector<uint32_t> region;
};

struct Flow {
  std::vector<Block> blocks;
  /// For each op, its block.
  std::vector<uint32_t> blockOf;
  /// The reachable branches.
  std::vector<Branch> branches;
};

/// Sets `program.flow`, and `Op::branch` of the branches.
void findFlow(const Model &model, Program &program);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_FLOW_H
