//===- QueueTimes.h - when a device has executed commands -------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_QUEUETIMES_H
#define LOCKSTEP_RUNTIME_EXECUTOR_QUEUETIMES_H

#include "runtime/device/DeviceQueues.h"

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep::runtime {

/// Notes when the queues of a device begin and end commands, waits and
/// collectives of a run, without waiting for the device. Calls for one replica
/// come from one thread at a time.
class QueueTimes final : public ExchangeObserver {
public:
  /// A part of a run, in nanoseconds of the clock.
  struct Span {
    /// Of a command or a wait, its number; of a collective, its channel.
    uint32_t command = 0;
    bool isWait = false;
    int64_t begin = 0, end = 0;
  };

  /// `now` is the clock of the spans.
  QueueTimes(uint32_t replicas, std::function<int64_t()> now);

  /// The queues of a run, which begins. Error: the device cannot note times.
  Status begin(DeviceQueues &queues);
  /// A command of a replica begins. Error: see `begin`.
  Status commandBegins(uint32_t replica, uint32_t command);
  /// It has ended: `isNoted` ones become a span.
  Status commandEnds(uint32_t replica, bool isNoted);
  /// The replica's queue waits until `command` has been executed, since the
  /// begin of the latest command.
  Status passes(uint32_t replica, uint32_t command);
  void exchangeBegins(uint32_t channel, Queue &queue) override;
  void exchangeEnds(uint32_t channel, Queue &queue) override;

  /// What the run has noted, by replicas.
  struct Result {
    std::vector<std::vector<Span>> replicas;
    std::vector<Span> collectives;
    /// Whether all collectives are there.
    Status status;
  };
  /// The device has executed everything; the queues may be destroyed
  /// afterwards. Error: the device has failed.
  Expected<Result> end();

private:
  struct Pair {
    Timestamp *begin = nullptr, *end = nullptr;
    uint32_t command = 0;
    bool isWait = false;
  };
  /// Timestamps that are used again in later runs.
  struct Timestamps {
    std::deque<std::unique_ptr<Timestamp>> all;
    size_t used = 0;
  };
  struct alignas(128) Track {
    Timestamps timestamps;
    std::vector<Pair> pairs;
    Timestamp *open = nullptr;
    uint32_t command = 0;
  };

  /// Notes the time at the end of a queue.
  Expected<Timestamp *> note(Timestamps &timestamps, Queue &queue);
  /// The spans that the device has executed; forgets them.
  std::vector<Span> resolve(Track &track) const;
  void noteExchange(uint32_t channel, Queue &queue, bool isEnd);

  const std::function<int64_t()> now;
  DeviceQueues *queues = nullptr;
  std::vector<Track> tracks;
  std::mutex mutex;
  /// Of collectives; guarded by `mutex`.
  Track exchanges;
  Status exchangeStatus;
  /// The time of the beginning of the latest run.
  std::unique_ptr<Timestamp> base, next;
  double baseTime = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_QUEUETIMES_H
