//===- SlowLink.cpp -------------------------------------------------------===//

#include "runtime/transport/local/SlowLink.h"

#include "runtime/support/Threads.h"

#include <algorithm>
#include <sys/prctl.h>

namespace lockstep::runtime {

Expected<std::unique_ptr<SlowLink>>
SlowLink::create(const Link &link, size_t senders,
                 std::function<void(Message &)> deliver) {
  std::unique_ptr<SlowLink> result(
      new SlowLink(link, senders, std::move(deliver)));
  Expected<std::thread> thread =
      startThread([state = result.get()] { state->run(); });
  if (!thread)
    return thread.status();
  result->thread = std::move(*thread);
  return result;
}

SlowLink::~SlowLink() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ends = true;
  }
  changed.notify_one();
  if (thread.joinable())
    thread.join();
}

void SlowLink::send(Message &message) {
  uint64_t bytes = 0;
  for (const MessagePiece &piece : message.pieces)
    bytes += piece.size;
  // A clock of nanoseconds counts to 292 years.
  constexpr double most = 1e6;
  std::chrono::duration<double> seconds(
      std::min(most, link.latency + link.secondsPerByte * double(bytes)));
  std::lock_guard<std::mutex> lock(mutex);
  if (isClosed)
    return;
  Clock::time_point &busy = busyUntil[message.from];
  busy = std::max(busy, Clock::now()) +
         std::chrono::duration_cast<Clock::duration>(seconds);
  bool isNext = pending.empty() || busy < pending.top().arrival;
  pending.push({busy, sent++, &message});
  if (isNext)
    changed.notify_one();
}

void SlowLink::close() {
  std::lock_guard<std::mutex> lock(mutex);
  isClosed = true;
  pending = {};
}

void SlowLink::run() {
  // The kernel may wake this thread 50 us late, as long as a short message.
  ::prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
  std::unique_lock<std::mutex> lock(mutex);
  while (!ends) {
    if (pending.empty()) {
      changed.wait(lock);
      continue;
    }
    Transmission next = pending.top();
    if (Clock::now() < next.arrival) {
      changed.wait_until(lock, next.arrival);
      continue;
    }
    pending.pop();
    // With the lock: after `close`, senders may free their messages.
    deliver(*next.message);
  }
}

} // namespace lockstep::runtime
