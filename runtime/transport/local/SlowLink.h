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

/// Delivers messages late: each sender transmits one message at a time, which
/// takes the link's latency and the time of its bytes; receivers are not
/// limited. So schedules for networks can be measured on one machine.
/// Transmission needs no time of a CPU. Unlike other networks, it allocates and
/// takes a lock. Thread-safe.
class SlowLink {
public:
  /// `deliver` puts a message into the mailbox of its receiver. Error: no
  /// thread can be started.
  static Expected<std::unique_ptr<SlowLink>>
  create(const Link &link, size_t senders,
         std::function<void(Message &)> deliver);
  ~SlowLink();

  void send(Message &message);
  /// Discards what has not been delivered. No delivery is in progress
  /// afterwards.
  void close();

private:
  using Clock = std::chrono::steady_clock;

  struct Transmission {
    Clock::time_point arrival;
    /// Messages that arrive at the same time keep their order.
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
  /// When each sender has transmitted what it has sent so far.
  std::vector<Clock::time_point> busyUntil;
  uint64_t sent = 0;
  bool isClosed = false, ends = false;
  std::thread thread;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_SLOWLINK_H
