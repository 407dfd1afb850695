//===- Rendezvous.h - replicas of one process -------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_THREADS_RENDEZVOUS_H
#define LOCKSTEP_RUNTIME_TRANSPORT_THREADS_RENDEZVOUS_H

#include <atomic>
#include <cstdint>
#include <vector>

namespace lockstep::runtime {

/// A lock-free rendezvous for each channel. Each member increments a counter;
/// the last one executes the collective and completes the instance.
///
/// One counter of completed instances serves all epochs: a replica arrives at
/// an instance only after it has seen the previous one complete, so it is at
/// most one epoch ahead.
class Rendezvous {
public:
  /// `members[channel]` replicas take part on each channel; 0 for an unused
  /// channel.
  explicit Rendezvous(const std::vector<uint32_t> &members)
      : channels(members.size()) {
    for (size_t i = 0; i < members.size(); ++i)
      channels[i].members = members[i];
  }

  /// True for the last member, which must call `complete`. The arrivals of the
  /// others happen before its return (acquire/release), so it sees their
  /// writes.
  bool arrive(uint32_t channel) {
    Channel &c = channels[channel];
    if (c.members == 1)
      return true;
    if (c.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != c.members)
      return false;
    c.arrived.store(0, std::memory_order_relaxed);
    return true;
  }

  /// Whether no member has arrived at the current instance yet.
  bool isEmpty(uint32_t channel) const {
    return channels[channel].arrived.load(std::memory_order_relaxed) == 0;
  }

  /// Whether the next member to arrive is the last. Only meaningful while no
  /// other thread arrives.
  bool willBeLast(uint32_t channel) const {
    const Channel &c = channels[channel];
    return c.arrived.load(std::memory_order_relaxed) + 1 == c.members;
  }

  void complete(uint32_t channel, uint32_t instances = 1) {
    Channel &c = channels[channel];
    c.completed.store(c.completed.load(std::memory_order_relaxed) + instances,
                      std::memory_order_release);
  }

  bool isComplete(uint32_t channel, uint32_t epoch) const {
    return int32_t(completed(channel) - epoch) >= 0;
  }
  uint32_t completed(uint32_t channel) const {
    return channels[channel].completed.load(std::memory_order_acquire);
  }
  uint32_t members(uint32_t channel) const { return channels[channel].members; }

private:
  struct alignas(64) Channel {
    std::atomic<uint32_t> arrived{0};
    std::atomic<uint32_t> completed{0};
    uint32_t members = 0;
  };
  std::vector<Channel> channels;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_THREADS_RENDEZVOUS_H
