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

/// The members of the collective on one channel, and the sizes of their
/// operands.
struct ChannelMembers {
  /// For each member in this session, the addresses of its memories, one for
  /// each `artifact::Space`.
  std::vector<std::byte *const *> bases;
  /// For each member, in this session or not, the dimensions of its operands.
  /// Dynamic ones are stored by `publishDimensions`.
  std::vector<int64_t> dimensions;
  /// For each replica of this session, its position among all members, or ~0u
  /// if it is not a member.
  std::vector<uint32_t> position;

  /// The memory of a collective whose members are all in this session.
  CollectiveMemory memory() {
    return {bases.data(), dimensions.data(), nullptr};
  }
};

/// The members of the collective that `plan` describes, in the session whose
/// first replica has rank `firstRank`; `bases[replica]` are the addresses of
/// the memories of a replica. Static dimensions are set.
ChannelMembers membersOf(const CollectivePlan &plan,
                         const std::vector<std::byte *const *> &bases,
                         uint32_t firstRank);

/// Stores the dynamic dimensions of the operands of a replica that arrives.
void publishDimensions(const CollectivePlan &plan, const Arrival &arrival,
                       ChannelMembers &members);

/// Carries out collectives whose members are all replicas of this session. The
/// worker of the last replica to arrive executes the collective, in tiles that
/// fit into a cache; idle workers execute some of them.
class ThreadsTransport final : public Transport {
public:
  /// `bases` and `firstRank` are as for `membersOf`. The memories, `rendezvous`
  /// and `tiles` must outlive the transport. Allocates scratch memory for each
  /// of the `workers`, so that programs do not allocate while they run. Error:
  /// out of memory.
  static Expected<std::unique_ptr<ThreadsTransport>>
  create(Rendezvous &rendezvous,
         const std::vector<const CollectivePlan *> &plans,
         std::vector<std::byte *const *> bases, uint32_t firstRank,
         uint32_t workers, TileRunner &tiles);

  Status start(const CollectivePlan &plan, const Arrival &arrival) override;

  // Used by ExchangeTransport for the local members.

  ChannelMembers &members(uint32_t channel) { return channels[channel]; }
  /// Stores the dynamic dimensions of the operands of a replica that arrives.
  void publish(const CollectivePlan &plan, const Arrival &arrival) {
    publishDimensions(plan, arrival, channels[plan.channel]);
  }
  /// The scratch memory of a worker, `collectiveScratchBytes` for the
  /// collective with the most members.
  std::byte *scratchOf(uint32_t worker) const { return scratch[worker].data(); }
  /// Calls `function` for each tile in [0, count), on idle workers too if
  /// operands of `bytes` bytes are worth waking them. Error: the run has
  /// stopped waiting for kernels, and other workers may still execute tiles.
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
