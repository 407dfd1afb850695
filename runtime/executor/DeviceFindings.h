//===- DeviceFindings.h - values that a device finds ------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_DEVICEFINDINGS_H
#define LOCKSTEP_RUNTIME_EXECUTOR_DEVICEFINDINGS_H

#include "runtime/device/FiniteSearch.h"
#include "runtime/executor/ProgramState.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace lockstep::runtime {

/// Searches for NaNs and infinities on a device with queues, in runs of one
/// program. Replicas enqueue them among their commands, and the host reads all
/// findings at the end of the run, when the device may have executed any
/// command that follows. So each search has an order: that of the searches of
/// its replica, and of a logical clock, by which what a replica computes before
/// a collective or section precedes what others compute behind it. The finding
/// with the lowest order can have no other one as its cause.
///
/// As runs are recorded, so are their searches: a recorded run has those of the
/// run in which it was recorded. Calls for one replica come from one thread at
/// a time.
class DeviceFindings {
public:
  /// For `slots` findings of each replica. Error: out of memory of the device.
  static Expected<std::unique_ptr<DeviceFindings>>
  create(const ProgramState &state, uint32_t slots);

  /// Before a run: nothing has been found.
  void begin();
  /// The next searches of a replica are those of another command.
  void nextCommand(uint32_t replica) { ++orders[replica]; }
  void search(uint32_t replica, uint32_t slot, const artifact::Buffer &buffer,
              uint64_t elements);
  /// The same at once; waits for the device.
  Expected<NonFinite> searchNow(uint32_t replica,
                                const artifact::Buffer &buffer,
                                uint64_t elements) const;

  /// What a replica has computed so far precedes what others compute after
  /// `passes`: when it arrives at a collective or section, and at the end of a
  /// section that it has executed. The section itself reads what others have
  /// computed only from collectives and sections that its replica has passed.
  void publish(uint32_t replica, uint32_t channel);
  void passes(uint32_t replica, uint32_t channel);

  /// After a run, those of each replica. Error: the device has failed.
  Expected<std::vector<std::vector<NonFinite>>> read() const;

private:
  explicit DeviceFindings(const ProgramState &state) : state(state) {}
  FiniteSearch makeSearch(uint32_t replica, uint32_t slot,
                          const artifact::Buffer &buffer,
                          uint64_t elements) const;

  const ProgramState &state;
  uint32_t slots = 0;
  /// A block for each replica, and one more finding for searches at once.
  std::unique_ptr<DeviceMemory> memory;
  /// The clock in the upper half, the number of commands in the lower one.
  static constexpr unsigned clockShift = 32;
  std::vector<uint64_t> orders;
  std::mutex mutex;
  std::vector<uint64_t> channelClocks;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_DEVICEFINDINGS_H
