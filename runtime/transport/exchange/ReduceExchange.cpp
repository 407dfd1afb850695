//===- ReduceExchange.cpp - reductions across executors -------------------===//

#include "runtime/collectives/ReduceTree.h"
#include "runtime/support/Checked.h"
#include "runtime/transport/exchange/ReduceLayout.h"

#include <cstring>

namespace lockstep::runtime {
namespace {

using artifact::CollectiveKind;

class ReduceExchange final : public Exchange {
public:
  ReduceExchange(const CollectivePlan &plan, ThreadsTransport &threads,
                 std::vector<Peer> given, uint32_t self)
      : Exchange(plan, threads, std::move(given), self), layout(plan, peers),
        own(layout.shares[self]), partials(peers.size()) {
    if (layout.large)
      phases.resize(2);
    for (uint32_t peer = 0; peer < peers.size(); ++peer) {
      const ReduceLayout::Share &share = layout.shares[peer];
      if (peer == self)
        continue;
      // An executor that owns no bytes expects no message, and one that has no
      // subtree sends none. All others exchange messages, even of 0 elements.
      if (owns(peer) && !own.subtrees.empty())
        sendTo(0, peer);
      phases[0].expected += owns(self) && !share.subtrees.empty();
      if (layout.large) {
        sendTo(1, peer);
        ++phases[1].expected;
      }
    }
  }

  Status allocate() {
    Expected<Memory> memory =
        Memory::allocate(layout.bytes * own.subtrees.size() + own.resultBytes);
    if (!memory)
      return memory.status();
    staging = std::move(*memory);
    return Status::success();
  }

  /// Reduces the operands of the local members, which are not read afterwards.
  Status prepare(uint32_t worker) override {
    if (!own.subtrees.empty())
      LOCKSTEP_RETURN_IF_ERROR(
          run<&ReduceExchange::reducePiece>(worker, 0, layout.pieces.size()));
    size_t next = 0;
    for (uint32_t peer = 0; peer < peers.size(); ++peer) {
      if (peer == self || !owns(peer) || own.subtrees.empty())
        continue;
      Outgoing &outgoing = phases[0].outgoing[next++];
      outgoing.pieces.clear();
      const ReduceLayout::Share &share = layout.shares[peer];
      for (size_t i = 0; i < own.subtrees.size(); ++i)
        outgoing.pieces.push_back(
            {partial(i) + share.begin, share.end - share.begin});
    }
    return Status::success();
  }

  Status finish(uint32_t phase, uint32_t worker) override {
    if (phase == 1)
      return takeResults(worker);
    if (!owns(self))
      return Status::success();
    for (uint32_t peer = 0; peer < peers.size(); ++peer)
      LOCKSTEP_RETURN_IF_ERROR(findPartials(peer));
    LOCKSTEP_RETURN_IF_ERROR(run<&ReduceExchange::combinePiece>(
        worker, own.firstPiece, own.lastPiece));
    if (layout.large)
      for (Outgoing &outgoing : phases[1].outgoing)
        outgoing.pieces.assign(1, {results(), own.resultBytes});
    return Status::success();
  }

private:
  bool owns(uint32_t peer) const {
    return plan.kind != CollectiveKind::reduce ||
           plan.root - peers[peer].first < peers[peer].count;
  }
  /// The local accumulators of a subtree, over the whole byte range.
  std::byte *partial(size_t subtree) const {
    return staging.data() + subtree * layout.bytes;
  }
  /// The owned results of a large reduction, to be sent to the others.
  std::byte *results() const { return partial(own.subtrees.size()); }

  /// Calls `function` for pieces [first, last), shared with idle workers.
  template <void (ReduceExchange::*function)(const ReducePiece &, uint32_t)
                const>
  Status run(uint32_t worker, size_t first, size_t last) {
    auto tile = [this, first](int64_t number, uint32_t executor) {
      (this->*function)(layout.pieces[first + size_t(number)], executor);
    };
    return threads.runTiles(worker, int64_t(last - first), layout.bytes,
                            TileFunction(tile));
  }

  void reducePiece(const ReducePiece &piece, uint32_t worker) const {
    const ReduceRange &range = plan.ranges[piece.range];
    uint64_t offset = (piece.slice * range.elements + piece.firstElement) *
                      range.functions->elementSize;
    std::byte *scratch = threads.scratchOf(worker);
    auto *sources = reinterpret_cast<const std::byte **>(scratch);
    std::byte *blocks =
        scratch + alignUp(plan.members.size() * sizeof(void *), 64);
    for (size_t i = 0; i < own.subtrees.size(); ++i) {
      const Subtree &subtree = own.subtrees[i];
      for (uint32_t k = 0; k < subtree.count; ++k)
        sources[k] = range.operand.in(
                         members.bases[layout.contributors[subtree.first + k] -
                                       plan.firstLocal]) +
                     offset;
      reduceTree(*range.functions, partial(i) + piece.offset, sources,
                 subtree.count, int64_t(piece.count), blocks);
    }
  }

  Status findPartials(uint32_t peer) {
    const std::vector<Subtree> &subtrees = layout.shares[peer].subtrees;
    partials[peer].clear();
    if (subtrees.empty())
      return Status::success();
    if (peer == self) {
      for (size_t i = 0; i < subtrees.size(); ++i)
        partials[peer].push_back(partial(i) + own.begin);
      return Status::success();
    }
    MessageReader reader(*received[peer]);
    for (size_t i = 0; i < subtrees.size(); ++i) {
      partials[peer].push_back(reader.take(own.end - own.begin));
      if (!partials[peer].back())
        return tooShort(peer);
    }
    return Status::success();
  }

  /// The accumulators of a subtree that one executor has reduced; null if the
  /// subtree has members of several executors.
  const std::byte *reduced(uint32_t low, uint32_t n, uint64_t offset) const {
    for (size_t peer = 0; peer < peers.size(); ++peer)
      for (size_t i = 0; i < layout.shares[peer].subtrees.size(); ++i)
        if (const Subtree &subtree = layout.shares[peer].subtrees[i];
            subtree.first == low && subtree.count == n)
          return partials[peer][i] + (offset - own.begin);
    return nullptr;
  }

  /// As `reduceTree`, with reduced subtrees as leaves.
  void combine(const ReduceFunctions &functions, std::byte *acc, uint32_t low,
               uint32_t n, const ReducePiece &piece, std::byte *scratch) const {
    if (const std::byte *done = reduced(low, n, piece.offset))
      return functions.copy(acc, done,
                            int64_t(piece.count * functions.accumulatorSize));
    uint32_t half = std::bit_floor(n - 1);
    combine(functions, acc, low, half, piece, scratch);
    const std::byte *right = reduced(low + half, n - half, piece.offset);
    if (!right) {
      combine(functions, scratch, low + half, n - half, piece,
              scratch + reduceBlockBytes);
      right = scratch;
    }
    functions.addAccumulator(acc, right, int64_t(piece.count));
  }

  void combinePiece(const ReducePiece &piece, uint32_t worker) const {
    const ReduceRange &range = plan.ranges[piece.range];
    std::byte *acc = threads.scratchOf(worker),
              *rounded = acc + reduceBlockBytes;
    combine(*range.functions, acc, 0, uint32_t(layout.contributors.size()),
            piece, rounded + reduceBlockBytes);
    const std::byte *block = acc;
    if (range.resultSize != range.functions->accumulatorSize) {
      range.functions->store(rounded, acc, int64_t(piece.count));
      block = rounded;
    }
    store(piece, block);
    if (layout.large)
      range.functions->copy(results() + piece.resultOffset, block,
                            int64_t(piece.count * range.resultSize));
  }

  /// Writes a finished piece to the results of the local members that get it.
  void store(const ReducePiece &piece, const std::byte *block) const {
    const ReduceRange &range = plan.ranges[piece.range];
    uint32_t first = 0, last = plan.sharedResults ? 1 : plan.localCount;
    if (plan.kind != CollectiveKind::all_reduce) {
      first = (plan.kind == CollectiveKind::reduce ? plan.root : piece.slice) -
              plan.firstLocal;
      last = first + 1;
    }
    for (uint32_t i = first; i < last; ++i)
      range.functions->copy(range.result.in(members.bases[i]) +
                                piece.firstElement * range.resultSize,
                            block, int64_t(piece.count * range.resultSize));
  }

  /// Stores the results of a large reduction that others own.
  Status takeResults(uint32_t worker) {
    for (uint32_t peer = 0; peer < peers.size(); ++peer) {
      if (peer == self)
        continue;
      const ReduceLayout::Share &share = layout.shares[peer];
      MessageReader reader(*received[peer]);
      arrived = reader.take(share.resultBytes);
      if (!arrived)
        return tooShort(peer);
      LOCKSTEP_RETURN_IF_ERROR(run<&ReduceExchange::storeArrived>(
          worker, share.firstPiece, share.lastPiece));
    }
    return Status::success();
  }

  void storeArrived(const ReducePiece &piece, uint32_t) const {
    store(piece, arrived + piece.resultOffset);
  }

  const ReduceLayout layout;
  const ReduceLayout::Share &own;
  Memory staging;
  /// Accumulators of each peer's subtrees, from the first owned byte.
  std::vector<std::vector<const std::byte *>> partials;
  const std::byte *arrived = nullptr;
};

} // namespace

Expected<std::unique_ptr<Exchange>>
makeReduceExchange(const CollectivePlan &plan, ThreadsTransport &threads,
                   std::vector<Peer> peers, uint32_t self) {
  auto exchange =
      std::make_unique<ReduceExchange>(plan, threads, std::move(peers), self);
  if (Status status = exchange->allocate(); !status.ok())
    return status;
  return std::unique_ptr<Exchange>(std::move(exchange));
}

} // namespace lockstep::runtime
