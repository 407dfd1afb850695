//===- ThreadsTransport.h - collectives within one process ------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_THREADS_THREADSTRANSPORT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_THREADS_THREADSTRANSPORT_H

#include "runtime/support/Memory.h"
#include "runtime/transport/TileRunner.h"
#include "runtime/transport/Transport.h"
#include "runtime/transport/threads/Rendezvous.h"

#include <memory>
#include <vector>

namespace lockstep::runtime {

/// The members of one channel and the sizes of their operands.
struct ChannelMembers {
  /// For each member in this session, the addresses of its memories.
  std::vector<std::byte *const *> bases;
  /// Dimensions of the operands of all members; dynamic ones are stored by
  /// `publishDimensions`.
  std::vector<int64_t> dimensions;
  /// For each replica of this session, its position among all members.
  std::vector<uint32_t> position;

  CollectiveMemory memory() {
    return {bases.data(), dimensions.data(), nullptr};
  }
};

/// The members of a plan, which describes one collective, in a session;
/// `bases[replica]` are the memories of a replica. Static dimensions are set.
ChannelMembers membersOf(const CollectivePlan &plan,
                         const std::vector<std::byte *const *> &bases,
                         uint32_t firstRank);

/// Records the sizes of a replica's operands.
void publishDimensions(const CollectivePlan &plan, const Arrival &arrival,
                       ChannelMembers &members);

/// All members are replicas of this process. The worker of the last one to
/// arrive executes the collective, in cache-sized tiles shared with idle
/// workers.
class ThreadsTransport final : public Transport {
public:
  /// `bases[replica]` are the memories of a replica of this session; they and
  /// `rendezvous` outlive the transport. `firstRank` is that of replica 0.
  /// Allocates all scratch memory: programs do not allocate while they run.
  static Expected<std::unique_ptr<ThreadsTransport>>
  create(Rendezvous &rendezvous,
         const std::vector<const CollectivePlan *> &plans,
         std::vector<std::byte *const *> bases, uint32_t firstRank,
         uint32_t workers, TileRunner &tiles);

  Status start(const CollectivePlan &plan, const Arrival &arrival) override;

  // Used by ExchangeTransport for the local members.

  ChannelMembers &members(uint32_t channel) { return channels[channel]; }
  /// Records the sizes of a replica's operands.
  void publish(const CollectivePlan &plan, const Arrival &arrival) {
    publishDimensions(plan, arrival, channels[plan.channel]);
  }
  std::byte *scratchOf(uint32_t worker) const { return scratch[worker].data(); }
  /// Executes `count` tiles, shared with idle workers if `bytes` is large
  /// enough. Error: the run no longer waits for tiles, which workers may still
  /// execute.
  Status runTiles(uint32_t worker, int64_t count, uint64_t bytes,
                  const TileFunction &function);

private:
  ThreadsTransport(Rendezvous &rendezvous, TileRunner &tiles)
      : rendezvous(rendezvous), tiles(tiles) {}
  Status execute(const CollectivePlan &plan, uint32_t worker);

  Rendezvous &rendezvous;
  TileRunner &tiles;
  std::vector<ChannelMembers> channels;
  /// One for each worker.
  Arenas scratch;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_THREADS_THREADSTRANSPORT_H
