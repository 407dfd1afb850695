//===- Rendezvous.h - replicas of one process meet --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_THREADS_RENDEZVOUS_H
#define LOCKSTEP_RUNTIME_TRANSPORT_THREADS_RENDEZVOUS_H

#include <atomic>
#include <cstdint>
#include <vector>

namespace lockstep::runtime {

/// One meeting point for each channel. No locks: a member adds one, and the
/// last one, who finds that everybody has arrived, does what has to be done and
/// completes the instance.
///
/// One counter of completed instances is enough for all epochs: nobody arrives
/// for an instance before having seen the previous one complete, so a replica
/// is at most one epoch ahead.
class Rendezvous {
public:
  /// `members[channel]` replicas meet on each channel; 0 where nobody does.
  explicit Rendezvous(const std::vector<uint32_t> &members)
      : channels(members.size()) {
    for (size_t i = 0; i < members.size(); ++i)
      channels[i].members = members[i];
  }

  /// True for the last member, who sees all that the others have written before
  /// they arrived and must call `complete`.
  bool arrive(uint32_t channel) {
    Channel &c = channels[channel];
    if (c.members == 1)
      return true;
    if (c.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != c.members)
      return false;
    c.arrived.store(0, std::memory_order_relaxed);
    return true;
  }

  /// Whether nobody has arrived for the current instance yet.
  bool isEmpty(uint32_t channel) const {
    return channels[channel].arrived.load(std::memory_order_relaxed) == 0;
  }

  /// Whether the next one to arrive is the last. Only meaningful while nobody
  /// else arrives.
  bool willBeLast(uint32_t channel) const {
    const Channel &c = channels[channel];
    return c.arrived.load(std::memory_order_relaxed) + 1 == c.members;
  }

  void complete(uint32_t channel) {
    Channel &c = channels[channel];
    c.completed.store(c.completed.load(std::memory_order_relaxed) + 1,
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
