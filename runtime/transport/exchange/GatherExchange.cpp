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
//===----------------------------------------------------------------------===//

#include "runtime/transport/exchange/Exchange.h"

#include <cstring>

namespace lockstep::runtime {

using artifact::CollectiveKind;

namespace {

class GatherExchange final : public Exchange {
public:
  GatherExchange(const CollectivePlan &plan, ThreadsTransport &threads,
                 std::vector<Peer> given, uint32_t self)
      : Exchange(plan, threads, std::move(given), self),
        remote(plan.gathers.size() * plan.members.size(), nullptr) {
    uint32_t root = peerOf(plan.root);
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
      phases[0].expected += receives;
    }
    writes = plan.kind != CollectiveKind::barrier &&
             (plan.kind != CollectiveKind::gather || self == root);
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

  Status finish(uint32_t, uint32_t worker) override {
    for (uint32_t peer = 0; peer < peers.size(); ++peer)
      if (received[peer])
        LOCKSTEP_RETURN_IF_ERROR(take(peer));
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
        outgoing.pieces.push_back(
            {gather.operand.in(members.bases[member - plan.firstLocal]),
             *bytes});
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

  /// Records the sizes and addresses of the operands in a message. Sizes are
  /// checked before bytes that depend on them are read.
  Status take(uint32_t peer) {
    MessageReader reader(*received[peer]);
    uint32_t first = peers[peer].first, count = peers[peer].count;
    if (plan.kind == CollectiveKind::scatter)
      first = plan.firstLocal, count = plan.localCount;
    else if (plan.kind == CollectiveKind::broadcast)
      first = plan.root, count = 1;
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
    const std::byte *&address = remote[gather * plan.members.size() + member];
    address = reader.take(bytes);
    return address ? Status::success() : tooShort(peer);
  }

  /// Operands of members in other executors; see `CollectiveMemory`.
  std::vector<const std::byte *> remote;
  bool writes = false;
};

} // namespace

std::unique_ptr<Exchange> makeGatherExchange(const CollectivePlan &plan,
                                             ThreadsTransport &threads,
                                             std::vector<Peer> peers,
                                             uint32_t self) {
  return std::make_unique<GatherExchange>(plan, threads, std::move(peers),
                                          self);
}

} // namespace lockstep::runtime
