//===- SlowLink.cpp -------------------------------------------------------===//

#include "runtime/transport/local/SlowLink.h"

#include "runtime/support/Threads.h"

#include <algorithm>
#include <sys/prctl.h>

namespace lockstep::runtime {

Expected<std::unique_ptr<SlowLink>>
SlowLink::create(const Capacity &capacity, size_t senders,
                 std::function<void(Message &)> deliver) {
  std::unique_ptr<SlowLink> result(
      new SlowLink(capacity, senders, std::move(deliver)));
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
  TransferSeconds seconds = {
      std::min(most, link.latency),
      std::min(most, link.secondsPerByte * double(bytes))};
  std::lock_guard<std::mutex> lock(mutex);
  if (isClosed)
    return;
  using Seconds = std::chrono::duration<double>;
  double now = Seconds(Clock::now() - begin).count();
  Seconds end(timelines[message.from].carry(now, seconds).end);
  Clock::time_point arrival =
      begin + std::chrono::duration_cast<Clock::duration>(end);
  bool isNext = pending.empty() || arrival < pending.top().arrival;
  pending.push({arrival, sent++, &message});
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
