//===- ThreadsTransport.h - collectives within one process ------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_THREADS_THREADSTRANSPORT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_THREADS_THREADSTRANSPORT_H

#include "runtime/support/Memory.h"
#include "runtime/transport/Transport.h"
#include "runtime/transport/threads/Rendezvous.h"

#include <memory>
#include <vector>

namespace lockstep::runtime {

/// Shares the tiles of one operation among workers that have nothing else to do.
class TileRunner {
public:
  using Function = void (*)(void *context, int64_t tile, uint32_t worker);
  virtual ~TileRunner() = default;
  /// Calls `function` once for each tile in [0, tiles); returns when all calls have returned.
  virtual void runTiles(uint32_t worker, int64_t tiles, Function function, void *context) = 0;
};

/// All members are replicas of this process. The last one to arrive executes the collective, in
/// cache-sized tiles that idle workers share.
class ThreadsTransport final : public Transport {
public:
  /// `bases[replica]` are the memories of a replica; they and `rendezvous` outlive the transport.
  /// Scratch is allocated here: nothing allocates while a program runs.
  static Expected<std::unique_ptr<ThreadsTransport>>
  create(Rendezvous &rendezvous, const std::vector<const CollectivePlan *> &plans,
         std::vector<std::byte *const *> bases, uint32_t workers, TileRunner &tiles);

  Status start(const CollectivePlan &plan, const Arrival &arrival) override;
  bool test(uint32_t channel, uint32_t epoch) const override {
    return rendezvous.isComplete(channel, epoch);
  }

private:
  ThreadsTransport(Rendezvous &rendezvous, TileRunner &tiles)
      : rendezvous(rendezvous), tiles(tiles) {}
  void publish(const CollectivePlan &plan, const Arrival &arrival);
  Status execute(const CollectivePlan &plan, uint32_t worker);

  /// What one channel needs besides its meeting point.
  struct Channel {
    std::vector<std::byte *const *> bases;
    std::vector<int64_t> dimensions;
    /// Position of a replica among the members.
    std::vector<uint32_t> position;
  };

  Rendezvous &rendezvous;
  TileRunner &tiles;
  std::vector<Channel> channels;
  Memory scratch;
  uint64_t scratchStride = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_THREADS_THREADSTRANSPORT_H
