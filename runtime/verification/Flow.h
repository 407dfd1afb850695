//===- Flow.h - blocks and branches of a program ----------------*- C++ -*-===//
//
// Basic blocks, where the two ways of a branch meet again (its immediate
// post-dominator, found by Cooper, Harvey and Kennedy, "A Simple, Fast
// Dominance Algorithm"), and which branches matter to others: between a *local*
// branch and its join nobody is met, so that others cannot see which way was
// taken, except by the values it leaves behind.
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
  /// Op at which both ways have met again; `none`: where the program ends.
  uint32_t join = ~0u;
  /// Nobody is met before the join.
  bool local = false;
  /// Both ways meet the same others in the same order: ops behind the program's
  /// own which do just that, then go to the join. `none`: they do not, or it is
  /// not known.
  uint32_t sameOnBothWays = ~0u;
  /// Blocks between the branch and the join; for branches that are local or
  /// have `sameOnBothWays`.
  std::vector<uint32_t> region;
};

struct Flow {
  std::vector<Block> blocks;
  std::vector<uint32_t> blockOf;
  std::vector<Branch> branches;
  /// Number of the program's own ops; behind them are those of
  /// `sameOnBothWays`.
  uint32_t ownOps = 0;
};

/// Finds blocks and branches of a program and appends the ops of
/// `sameOnBothWays`. With `anySidesAreEqual` (tests only) every two ways count
/// as the same.
void findFlow(const Model &model, Program &program,
              bool anySidesAreEqual = false);

/// Whether others are met at an op: it starts, waits or arrives, and has a
/// partner.
bool meetsOthers(const Model &model, const Op &op);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_FLOW_H
