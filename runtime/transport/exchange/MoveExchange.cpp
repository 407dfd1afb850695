//===- MoveExchange.cpp - moves across executors --------------------------===//
//
// A message holds the rows of all moves from the members of one executor to
// those of another, in the order of the plans. Executors without moves between
// them exchange no message.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/exchange/Exchange.h"

#include <algorithm>

namespace lockstep::runtime {
namespace {

class MoveExchange final : public Exchange {
public:
  MoveExchange(const CollectivePlan &plan, ThreadsTransport &threads,
               Peers given)
      : Exchange(plan, threads, std::move(given)) {
    size_t rows = 0;
    for (const Move &move : plan.moves)
      rows += isElsewhere(move) ? move.rows : 0;
    remote.resize(rows);
    for (uint32_t peer = 0; peer < peers.size(); ++peer) {
      if (peer == self)
        continue;
      if (std::ranges::any_of(plan.sends, [&](const Move &move) {
            return has(peer, move.target);
          }))
        sendTo(0, peer);
      if (std::ranges::any_of(plan.moves, [&](const Move &move) {
            return isElsewhere(move) && has(peer, move.source);
          }))
        receiveFrom(0, peer);
    }
  }

  Status prepare(uint32_t) override {
    for (Outgoing &outgoing : phases[0].outgoing) {
      outgoing.pieces.clear();
      uint32_t peer = 0;
      while (peers[peer].executor != outgoing.message.to)
        ++peer;
      for (const Move &move : plan.sends) {
        if (!has(peer, move.target))
          continue;
        const std::byte *from =
            plan.gathers[move.operand].operand.in(
                members.bases[move.source - plan.firstLocal]) +
            move.from;
        for (uint64_t row = 0; row < move.rows; ++row)
          outgoing.pieces.push_back({from + row * move.stride, move.rowBytes});
      }
    }
    return Status::success();
  }

  Status finish(uint32_t, uint32_t worker) override {
    for (uint32_t peer = 0; peer < peers.size(); ++peer)
      if (received[peer])
        LOCKSTEP_RETURN_IF_ERROR(take(peer));
    CollectiveMemory memory{members.bases.data(), nullptr, remote.data()};
    auto tile = [plan = &plan, memory](int64_t number, uint32_t) {
      HostCopies copies;
      copyMove(*plan, memory, plan->moves[size_t(number)], copies);
    };
    return threads.runTiles(worker, int64_t(plan.moves.size()),
                            plan.bytes * plan.localCount, TileFunction(tile));
  }

private:
  bool has(uint32_t peer, uint32_t member) const {
    return member - peers[peer].first < peers[peer].count;
  }
  bool isElsewhere(const Move &move) const {
    return move.source != Move::none && !plan.isLocal(move.source);
  }

  Status take(uint32_t peer) {
    MessageReader reader(*received[peer]);
    for (const Move &move : plan.moves) {
      if (!isElsewhere(move) || !has(peer, move.source))
        continue;
      for (uint64_t row = 0; row < move.rows; ++row) {
        remote[move.firstRow + row] = reader.take(move.rowBytes);
        if (!remote[move.firstRow + row])
          return tooShort(peer);
      }
    }
    return Status::success();
  }

  /// Rows of moves from other executors; see `Move::firstRow`.
  std::vector<const std::byte *> remote;
};

} // namespace

std::unique_ptr<Exchange> makeMoveExchange(const CollectivePlan &plan,
                                           ThreadsTransport &threads,
                                           Peers peers) {
  return std::make_unique<MoveExchange>(plan, threads, std::move(peers));
}

} // namespace lockstep::runtime
