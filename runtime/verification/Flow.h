//===- Flow.h - blocks and branches of a program ----------------*- C++ -*-===//
//
// Basic blocks, the block where both sides of a branch join (its immediate
// post-dominator, found by Cooper, Harvey and Kennedy, "A Simple, Fast
// Dominance Algorithm"), and which branches are local: between a *local* branch
// and its join there is no exchange, so that other ranks can observe the side
// taken only through values that it writes.
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

struct Block {
  uint32_t begin = 0, end = 0;
  uint32_t successors[2] = {~0u, ~0u};
  bool reachable = false;
};

struct Branch {
  uint32_t op = 0;
  /// Op at which both sides join; `none`: the end of the program.
  uint32_t join = ~0u;
  /// There is no exchange before the join.
  bool local = false;
  /// Blocks between a local branch and the join.
  std::vector<uint32_t> region;
};

struct Flow {
  std::vector<Block> blocks;
  std::vector<uint32_t> blockOf;
  std::vector<Branch> branches;
};

/// Finds blocks and branches of a program.
void findFlow(const Model &model, Program &program);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_FLOW_H
