//===- TileScheduler.cpp --------------------------------------------------===//

#include "runtime/executor/TileScheduler.h"

#include <sched.h>

namespace lockstep::runtime {

void TileScheduler::takeTiles(Job &job, uint32_t worker) {
  Job &own = jobs[worker];
  own.owner.store(uint32_t(&job - jobs.data()), std::memory_order_relaxed);
  while (!leavesKernels.load(std::memory_order_relaxed)) {
    int64_t tile = job.next.fetch_add(1, std::memory_order_relaxed);
    if (tile >= job.tiles)
      break;
    own.tile.store(tile, std::memory_order_relaxed);
    job.function(tile, worker);
    own.completed.store(own.completed.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  }
  own.tile.store(-1, std::memory_order_relaxed);
}

std::vector<TileScheduler::Place>
TileScheduler::tilesInProgress(uint32_t worker) const {
  std::vector<Place> places;
  for (uint32_t helper = 0; helper < jobs.size(); ++helper)
    if (int64_t tile = jobs[helper].tile.load(std::memory_order_relaxed);
        tile >= 0 &&
        jobs[helper].owner.load(std::memory_order_relaxed) == worker)
      places.push_back({helper, tile});
  return places;
}

Status TileScheduler::runTiles(uint32_t worker, int64_t tiles,
                               const TileFunction &function) {
  if (jobs.size() == 1 || tiles < 2) {
    for (int64_t tile = 0; tile < tiles; ++tile)
      function(tile, worker);
    return Status::success();
  }
  Job &job = jobs[worker];
  job.tiles = tiles;
  job.function = function;
  job.next.store(0, std::memory_order_relaxed);
  job.open.store(true, std::memory_order_seq_cst);
  events.notify();
  takeTiles(job, worker);

  // A helper increments `helpers`, then reads `open`; here `open` is cleared
  // before `helpers` is read. So either the loop below sees the helper, or the
  // helper sees that the job is closed.
  job.open.store(false, std::memory_order_seq_cst);
  // A helper that is not waited for may be inside of the function forever: the
  // job keeps its state and is not used again.
  for (uint32_t spins = 0; job.helpers.load(std::memory_order_seq_cst) != 0 &&
                           !leavesKernels.load(std::memory_order_relaxed);
       ++spins) {
    constexpr uint32_t spinsBeforeYield = 1000;
    if (spins < spinsBeforeYield)
      spinPause();
    else
      ::sched_yield();
  }
  // Workers that left early have read `leavesKernels` as true, which happens
  // before this read.
  if (leavesKernels.load(std::memory_order_seq_cst))
    return {StatusCode::interrupted,
            "the run was aborted before all tiles were executed"};
  return Status::success();
}

bool TileScheduler::help(uint32_t worker) {
  bool helped = false;
  for (Job &job : jobs) {
    if (!job.open.load(std::memory_order_relaxed))
      continue;
    job.helpers.fetch_add(1, std::memory_order_seq_cst);
    if (job.open.load(std::memory_order_seq_cst) &&
        job.next.load(std::memory_order_relaxed) < job.tiles) {
      takeTiles(job, worker);
      helped = true;
    }
    job.helpers.fetch_sub(1, std::memory_order_release);
  }
  return helped;
}

uint64_t TileScheduler::progress() const {
  uint64_t sum = 0;
  for (const Job &job : jobs)
    sum += job.completed.load(std::memory_order_relaxed);
  return sum;
}

} // namespace lockstep::runtime
