//===- ReduceLayout.cpp ---------------------------------------------------===//

#include "runtime/transport/exchange/ReduceLayout.h"

#include "runtime/collectives/CollectiveCost.h"
#include "runtime/support/Checked.h"

#include <algorithm>
#include <bit>

namespace lockstep::runtime {

using artifact::CollectiveKind;

/// The accumulators of each operand, and the bytes that each executor owns,
/// begin at multiples of this many bytes, so that no element has two owners.
static constexpr uint64_t alignment = 64;

/// Bytes of the accumulators of one operand.
static uint64_t rangeBytes(const ReduceRange &range) {
  return alignUp(range.elements * range.functions->accumulatorSize, alignment);
}

ReduceLayout::ReduceLayout(const CollectivePlan &plan, const Peers &peers)
    : shares(peers.all.size()) {
  for (uint32_t i = 0; i < plan.members.size(); ++i)
    if (plan.contributes(i))
      contributors.push_back(i);
  for (const ReduceRange &range : plan.ranges)
    bytes += rangeBytes(range);
  if (plan.kind == CollectiveKind::reduce_scatter)
    bytes *= plan.members.size();
  large = isReducedInParts(plan.kind, bytes);
  findSubtrees(plan, peers);
  divide(plan, peers.all);
  cut(plan);
}

/// Adds the maximal subtrees whose leaves are all in [begin, end), of the tree
/// with the leaves [low, low + n). A tree of n leaves is split at the largest
/// power of two below n.
void ReduceLayout::addSubtrees(std::vector<Subtree> &subtrees, uint32_t low,
                               uint32_t n, uint32_t begin, uint32_t end) const {
  if (begin <= low && low + n <= end) {
    subtrees.push_back({low, n});
    return;
  }
  if (low >= end || low + n <= begin)
    return;
  uint32_t half = std::bit_floor(n - 1);
  addSubtrees(subtrees, low, half, begin, end);
  addSubtrees(subtrees, low + half, n - half, begin, end);
}

/// The maximal subtrees whose leaves are all among the members from
/// `firstMember` to before `endMember`. The leaves of the tree are the
/// contributing members, numbered in the order of positions.
std::vector<Subtree> ReduceLayout::subtreesOf(uint32_t firstMember,
                                              uint32_t endMember) const {
  auto contributorsBefore = [&](uint32_t position) {
    return uint32_t(
        std::lower_bound(contributors.begin(), contributors.end(), position) -
        contributors.begin());
  };
  std::vector<Subtree> subtrees;
  addSubtrees(subtrees, 0, uint32_t(contributors.size()),
              contributorsBefore(firstMember), contributorsBefore(endMember));
  return subtrees;
}

/// Finds the subtrees that each executor reduces by itself, and each host.
void ReduceLayout::findSubtrees(const CollectivePlan &plan,
                                const Peers &peers) {
  for (size_t i = 0; i < shares.size(); ++i)
    shares[i].subtrees =
        subtreesOf(peers.all[i].first, peers.all[i].first + peers.all[i].count);
  byHost = peers.hosts() > 1 && isExchangedByHost(plan.kind);
  for (uint32_t host = 0; byHost && host < peers.hosts(); ++host) {
    const Peer &first = peers.all[host * peers.perHost],
               &last = peers.all[(host + 1) * peers.perHost - 1];
    hostSubtrees.push_back(subtreesOf(first.first, last.first + last.count));
  }
}

/// Sets the bytes that each executor owns.
void ReduceLayout::divide(const CollectivePlan &plan,
                          const std::vector<Peer> &peers) {
  for (size_t i = 0; i < peers.size(); ++i) {
    Share &share = shares[i];
    if (large) {
      share.begin = i ? shares[i - 1].end : 0;
      share.end = i + 1 == peers.size()
                      ? bytes
                      : bytes / alignment * (i + 1) / peers.size() * alignment;
    } else if (plan.kind == CollectiveKind::reduce_scatter) {
      uint64_t slice = bytes / plan.members.size();
      share.begin = slice * peers[i].first;
      share.end = slice * (peers[i].first + peers[i].count);
    } else if (plan.kind == CollectiveKind::all_reduce ||
               plan.root - peers[i].first < peers[i].count) {
      // Every executor, or for a `reduce` only that of the root.
      share.end = bytes;
    }
  }
}

/// Divides the accumulators into pieces, at the bounds of blocks and, of a
/// large reduction, of owners.
void ReduceLayout::cut(const CollectivePlan &plan) {
  size_t owner = 0;
  uint64_t offset = 0;
  uint32_t slices = plan.kind == CollectiveKind::reduce_scatter
                        ? uint32_t(plan.members.size())
                        : 1;
  for (uint32_t slice = 0; slice < slices; ++slice)
    for (uint32_t r = 0; r < plan.ranges.size(); ++r) {
      const ReduceRange &range = plan.ranges[r];
      uint64_t size = range.functions->accumulatorSize, begin = offset;
      for (uint64_t first = 0, count; first < range.elements; first += count) {
        offset = begin + first * size;
        count = std::min(range.blockElements, range.elements - first);
        while (large && offset >= shares[owner].end)
          ++owner;
        if (large)
          count = std::min(count, (shares[owner].end - offset) / size);
        ReducePiece piece{r, slice, first, count, offset, 0};
        if (large) {
          piece.resultOffset = shares[owner].resultBytes;
          shares[owner].resultBytes +=
              alignUp(count * range.resultSize, alignment);
        }
        pieces.push_back(piece);
      }
      offset = begin + rangeBytes(range);
    }
  // The first piece that does not begin before a byte.
  auto pieceAt = [&](uint64_t byte) {
    return size_t(
        std::lower_bound(pieces.begin(), pieces.end(), byte,
                         [](const ReducePiece &piece, uint64_t value) {
                           return piece.offset < value;
                         }) -
        pieces.begin());
  };
  for (Share &share : shares) {
    share.firstPiece = pieceAt(share.begin);
    share.lastPiece = pieceAt(share.end);
  }
}

} // namespace lockstep::runtime
