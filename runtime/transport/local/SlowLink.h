//===- SlowLink.h - delays messages like a network --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_SLOWLINK_H
#define LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_SLOWLINK_H

#include "runtime/collectives/CollectiveCost.h"
#include "runtime/collectives/LinkTimeline.h"
#include "runtime/transport/Network.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <tuple>
#include <vector>

namespace lockstep::runtime {

/// Simulates a slow link of each executor of one process, so that schedules for
/// networks can be measured on one machine. A message takes the latency of the
/// link and the time for its bytes; each sender transmits as many at once as
/// the link has streams. A receiver may receive from any number of senders at
/// once. Transmissions take no CPU time. Unlike `Network` promises, sending
/// allocates memory and takes a lock. Thread-safe.
class SlowLink {
public:
  struct Capacity {
    Link link;
    /// Positive; see `LinkTimeline`.
    uint64_t streams = 1;
  };

  /// `senders` is the number of executors; `Message::from` is below it.
  /// `deliver` puts a message into the mailbox of its receiver. It is called on
  /// a thread of the link, with its lock, and must not call the link. Error:
  /// the thread cannot be started.
  static Expected<std::unique_ptr<SlowLink>>
  create(const Capacity &capacity, size_t senders,
         std::function<void(Message &)> deliver);
  ~SlowLink();

  /// Delivers `message` when its transmission has ended. It must live until
  /// then or until `close`, after which there is no effect.
  void send(Message &message);
  /// Discards the messages that have not been delivered. `deliver` is not
  /// called any more.
  void close();

private:
  using Clock = std::chrono::steady_clock;

  struct Transmission {
    Clock::time_point arrival;
    /// Messages that arrive at the same time are delivered in the order in
    /// which they were sent.
    uint64_t number;
    Message *message;

    bool operator>(const Transmission &other) const {
      return std::tie(arrival, number) > std::tie(other.arrival, other.number);
    }
  };

  SlowLink(const Capacity &capacity, size_t senders,
           std::function<void(Message &)> deliver)
      : link(capacity.link), deliver(std::move(deliver)),
        timelines(senders, LinkTimeline(capacity.streams)) {}

  void run();

  const Link link;
  const std::function<void(Message &)> deliver;
  std::mutex mutex;
  std::condition_variable changed;
  std::priority_queue<Transmission, std::vector<Transmission>, std::greater<>>
      pending;
  /// For each sender, its messages, in seconds since `begin`.
  std::vector<LinkTimeline> timelines;
  const Clock::time_point begin = Clock::now();
  uint64_t sent = 0;
  bool isClosed = false, ends = false;
  std::thread thread;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_SLOWLINK_H
