//===- GatherExchange.cpp - exchange of operands --------------------------===//
//
// A message holds the sizes of the operands, then the operands, sent without a
// copy:
//
//   all_gather, gather   dimensions of local members | their operands, one
//                        after the other, for each operand of the collective
//   broadcast            dimensions of the root | its operands
//   scatter              row counts of the receiver's members | these rows
//   barrier              empty
//
// If several executors are on each of several hosts, an all_gather or barrier
// has two phases. The executors at one place of all hosts exchange their
// messages, and then pass all of these on to the others of their hosts, so that
// an operand is sent to each host once.
//
//===----------------------------------------------------------------------===//

#include "runtime/collectives/CollectiveCost.h"
#include "runtime/transport/exchange/Exchange.h"

#include <cstring>

namespace lockstep::runtime {

using artifact::CollectiveKind;

namespace {

class GatherExchange final : public Exchange {
public:
  GatherExchange(const CollectivePlan &plan, ThreadsTransport &threads,
                 Peers given)
      : Exchange(plan, threads, std::move(given)),
        remote(plan.gathers.size() * plan.members.size(), nullptr) {
    uint32_t root = group.of(plan.root);
    writes = plan.kind != CollectiveKind::barrier &&
             (plan.kind != CollectiveKind::gather || self == root);
    if (group.hosts() > 1 && isExchangedByHost(plan.kind))
      exchangeByHost();
    else
      exchangeDirectly(root);
  }

  Status prepare(uint32_t) override {
    if (plan.kind == CollectiveKind::scatter && plan.isLocal(plan.root)) {
      readCounts(plan, memory());
      LOCKSTEP_RETURN_IF_ERROR(checkDimensions(plan, memory().dimensions));
    }
    for (Outgoing &outgoing : phases[0].outgoing) {
      outgoing.pieces.clear();
      LOCKSTEP_RETURN_IF_ERROR(
          plan.kind == CollectiveKind::scatter ? addRows(outgoing)
          : plan.kind == CollectiveKind::broadcast
              ? addOperands(outgoing, plan.root, 1)
              : addOperands(outgoing, plan.firstLocal, plan.localCount));
    }
    return Status::success();
  }

  Status finish(uint32_t phase, uint32_t worker) override {
    for (const Sender &sender : phases[phase].senders)
      LOCKSTEP_RETURN_IF_ERROR(take(sender));
    if (phase + 1 < phases.size())
      return passOn();
    if (!writes)
      return Status::success();
    LOCKSTEP_RETURN_IF_ERROR(checkDimensions(plan, memory().dimensions));
    auto tile = [plan = &plan, memory = memory()](int64_t number, uint32_t) {
      runCollectiveTile(*plan, memory, number, nullptr);
    };
    return threads.runTiles(worker, plan.tiles,
                            plan.bytes * plan.members.size(),
                            TileFunction(tile));
  }

private:
  CollectiveMemory memory() {
    return {members.bases.data(), members.dimensions.data(), remote.data()};
  }
  int64_t *row(uint32_t member) {
    return members.dimensions.data() +
           size_t(member) * plan.publishedDimensions;
  }

  /// Adds one message between each two that exchange operands; `root` is the
  /// root's executor.
  void exchangeDirectly(uint32_t root) {
    bool fromRoot = plan.kind == CollectiveKind::broadcast ||
                    plan.kind == CollectiveKind::scatter;
    for (uint32_t peer = 0; peer < peers.size(); ++peer) {
      if (peer == self)
        continue;
      bool sends = fromRoot
                       ? self == root
                       : plan.kind != CollectiveKind::gather || peer == root;
      bool receives = fromRoot
                          ? peer == root
                          : plan.kind != CollectiveKind::gather || self == root;
      if (sends)
        sendTo(0, peer);
      if (receives)
        receiveFrom(0, peer);
    }
  }

  /// Adds the messages of both phases.
  void exchangeByHost() {
    passesOn = true;
    atOwnPlace = group.atPlaceOf(self);
    phases.resize(2);
    for (uint32_t peer : atOwnPlace)
      if (peer != self) {
        sendTo(0, peer);
        receiveFrom(0, peer);
      }
    for (uint32_t peer : group.onHostOf(self))
      if (peer != self) {
        sendTo(1, peer);
        receiveFrom(1, peer, group.atPlaceOf(peer));
      }
  }

  void addDimensions(Outgoing &outgoing, uint32_t first, uint32_t count) {
    outgoing.pieces.push_back(
        {reinterpret_cast<const std::byte *>(row(first)),
         sizeof(int64_t) * plan.publishedDimensions * count});
  }

  Status addOperands(Outgoing &outgoing, uint32_t first, uint32_t count) {
    addDimensions(outgoing, first, count);
    for (const GatherOperand &gather : plan.gathers)
      for (uint32_t member = first; member < first + count; ++member) {
        Expected<uint64_t> bytes =
            operandBytes(plan, gather, row(member), member);
        if (!bytes)
          return bytes.status();
        const std::byte *operand =
            plan.isLocal(member)
                ? gather.operand.in(members.bases[member - plan.firstLocal])
                : remoteOperand(size_t(&gather - plan.gathers.data()), member);
        outgoing.pieces.push_back({operand, *bytes});
      }
    return Status::success();
  }

  /// Fills the messages to the executors of this host with those of all
  /// executors at its place.
  Status passOn() {
    for (Outgoing &outgoing : phases[1].outgoing) {
      outgoing.pieces.clear();
      for (uint32_t peer : atOwnPlace)
        LOCKSTEP_RETURN_IF_ERROR(
            addOperands(outgoing, peers[peer].first, peers[peer].count));
    }
    return Status::success();
  }

  Status addRows(Outgoing &outgoing) {
    const Peer *peer = &peers.front();
    while (peer->executor != outgoing.message.to)
      ++peer;
    addDimensions(outgoing, peer->first, peer->count);
    const GatherOperand &gather = plan.gathers[0];
    uint64_t before = 0, rows = 0;
    for (uint32_t i = 0; i < peer->first + peer->count; ++i)
      (i < peer->first ? before : rows) +=
          i == plan.root ? 0 : uint64_t(*row(i));
    outgoing.pieces.push_back(
        {gather.operand.in(members.bases[plan.root - plan.firstLocal]) +
             before * gather.rowBytes,
         rows * gather.rowBytes});
    return Status::success();
  }

  /// Records the sizes and addresses of the operands in a message.
  Status take(const Sender &sender) {
    MessageReader reader(*received[sender.peer]);
    if (plan.kind == CollectiveKind::scatter)
      return takeOf(plan.firstLocal, plan.localCount, sender.peer, reader);
    if (plan.kind == CollectiveKind::broadcast)
      return takeOf(plan.root, 1, sender.peer, reader);
    for (uint32_t source : sender.sources)
      LOCKSTEP_RETURN_IF_ERROR(takeOf(peers[source].first, peers[source].count,
                                      sender.peer, reader));
    return Status::success();
  }

  /// The same for `count` members from `first`. Sizes are checked before bytes
  /// that depend on them are read.
  Status takeOf(uint32_t first, uint32_t count, uint32_t peer,
                MessageReader &reader) {
    uint64_t headBytes = sizeof(int64_t) * plan.publishedDimensions * count;
    const std::byte *head = reader.take(headBytes);
    if (!head)
      return tooShort(peer);
    if (headBytes)
      std::memcpy(row(first), head, headBytes);
    if (plan.kind == CollectiveKind::scatter) {
      LOCKSTEP_RETURN_IF_ERROR(
          checkDimensions(plan, members.dimensions.data()));
      uint64_t rows = 0;
      for (uint32_t i = first; i < first + count; ++i)
        rows += uint64_t(*row(i));
      return place(reader, peer, 0, plan.root, rows * plan.gathers[0].rowBytes);
    }
    for (uint32_t g = 0; g < plan.gathers.size(); ++g)
      for (uint32_t member = first; member < first + count; ++member) {
        if (!plan.contributes(member))
          continue;
        Expected<uint64_t> bytes =
            operandBytes(plan, plan.gathers[g], row(member), member);
        if (!bytes)
          return bytes.status();
        LOCKSTEP_RETURN_IF_ERROR(place(reader, peer, g, member, *bytes));
      }
    return Status::success();
  }

  Status place(MessageReader &reader, uint32_t peer, uint32_t gather,
               uint32_t member, uint64_t bytes) {
    const std::byte *&address = remoteOperand(gather, member);
    address = reader.take(bytes);
    return address ? Status::success() : tooShort(peer);
  }

  const std::byte *&remoteOperand(size_t gather, uint32_t member) {
    return remote[gather * plan.members.size() + member];
  }

  /// With two phases, the executors at this place of all hosts.
  std::vector<uint32_t> atOwnPlace;
  /// Operands of members in other executors; see `CollectiveMemory`.
  std::vector<const std::byte *> remote;
  bool writes = false;
};

} // namespace

std::unique_ptr<Exchange> makeGatherExchange(const CollectivePlan &plan,
                                             ThreadsTransport &threads,
                                             Peers peers) {
  return std::make_unique<GatherExchange>(plan, threads, std::move(peers));
}

} // namespace lockstep::runtime
