//===- SlowLink.h - delays messages like a network --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_SLOWLINK_H
#define LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_SLOWLINK_H

#include "runtime/collectives/CollectiveCost.h"
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
/// networks can be measured on one machine. Each sender transmits one
/// message at a time, which takes the latency of the link and the time for its
/// bytes. A receiver may receive from any number of senders at once.
/// Transmissions take no CPU time. Unlike `Network` promises, sending allocates
/// memory and takes a lock. Thread-safe.
class SlowLink {
public:
  /// `senders` is the number of executors; `Message::from` is below it.
  /// `deliver` puts a message into the mailbox of its receiver. It is called on
  /// a thread of the link, with its lock, and must not call the link. Error:
  /// the thread cannot be started.
  static Expected<std::unique_ptr<SlowLink>>
  create(const Link &link, size_t senders,
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

  SlowLink(const Link &link, size_t senders,
           std::function<void(Message &)> deliver)
      : link(link), deliver(std::move(deliver)), busyUntil(senders) {}

  void run();

  const Link link;
  const std::function<void(Message &)> deliver;
  std::mutex mutex;
  std::condition_variable changed;
  std::priority_queue<Transmission, std::vector<Transmission>, std::greater<>>
      pending;
  /// For each sender, the time at which its last message has been transmitted.
  std::vector<Clock::time_point> busyUntil;
  uint64_t sent = 0;
  bool isClosed = false, ends = false;
  std::thread thread;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_SLOWLINK_H
