//===- ReduceExchange.cpp - reductions across executors -------------------===//

#include "runtime/collectives/ReduceTree.h"
#include "runtime/support/Checked.h"
#include "runtime/transport/exchange/ReduceLayout.h"

namespace lockstep::runtime {
namespace {

using artifact::CollectiveKind;

/// What the messages of a phase carry, on one host or between the executors at
/// one place of all hosts.
enum class Step {
  reduceOnHost,
  reduceBetweenHosts,
  gatherBetweenHosts,
  gatherOnHost
};

class ReduceExchange final : public Exchange {
public:
  ReduceExchange(const CollectivePlan &plan, ThreadsTransport &threads,
                 Peers given)
      : Exchange(plan, threads, std::move(given)), layout(plan, group),
        own(layout.shares[self]), partials(peers.size()) {
    for (uint32_t peer = 0; peer < peers.size(); ++peer)
      owners.push_back(ownersReducedBy(peer));
    for (uint32_t owner : owners[self]) {
      const ReduceLayout::Share &share = layout.shares[owner];
      reduced.push_back({owner, reducedBytes, resultBytes});
      reducedBytes += share.end - share.begin;
      resultBytes += share.resultBytes;
    }
    phases.clear();
    addPhase(Step::reduceOnHost);
    if (layout.byHost)
      addPhase(Step::reduceBetweenHosts);
    if (layout.byHost && layout.large)
      addPhase(Step::gatherBetweenHosts);
    if (layout.large)
      addPhase(Step::gatherOnHost);
  }

  Status allocate() {
    Expected<Memory> memory = Memory::allocate(
        layout.bytes * own.subtrees.size() +
        (layout.byHost ? reducedBytes * hostSubtrees().size() : 0) +
        resultBytes);
    if (!memory)
      return memory.status();
    staging = std::move(*memory);
    return Status::success();
  }

  /// Reduces the operands of the local members, which are not read afterwards.
  Status prepare(uint32_t worker) override {
    if (!own.subtrees.empty())
      LOCKSTEP_RETURN_IF_ERROR(run<&ReduceExchange::reducePiece>(
          worker, 0, layout.pieces.size(), layout.bytes));
    fill(0);
    return Status::success();
  }

  Status finish(uint32_t phase, uint32_t worker) override {
    switch (steps[phase]) {
    case Step::reduceOnHost:
      LOCKSTEP_RETURN_IF_ERROR(reduceOnHost(worker, partners[phase]));
      break;
    case Step::reduceBetweenHosts:
      LOCKSTEP_RETURN_IF_ERROR(reduceBetweenHosts(worker, partners[phase]));
      break;
    case Step::gatherBetweenHosts:
    case Step::gatherOnHost:
      LOCKSTEP_RETURN_IF_ERROR(gather(worker, steps[phase], partners[phase]));
      break;
    }
    if (phase + 1 < steps.size())
      fill(phase + 1);
    return Status::success();
  }

private:
  using PeerList = std::vector<uint32_t>;

  /// The share of an executor, reduced by this one over the members of its
  /// host.
  struct Reduced {
    uint32_t owner;
    /// In the accumulators of a subtree of the host, and in the results.
    uint64_t offset, resultOffset;
  };

  /// The accumulators of a subtree, from the first byte of a share.
  struct Source {
    Subtree subtree;
    const std::byte *bytes;
  };

  //===--------------------------------------------------------------------===//
  // Executors and hosts
  //===--------------------------------------------------------------------===//

  bool owns(uint32_t peer) const {
    return plan.kind != CollectiveKind::reduce ||
           plan.root - peers[peer].first < peers[peer].count;
  }
  /// Each executor owns all bytes.
  bool haveEqualShares() const {
    return plan.kind == CollectiveKind::all_reduce && !layout.large;
  }
  /// The executors whose shares `peer` reduces over the members of its host.
  PeerList ownersReducedBy(uint32_t peer) const {
    if (!layout.byHost || haveEqualShares())
      return {peer};
    return group.atPlaceOf(peer);
  }
  /// Of these, the share that a counterpart of this executor owns.
  const Reduced &reducedFor(uint32_t counterpart) const {
    return reduced[haveEqualShares() ? 0 : group.hostOf(counterpart)];
  }
  std::span<const Subtree> hostSubtrees() const {
    return layout.hostSubtrees[group.hostOf(self)];
  }

  /// Whether this executor exchanges messages with a peer.
  bool isPartner(Step step, uint32_t peer) const {
    bool onHost = step == Step::reduceOnHost || step == Step::gatherOnHost;
    return peer != self &&
           (!layout.byHost ||
            (onHost ? group.hostOf(peer) == group.hostOf(self)
                    : group.placeOf(peer) == group.placeOf(self)));
  }
  /// An executor that owns no bytes expects no operands, and one that has no
  /// subtree sends none. All others exchange messages, even of 0 elements.
  bool sends(Step step, uint32_t from, uint32_t to) const {
    return step != Step::reduceOnHost ||
           (owns(to) && !layout.shares[from].subtrees.empty());
  }

  void addPhase(Step step) {
    auto phase = uint32_t(steps.size());
    steps.push_back(step);
    phases.emplace_back();
    partners.emplace_back();
    for (uint32_t peer = 0; peer < peers.size(); ++peer) {
      if (!isPartner(step, peer))
        continue;
      partners.back().push_back(peer);
      if (sends(step, self, peer))
        sendTo(phase, peer);
      if (step == Step::reduceBetweenHosts)
        receiveFrom(phase, peer, group.onHostOf(peer));
      else if (sends(step, peer, self))
        receiveFrom(phase, peer);
    }
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// The accumulators of a subtree of this executor, over the whole byte range.
  std::byte *partial(size_t subtree) const {
    return staging.data() + subtree * layout.bytes;
  }
  /// Those of a subtree of its host, over the shares in `reduced`.
  std::byte *hostPartial(size_t subtree) const {
    return partial(own.subtrees.size()) + subtree * reducedBytes;
  }
  /// The results of a large reduction over the shares in `reduced`, to be sent
  /// to others.
  std::byte *results() const {
    return hostPartial(layout.byHost ? hostSubtrees().size() : 0);
  }

  //===--------------------------------------------------------------------===//
  // Messages
  //===--------------------------------------------------------------------===//

  void fill(uint32_t phase) {
    auto outgoing = phases[phase].outgoing.begin();
    for (uint32_t peer : partners[phase])
      if (sends(steps[phase], self, peer)) {
        outgoing->pieces.clear();
        addPieces(steps[phase], peer, (outgoing++)->pieces);
      }
  }

  void addPieces(Step step, uint32_t peer,
                 std::vector<MessagePiece> &pieces) const {
    switch (step) {
    case Step::reduceOnHost:
      for (size_t i = 0; i < own.subtrees.size(); ++i)
        for (uint32_t owner : owners[peer]) {
          const ReduceLayout::Share &share = layout.shares[owner];
          pieces.push_back({partial(i) + share.begin, share.end - share.begin});
        }
      return;
    case Step::reduceBetweenHosts: {
      const ReduceLayout::Share &share = layout.shares[peer];
      for (size_t i = 0; i < hostSubtrees().size(); ++i)
        pieces.push_back({hostPartial(i) + reducedFor(peer).offset,
                          share.end - share.begin});
      return;
    }
    case Step::gatherBetweenHosts:
      pieces.push_back(
          {results() + reducedFor(self).resultOffset, own.resultBytes});
      return;
    case Step::gatherOnHost:
      pieces.push_back({results(), resultBytes});
      return;
    }
  }

  Status reduceOnHost(uint32_t worker, const PeerList &senders) {
    if (!owns(self))
      return Status::success();
    for (uint32_t peer : senders)
      LOCKSTEP_RETURN_IF_ERROR(
          read(peer, layout.shares[peer].subtrees.size(), reduced));
    for (size_t i = 0; i < reduced.size(); ++i) {
      sources.clear();
      current = &reduced[i];
      const ReduceLayout::Share &share = layout.shares[current->owner];
      addSources(own.subtrees,
                 [&](size_t k) { return partial(k) + share.begin; });
      for (uint32_t peer : senders)
        addSources(layout.shares[peer].subtrees, [&](size_t k) {
          return partials[peer][k * reduced.size() + i];
        });
      LOCKSTEP_RETURN_IF_ERROR(
          layout.byHost ? runOn<&ReduceExchange::combineOnHost>(worker, share)
                        : runOn<&ReduceExchange::combinePiece>(worker, share));
    }
    return Status::success();
  }

  Status reduceBetweenHosts(uint32_t worker, const PeerList &senders) {
    current = &reducedFor(self);
    sources.clear();
    addSources(hostSubtrees(),
               [&](size_t k) { return hostPartial(k) + current->offset; });
    for (uint32_t peer : senders) {
      const std::vector<Subtree> &subtrees =
          layout.hostSubtrees[group.hostOf(peer)];
      LOCKSTEP_RETURN_IF_ERROR(read(peer, subtrees.size(), {current, 1}));
      addSources(subtrees, [&](size_t k) { return partials[peer][k]; });
    }
    return runOn<&ReduceExchange::combinePiece>(worker, own);
  }

  /// Stores the results of a large reduction that others own.
  Status gather(uint32_t worker, Step step, const PeerList &senders) {
    for (uint32_t peer : senders) {
      MessageReader reader(*received[peer]);
      std::span<const uint32_t> sent = owners[peer];
      if (step == Step::gatherBetweenHosts)
        sent = {&peer, 1};
      for (uint32_t owner : sent) {
        const ReduceLayout::Share &share = layout.shares[owner];
        arrived = reader.take(share.resultBytes);
        if (!arrived)
          return tooShort(peer);
        // Those of other hosts are passed on.
        passedOn = step == Step::gatherBetweenHosts
                       ? results() + reducedFor(owner).resultOffset
                       : nullptr;
        LOCKSTEP_RETURN_IF_ERROR(
            runOn<&ReduceExchange::storeArrived>(worker, share));
      }
    }
    return Status::success();
  }

  /// Finds the accumulators in the message of a peer: of each of its subtrees,
  /// those of `shares`.
  Status read(uint32_t peer, size_t subtrees, std::span<const Reduced> shares) {
    partials[peer].clear();
    if (subtrees == 0)
      return Status::success();
    MessageReader reader(*received[peer]);
    for (size_t i = 0; i < subtrees; ++i)
      for (const Reduced &each : shares) {
        const ReduceLayout::Share &share = layout.shares[each.owner];
        partials[peer].push_back(reader.take(share.end - share.begin));
        if (!partials[peer].back())
          return tooShort(peer);
      }
    return Status::success();
  }

  template <typename BytesOf>
  void addSources(std::span<const Subtree> subtrees, const BytesOf &bytesOf) {
    for (size_t i = 0; i < subtrees.size(); ++i)
      sources.push_back({subtrees[i], bytesOf(i)});
  }

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  /// Calls `function` for pieces [first, last) with `bytes` of accumulators,
  /// shared with idle workers.
  template <void (ReduceExchange::*function)(const ReducePiece &, uint32_t)
                const>
  Status run(uint32_t worker, size_t first, size_t last, uint64_t bytes) {
    auto tile = [this, first](int64_t number, uint32_t executor) {
      (this->*function)(layout.pieces[first + size_t(number)], executor);
    };
    return threads.runTiles(worker, int64_t(last - first), bytes,
                            TileFunction(tile));
  }
  /// The same for the pieces of a share.
  template <void (ReduceExchange::*function)(const ReducePiece &, uint32_t)
                const>
  Status runOn(uint32_t worker, const ReduceLayout::Share &share) {
    return run<function>(worker, share.firstPiece, share.lastPiece,
                         share.end - share.begin);
  }

  void reducePiece(const ReducePiece &piece, uint32_t worker) const {
    const ReduceRange &range = plan.ranges[piece.range];
    uint64_t offset = (piece.slice * range.elements + piece.firstElement) *
                      range.functions->elementSize;
    std::byte *scratch = threads.scratchOf(worker);
    auto *operands = reinterpret_cast<const std::byte **>(scratch);
    std::byte *blocks =
        scratch + alignUp(plan.members.size() * sizeof(void *), 64);
    for (size_t i = 0; i < own.subtrees.size(); ++i) {
      const Subtree &subtree = own.subtrees[i];
      for (uint32_t k = 0; k < subtree.count; ++k)
        operands[k] = range.operand.in(
                          members.bases[layout.contributors[subtree.first + k] -
                                        plan.firstLocal]) +
                      offset;
      reduceTree(*range.functions, partial(i) + piece.offset, operands,
                 subtree.count, int64_t(piece.count), blocks);
    }
  }

  /// The position of a piece in the current share.
  uint64_t offsetOf(const ReducePiece &piece) const {
    return piece.offset - layout.shares[current->owner].begin;
  }

  /// The accumulators of a subtree; null if there are only those of parts.
  const std::byte *find(uint32_t low, uint32_t n, uint64_t offset) const {
    for (const Source &source : sources)
      if (source.subtree.first == low && source.subtree.count == n)
        return source.bytes + offset;
    return nullptr;
  }

  /// As `reduceTree`, with `sources` as leaves.
  void combine(const ReduceFunctions &functions, std::byte *acc, uint32_t low,
               uint32_t n, const ReducePiece &piece, std::byte *scratch) const {
    if (const std::byte *done = find(low, n, offsetOf(piece)))
      return functions.copy(acc, done,
                            int64_t(piece.count * functions.accumulatorSize));
    uint32_t half = std::bit_floor(n - 1);
    combine(functions, acc, low, half, piece, scratch);
    const std::byte *right = find(low + half, n - half, offsetOf(piece));
    if (!right) {
      combine(functions, scratch, low + half, n - half, piece,
              scratch + reduceBlockBytes);
      right = scratch;
    }
    functions.addAccumulator(acc, right, int64_t(piece.count));
  }

  void combineOnHost(const ReducePiece &piece, uint32_t worker) const {
    for (size_t i = 0; i < hostSubtrees().size(); ++i)
      combine(*plan.ranges[piece.range].functions,
              hostPartial(i) + current->offset + offsetOf(piece),
              hostSubtrees()[i].first, hostSubtrees()[i].count, piece,
              threads.scratchOf(worker));
  }

  /// Computes a piece that this executor owns.
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
      range.functions->copy(results() + current->resultOffset +
                                piece.resultOffset,
                            block, int64_t(piece.count * range.resultSize));
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

  void storeArrived(const ReducePiece &piece, uint32_t) const {
    const ReduceRange &range = plan.ranges[piece.range];
    if (passedOn)
      range.functions->copy(passedOn + piece.resultOffset,
                            arrived + piece.resultOffset,
                            int64_t(piece.count * range.resultSize));
    store(piece, arrived + piece.resultOffset);
  }

  const ReduceLayout layout;
  const ReduceLayout::Share &own;
  /// By phase, with whom messages are exchanged.
  std::vector<Step> steps;
  std::vector<PeerList> partners;
  /// By peer, `ownersReducedBy`.
  std::vector<PeerList> owners;
  std::vector<Reduced> reduced;
  /// Of all shares in `reduced`.
  uint64_t reducedBytes = 0, resultBytes = 0;
  Memory staging;
  /// What the messages of peers have of their subtrees.
  std::vector<std::vector<const std::byte *>> partials;
  /// The share that is combined, and of what.
  const Reduced *current = nullptr;
  std::vector<Source> sources;
  /// The results of a share that have arrived, and where they are kept to be
  /// passed on.
  const std::byte *arrived = nullptr;
  std::byte *passedOn = nullptr;
};

} // namespace

Expected<std::unique_ptr<Exchange>>
makeReduceExchange(const CollectivePlan &plan, ThreadsTransport &threads,
                   Peers peers) {
  auto exchange =
      std::make_unique<ReduceExchange>(plan, threads, std::move(peers));
  if (Status status = exchange->allocate(); !status.ok())
    return status;
  return std::unique_ptr<Exchange>(std::move(exchange));
}

} // namespace lockstep::runtime
