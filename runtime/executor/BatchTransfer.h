//===- BatchTransfer.h - batches for a device with queues -------*- C++ -*-===//
//
// The batch of a run can be transferred while the device executes the run
// before it:
//
//   transfer->bind(replica, batches[0]);
//   transfer->announce(replica, batches[1]);
//   transfer->begin(queue);   // the run, which reads batches[0], follows
//   transfer->sendAhead();    // batches[1], on another queue
//   ... enqueue the run, and wait for its end ...
//   transfer->bind(replica, batches[1]);
//   transfer->begin(queue);   // copies it within the device
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_BATCHTRANSFER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_BATCHTRANSFER_H

#include "runtime/device/Device.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lockstep::runtime {

/// The batches with which the replicas of a program begin. The memory of the
/// caller is read in `begin` and `sendAhead` only, by the calling thread.
/// Destroyed after the queues of the program. Not thread-safe.
class BatchTransfer {
public:
  /// For batches of `bytes` bytes each. If not `sendsAhead`, `announce` has no
  /// effect, and there is no memory for its batches. Error: out of memory of
  /// the device or the host, or the device has no more queues.
  static Expected<std::unique_ptr<BatchTransfer>>
  create(Device &device, uint32_t replicas, uint64_t bytes, bool sendsAhead);

  /// Where a replica reads its batch, on the device.
  std::byte *address(uint32_t replica) const;

  /// The batch for following runs, until another one is bound.
  void bind(uint32_t replica, const std::byte *batch) {
    bound[replica] = batch;
  }
  /// The batch that is probably bound after the next run. Only batches that are
  /// announced for all replicas are sent ahead.
  void announce(uint32_t replica, const std::byte *batch) {
    announced[replica] = batch;
  }

  /// Before a run: commands that follow on the queue find the bound batches at
  /// `address`. The device has executed the run before. Error: batches could
  /// not be sent ahead.
  Status begin(Queue &queue);
  /// Once in a run, after `begin`: transfers the announced batches.
  void sendAhead();
  /// The first error of what was sent ahead.
  Status status() const { return ahead ? ahead->status() : Status::success(); }
  /// Whether the device still transfers batches.
  bool isBusy() const { return !arrived->isComplete(); }

private:
  BatchTransfer() = default;
  /// Copies batches of all replicas into page-locked memory that the device
  /// does not read.
  const std::byte *stage(const std::vector<const std::byte *> &batches);

  uint64_t bytes = 0, stride = 0;
  /// All replicas.
  uint64_t size() const { return stride * bound.size(); }
  std::unique_ptr<DeviceMemory> current;
  /// A run reads what was sent into one of them before, while the other one is
  /// filled for the next run.
  struct Slot {
    std::unique_ptr<HostMemory> host;
    std::unique_ptr<DeviceMemory> device;
  };
  std::array<Slot, 2> slots;
  uint32_t filled = 0;
  std::vector<const std::byte *> bound, announced;
  /// The batches that `filled` has; empty if it has none for the next run.
  std::vector<const std::byte *> sent;
  std::unique_ptr<Event> arrived;
  /// Null if nothing is sent ahead. Destroyed first: it waits for its commands.
  std::unique_ptr<Queue> ahead;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_BATCHTRANSFER_H
