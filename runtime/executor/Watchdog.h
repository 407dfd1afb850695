//===- Watchdog.h - notices that nothing happens any more -------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_WATCHDOG_H
#define LOCKSTEP_RUNTIME_EXECUTOR_WATCHDOG_H

#include "runtime/support/Clock.h"
#include "runtime/support/Status.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::runtime {

/// A thread that looks at the progress of a run from time to time. Its clock
/// runs only while the same run is active and no replica completes a command or
/// a tile, so that a run that is slow but alive never expires. It looks eight
/// times per deadline, hence notices after at most 9/8 of it. What the process
/// was stopped for does not count. Progress of some is none for those who wait
/// for them: of a run in which the same replicas wait for that long while
/// others go on, which may be a loop without an end, it tells, and lets it go
/// on.
class Watchdog {
public:
  struct Sample {
    /// Identifies the active run; 0: none.
    uint64_t run = 0;
    /// Grows with every completed command and tile.
    uint64_t progress = 0;
    /// Changes whenever a replica begins or ceases to wait; 0: nobody waits.
    uint64_t waiting = 0;
  };

  /// `expire(run)` is called, on the watchdog's thread, when a run has made no
  /// progress for `deadline`; it returns whether the run was really given up.
  /// After that the watchdog ends. `tellOfWait(run, duration)` is called when
  /// the same replicas wait for `deadline`, for twice as long, and so on, while
  /// others make progress.
  Watchdog(Clock &clock, Clock::Duration deadline,
           std::function<Sample()> sample, std::function<bool(uint64_t)> expire,
           std::function<void(uint64_t, Clock::Duration)> tellOfWait);
  ~Watchdog();

  /// Error: there is no thread for it, and it does nothing.
  const Status &status() const { return started; }

private:
  void main();

  Clock &clock;
  Clock::Duration deadline;
  std::function<Sample()> sample;
  std::function<bool(uint64_t)> expire;
  std::function<void(uint64_t, Clock::Duration)> tellOfWait;
  std::mutex mutex;
  std::condition_variable condition;
  bool quit = false;
  Status started;
  std::thread thread;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_WATCHDOG_H
