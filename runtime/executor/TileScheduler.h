//===- TileScheduler.h - tiles that idle workers share ----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_TILESCHEDULER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_TILESCHEDULER_H

#include "runtime/support/Futex.h"
#include "runtime/transport/TileRunner.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace lockstep::runtime {

/// Each worker can offer the tiles of one operation; workers without a runnable
/// replica take some. Results do not depend on which worker executes a tile.
class TileScheduler final : public TileRunner {
public:
  /// Once `leavesKernels` is true, which is final, helpers are not waited for
  /// and no tiles are offered.
  TileScheduler(uint32_t workers, EventCount &events,
                const std::atomic<bool> &leavesKernels)
      : jobs(workers), events(events), leavesKernels(leavesKernels) {}

  Status runTiles(uint32_t worker, int64_t tiles,
                  const TileFunction &function) override;

  /// Executes tiles that other workers offer; false if there were none.
  bool help(uint32_t worker);

  /// Tiles completed so far, by all workers: a heartbeat for the watchdog.
  uint64_t progress() const;

  struct Place {
    uint32_t worker = 0;
    int64_t tile = 0;
  };
  /// The tiles of the job of `worker` that are being executed. For reports,
  /// from any thread.
  std::vector<Place> tilesInProgress(uint32_t worker) const;

private:
  struct alignas(128) Job {
    std::atomic<int64_t> next{0};
    std::atomic<bool> open{false};
    /// Workers that may access the fields below.
    std::atomic<uint32_t> helpers{0};
    int64_t tiles = 0;
    TileFunction function;
    /// Tiles completed by the owner of this job, in any job.
    std::atomic<uint64_t> completed{0};
    /// The tile that this worker executes, in the job of `owner`; -1: none.
    std::atomic<int64_t> tile{-1};
    std::atomic<uint32_t> owner{0};
  };

  void takeTiles(Job &job, uint32_t worker);

  std::vector<Job> jobs;
  EventCount &events;
  const std::atomic<bool> &leavesKernels;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_TILESCHEDULER_H
