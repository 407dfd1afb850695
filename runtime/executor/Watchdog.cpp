//===- Watchdog.cpp - detects runs without progress -----------------------===//

#include "runtime/executor/Watchdog.h"

#include "runtime/support/RunningTime.h"
#include "runtime/support/Threads.h"

namespace lockstep::runtime {

Watchdog::Watchdog(Clock &clock, Clock::Duration deadline,
                   std::function<Sample()> sample,
                   std::function<bool(uint64_t)> expire,
                   std::function<void(uint64_t, Clock::Duration)> reportWait)
    : clock(clock), deadline(deadline), sample(std::move(sample)),
      expire(std::move(expire)), reportWait(std::move(reportWait)) {
  Expected<std::thread> created = startThread([this] { main(); });
  if (created)
    thread = std::move(*created);
  else
    started = created.status();
}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    quit = true;
  }
  condition.notify_all();
  if (thread.joinable())
    thread.join();
}

void Watchdog::main() {
  RunningTime time(clock, deadline / 8);
  Sample last;
  Clock::Duration lastProgress = time.now(), lastArrival = lastProgress,
                  waitLimit = deadline;
  std::unique_lock<std::mutex> lock(mutex);
  while (!quit) {
    time.wait(lock, condition);
    Sample current = sample();
    Clock::Duration now = time.now();
    bool isSameRun = current.run != 0 && current.run == last.run;
    if (!isSameRun || current.progress != last.progress)
      lastProgress = now;
    if (!isSameRun || current.waiting == 0 || current.waiting != last.waiting) {
      lastArrival = now;
      waitLimit = deadline;
    }
    last = current;
    if (quit)
      return;
    if (now - lastProgress >= deadline) {
      if (expire(current.run))
        return;
    } else if (now - lastArrival >= waitLimit &&
               now - lastProgress <= deadline / 2) {
      // Otherwise nobody may make progress any more: the heartbeats of other
      // processes come late.
      reportWait(current.run, waitLimit);
      waitLimit *= 2;
    }
  }
}

} // namespace lockstep::runtime
