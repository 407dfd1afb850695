//===- Watchdog.cpp -------------------------------------------------------===//

#include "runtime/executor/Watchdog.h"

#include <algorithm>

namespace lockstep::runtime {

Watchdog::Watchdog(Clock &clock, Clock::Duration deadline, std::function<Sample()> sample,
                   std::function<bool(uint64_t)> expire)
    : clock(clock), deadline(deadline), sample(std::move(sample)), expire(std::move(expire)) {
  thread = std::thread([this] { main(); });
}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    quit = true;
  }
  condition.notify_all();
  thread.join();
}

void Watchdog::main() {
  Clock::Duration period = std::max<Clock::Duration>(deadline / 8, std::chrono::milliseconds(1));
  Sample last;
  Clock::Duration lastChange = clock.now();
  std::unique_lock<std::mutex> lock(mutex);
  while (!quit) {
    clock.waitUntil(lock, condition, clock.now() + period);
    Sample current = sample();
    Clock::Duration now = clock.now();
    if (current.run == 0 || current.run != last.run || current.progress != last.progress) {
      last = current;
      lastChange = now;
      continue;
    }
    if (now - lastChange >= deadline && !quit && expire(current.run))
      return;
  }
}

} // namespace lockstep::runtime
