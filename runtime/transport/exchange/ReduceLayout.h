//===- ReduceLayout.h - how executors share a reduction ---------*- C++ -*-===//
//
// The accumulators of all operands (of a reduce_scatter: of each member's
// slice) form one byte range. Over this range, each executor reduces the
// maximal subtrees of the reduction tree (ReduceTree.h) whose leaves are all
// its own members:
//
//   6 members on executors of 3 + 3:   ((0 + 1) + (2 + 3)) + (4 + 5)
//                                        └ 0 ┘    └ 0 │ 1 ┘   └ 1 ┘
//   Subtrees 0+1 and 2 belong to executor 0; 3 and 4+5 to executor 1.
//
// and sends each other executor the bytes that it owns; the owner combines them
// along the rest of the tree. So the result is bitwise that of one executor.
// Ownership of the bytes, for E executors:
//
//   all_reduce, small   each executor owns all bytes: one message to each of
//                       the E - 1 others
//   all_reduce, large   each executor owns 1/E of the n bytes and then sends
//                       their result to the others: 2n(E-1)/E bytes in all
//   reduce_scatter      each executor owns the slices of its own members
//   reduce              the executor of the root owns all bytes
//
// If executors are on H hosts, P on each, those of a host first reduce among
// themselves what they send to other hosts:
//
//   on a host       each executor gets from its P - 1 neighbors what it and
//                   those at its place on the other hosts own, and reduces
//                   it over the members of the host
//   between hosts   it sends each of these H - 1 executors what that one owns,
//                   which combines it with what the other hosts send
//
// and an executor of a large all_reduce sends its results in the opposite order
// of steps. So each host sends 2n(H-1)/H bytes to the others instead of P times
// as much, if the members of a host form one subtree.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_REDUCELAYOUT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_REDUCELAYOUT_H

#include "runtime/transport/exchange/Exchange.h"

#include <vector>

namespace lockstep::runtime {

/// A subtree of the reduction tree: `count` contributing members from `first`.
struct Subtree {
  uint32_t first = 0, count = 0;
};

/// Elements that are reduced at once: at most one block of one operand, slice
/// and owner.
struct ReducePiece {
  /// Index in `CollectivePlan::ranges`.
  uint32_t range = 0;
  /// Member that gets the slice in a reduce_scatter; 0 for other kinds.
  uint32_t slice = 0;
  uint64_t firstElement = 0, count = 0;
  /// Byte offsets in the range of accumulators and in the owner's results.
  uint64_t offset = 0, resultOffset = 0;
};

struct ReduceLayout {
  /// Computes the same layout in all executors.
  ReduceLayout(const CollectivePlan &plan, const Peers &peers);

  /// Bytes of accumulators.
  uint64_t bytes = 0;
  /// Owners send their results to the others afterwards.
  bool large = false;
  /// Executors reduce on their hosts first.
  bool byHost = false;
  /// The contributing members, as positions among all members.
  std::vector<uint32_t> contributors;

  /// The part of one executor.
  struct Share {
    std::vector<Subtree> subtrees;
    /// The bytes of accumulators that the executor owns, the pieces in them,
    /// and, of a large reduction, the bytes of their results.
    uint64_t begin = 0, end = 0;
    size_t firstPiece = 0, lastPiece = 0;
    uint64_t resultBytes = 0;
  };
  /// By index in `peers`.
  std::vector<Share> shares;
  /// With `byHost`, the maximal subtrees of each host.
  std::vector<std::vector<Subtree>> hostSubtrees;
  std::vector<ReducePiece> pieces;

private:
  std::vector<Subtree> subtreesOf(uint32_t firstMember,
                                  uint32_t endMember) const;
  void findSubtrees(const CollectivePlan &plan, const Peers &peers);
  void divide(const CollectivePlan &plan, const std::vector<Peer> &peers);
  void cut(const CollectivePlan &plan);
  void addSubtrees(std::vector<Subtree> &subtrees, uint32_t low, uint32_t n,
                   uint32_t begin, uint32_t end) const;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_REDUCELAYOUT_H
