//===- ControlTree.h - a role's shared exchanges ----------------*- C++ -*-===//
//
// The loops and branches of a program, and inside of them, in order, the role's
// exchanges with other roles: starts of collectives and barriers whose group
// has ranks of several roles. Recovered from branches, jumps and immediate
// post-dominators (Flow.h), without executing anything.
//
// A loop is a node without a condition: it is left at branches inside of it. If
// one side of a branch leaves its loop or the program, the other side contains
// the rest of it.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_CONTROLTREE_H
#define LOCKSTEP_RUNTIME_VERIFICATION_CONTROLTREE_H

#include "runtime/verification/Model.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::runtime::verification {

/// A side of a node: for a branch, 0 if its condition holds, 1 if not; for a
/// loop, 0. `none`: the program itself.
struct TreePlace {
  uint32_t node = none;
  uint8_t side = 0;

  bool operator==(const TreePlace &) const = default;
};

struct TreeNode {
  enum class Kind : uint8_t { loop, branch } kind = Kind::branch;
  TreePlace place;
  /// The branch; the first op of a loop.
  uint32_t op = 0;
};

struct TreeItem {
  enum class Kind : uint8_t {
    /// A start or barrier; `index` is its channel.
    exchange,
    /// `index` is a node.
    node,
    /// A path that leaves a loop, the node `index`.
    exit,
  } kind = Kind::exchange;
  uint32_t index = 0;
  TreePlace place;
  /// For messages.
  uint32_t op = 0;
};

struct ControlTree {
  std::vector<TreeNode> nodes;
  /// In the order of the program: a node before its contents.
  std::vector<TreeItem> items;
  /// Block -> the node of the innermost loop around it, or `none`.
  std::vector<uint32_t> loopOf;
  /// Block -> whether each iteration of its innermost loop that is followed by
  /// another one executes it exactly once.
  std::vector<bool> inEachIteration;

  /// The block in which a loop begins, or `none` if the block begins none.
  uint32_t loopAt(uint32_t block) const {
    uint32_t loop = loopOf[block];
    return loop != none && headers[loop] == block ? loop : none;
  }
  bool contains(uint32_t loop, uint32_t block) const;

  /// Node -> the block in which it begins, for loops.
  std::vector<uint32_t> headers;
};

/// Whether members of a channel are ranks of several roles.
bool isShared(const Model &model, uint32_t channel);

/// Fills `tree`. Returns a problem if the program is not structured or is
/// nested deeper than 500 nodes: loops with several entries or several blocks
/// after them, returns inside of a loop.
std::optional<Problem>
buildControlTree(const Model &model, const Program &program, ControlTree &tree);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_CONTROLTREE_H
