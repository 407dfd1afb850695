//===- StagedTransport.h - device collectives through the host --*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_DEVICE_STAGEDTRANSPORT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_DEVICE_STAGEDTRANSPORT_H

#include "runtime/support/Memory.h"
#include "runtime/transport/DeviceTransport.h"
#include "runtime/transport/device/QueueTransport.h"

#include <array>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep::runtime {

/// Host memories with the layout of those of a device, from which a host-only
/// transport reads operands and to which it writes results. Only pages that are
/// used are backed.
struct StagingMemory {
  Arenas replica, replicaVariables, inputs, ranks;
  Memory shared, variables, scalars, constants;
  std::vector<std::array<std::byte *, spaceCount>> bases;
};

/// Collectives of a device whose executor is one of several. Those with local
/// members only stay on the device, and so do those that a transport exchanges
/// between devices. For others, operands of local members are downloaded to
/// host memory before the start, and results uploaded to the device when a
/// member passes the wait.
class StagedTransport final : public Transport {
public:
  /// `direct` may be null. `host` exchanges data in `staging`; `bases` are
  /// addresses of the device.
  StagedTransport(Device &device, DeviceQueues &queues,
                  std::unique_ptr<QueueTransport> local,
                  std::unique_ptr<DeviceTransport> direct,
                  std::unique_ptr<Transport> host, const StagingMemory &staging,
                  std::vector<std::byte *const *> bases,
                  const std::vector<const CollectivePlan *> &plans,
                  uint32_t firstRank);

  bool prepare(const CollectivePlan &plan, uint32_t replica) override;
  Status start(const CollectivePlan &plan, const Arrival &arrival) override;
  void pass(const CollectivePlan &plan, uint32_t replica) override;
  bool canRecord() const override { return isOnDevice; }
  Status begin() override;
  Status poll(uint32_t worker) override { return host->poll(worker); }
  Status check() override {
    return direct ? direct->check() : Status::success();
  }
  bool needsCheck() const override { return direct && direct->needsCheck(); }
  void abort() override {
    if (direct)
      direct->abort();
  }
  std::vector<CollectiveInstance> unfinished() const override {
    return direct ? direct->unfinished() : std::vector<CollectiveInstance>();
  }
  bool hasArrived(uint32_t channel, uint32_t epoch,
                  uint32_t rank) const override {
    return host->hasArrived(channel, epoch, rank);
  }
  bool seesArrival(uint32_t channel, uint32_t rank) const override {
    return host->seesArrival(channel, rank);
  }

private:
  /// Results that members share are uploaded to the device once.
  struct SharedResults {
    std::mutex mutex;
    /// Members that have passed the current instance.
    uint32_t passed = 0;
    std::unique_ptr<Event> arrived;
  };

  /// Operands of a collective, from their download until it is complete.
  struct Use {
    uint32_t channel;
    const std::byte *begin, *end;
  };

  /// What carries out a collective on the device; null if it is staged.
  Transport *onDevice(const CollectivePlan &plan) const;
  void upload(Queue &queue, const CollectivePlan &plan, uint32_t replica);

  DeviceQueues &queues;
  std::unique_ptr<QueueTransport> local;
  std::unique_ptr<DeviceTransport> direct;
  std::unique_ptr<Transport> host;
  const StagingMemory &staging;
  std::vector<std::byte *const *> bases;
  std::vector<std::unique_ptr<SharedResults>> sharedResults;
  uint32_t firstRank;
  /// The host takes part in no collective that could be one of several
  /// executors: the same in all executors, which record runs together.
  bool isOnDevice = true;
  /// By replica.
  std::vector<std::vector<Use>> inUse;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_DEVICE_STAGEDTRANSPORT_H
