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
#include <string>
#include <vector>

namespace lockstep::runtime {

/// The batches with which the replicas of a program begin. The memory of the
/// caller is read in `begin` and `sendAhead` only, by the calling thread.
/// Destroyed after the queues of the program. Not thread-safe.
class BatchTransfer {
public:
  /// For batches of `bytes` bytes each. Error: out of memory of the device or
  /// the host.
  static Expected<std::unique_ptr<BatchTransfer>>
  create(Device &device, uint32_t replicas, uint64_t bytes);

  /// Where a replica reads its batch, on the device.
  std::byte *address(uint32_t replica) const;

  /// The batch for following runs, until another one is bound.
  void bind(uint32_t replica, const std::byte *batch) {
    bound[replica] = batch;
  }
  /// The batch that is probably bound after the next run. Only batches that are
  /// announced for all replicas are sent ahead, and only if there is memory for
  /// them, which the first call allocates.
  void announce(uint32_t replica, const std::byte *batch);
  /// Why batches are not sent ahead; empty if they are, or none was announced.
  const std::string &obstacle() const { return whyNot; }

  /// Before a run: commands that follow on the queue find the bound batches at
  /// `address`. The device has executed the run before. Error: batches could
  /// not be sent ahead.
  Status begin(Queue &queue);
  /// Once in a run, after `begin`: transfers the announced batches.
  void sendAhead();
  /// The first error of what was sent ahead.
  Status status() const { return ahead ? ahead->status() : Status::success(); }
  /// Whether the device still transfers batches.
  bool isBusy() const { return ahead && !arrived->isComplete(); }

private:
  explicit BatchTransfer(Device &device) : device(device) {}
  Status prepareAhead();
  /// Copies batches of all replicas into page-locked memory, which the device
  /// does not read.
  const std::byte *stage(uint32_t slot,
                         const std::vector<const std::byte *> &batches);

  Device &device;
  uint64_t bytes = 0, stride = 0;
  /// All replicas.
  uint64_t size() const { return stride * bound.size(); }
  std::unique_ptr<DeviceMemory> current;
  /// A run reads what was sent into one of them before, while the other one is
  /// filled for the next run. Until a batch is announced, there is only the
  /// page-locked memory of the first one.
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
  std::string whyNot;
  /// Null until a batch is announced. Destroyed first: it waits for its
  /// commands.
  std::unique_ptr<Queue> ahead;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_BATCHTRANSFER_H
