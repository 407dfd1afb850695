//===- ReduceLayout.h - how executors share a reduction ---------*- C++ -*-===//
//
// The accumulators of all operands, one after the other, are numbered by bytes;
// of a reduce_scatter, those of each member's slice. Each executor reduces the
// maximal complete subtrees of the tree (ReduceTree.h) that its members are,
// over all of these bytes:
//
//   6 members on executors of 3 + 3:   ((0 + 1) + (2 + 3)) + (4 + 5)
//                                        └ 0 ┘    └ 0 │ 1 ┘   └ 1 ┘
//   Subtrees 0+1 and 2 belong to executor 0; 3 and 4+5 to executor 1.
//
// and sends of each the bytes that another executor owns to that one, which
// combines them along the rest of the tree. So the result has the bits that one
// executor would compute. Who owns which bytes:
//
//   all_reduce, small   everybody owns everything: one message, E - 1 times the
//                       bytes
//   all_reduce, large   1/E of the bytes each, and then gives the result to the
//                       others: 2n(E-1)/E bytes in all
//   reduce_scatter      the slices of its own members
//   reduce              the root everything
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_REDUCELAYOUT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_REDUCELAYOUT_H

#include "runtime/transport/exchange/Exchange.h"

namespace lockstep::runtime {

/// `count` contributing members from `first`, which are a subtree of the tree.
struct Subtree {
  uint32_t first = 0, count = 0;
};

/// Elements that are reduced at once: of one operand, of one slice, of one
/// owner, at most a block.
struct ReducePiece {
  /// Index in `CollectivePlan::ranges`.
  uint32_t range = 0;
  /// Member whose slice it is; 0 but for a reduce_scatter.
  uint32_t slice = 0;
  uint64_t firstElement = 0, count = 0;
  /// Position among the bytes of accumulators, and among those of an owner's
  /// results.
  uint64_t offset = 0, resultOffset = 0;
};

struct ReduceLayout {
  /// Alike in all executors.
  ReduceLayout(const CollectivePlan &plan, const std::vector<Peer> &peers);

  /// Bytes of accumulators.
  uint64_t bytes = 0;
  /// Results are given to the others in a second phase.
  bool large = false;
  /// The contributing members, as positions among all members.
  std::vector<uint32_t> contributors;

  /// Of one executor.
  struct Share {
    std::vector<Subtree> subtrees;
    /// The bytes of accumulators that it owns, the pieces that these are, and
    /// the bytes of their results, of the large ones only.
    uint64_t begin = 0, end = 0;
    size_t firstPiece = 0, lastPiece = 0;
    uint64_t resultBytes = 0;
  };
  /// By index in `peers`.
  std::vector<Share> shares;
  std::vector<ReducePiece> pieces;

private:
  void findSubtrees(const std::vector<Peer> &peers);
  void divide(const CollectivePlan &plan, const std::vector<Peer> &peers);
  void cut(const CollectivePlan &plan);
  void addSubtrees(std::vector<Subtree> &subtrees, uint32_t low, uint32_t n,
                   uint32_t begin, uint32_t end) const;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_REDUCELAYOUT_H
