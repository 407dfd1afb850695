//===- QueueTransport.h - collectives on a device's queues ------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_DEVICE_QUEUETRANSPORT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_DEVICE_QUEUETRANSPORT_H

#include "runtime/device/DeviceQueues.h"
#include "runtime/transport/Transport.h"
#include "runtime/transport/threads/Rendezvous.h"
#include "runtime/transport/threads/ThreadsTransport.h"

#include <memory>
#include <vector>

namespace lockstep::runtime {

/// All members are replicas of this session, with memory on a device. The queue
/// of each member records an event at the start; the last member to arrive
/// enqueues the collective on the exchange's queue, ordered after all of these
/// events; and a member that passes the wait makes its queue wait for the
/// event of the collective's end. So for the host, an instance is complete once
/// it has been enqueued.
class QueueTransport final : public Transport {
public:
  /// `bases[replica]` are addresses of the device. All arguments outlive the
  /// transport.
  QueueTransport(Device &device, DeviceQueues &queues, Rendezvous &rendezvous,
                 const std::vector<const CollectivePlan *> &plans,
                 const std::vector<std::byte *const *> &bases,
                 uint32_t firstRank);

  bool prepare(const CollectivePlan &plan, uint32_t replica) override;
  Status start(const CollectivePlan &plan, const Arrival &arrival) override;
  void pass(const CollectivePlan &plan, uint32_t replica) override;
  bool canRecord() const override { return true; }

private:
  struct Channel {
    ChannelMembers members;
    /// One event for each local member: its queue has reached the start.
    std::vector<std::unique_ptr<Event>> arrivals;
    std::unique_ptr<Event> complete;
    /// Of a scatter: the root's counts, which the host reads.
    std::vector<int64_t> counts;
  };

  uint32_t localPosition(const CollectivePlan &plan, uint32_t replica) const;
  Status execute(const CollectivePlan &plan);
  void reduce(const CollectivePlan &plan);

  DeviceQueues &queues;
  Rendezvous &rendezvous;
  std::vector<Channel> channels;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_DEVICE_QUEUETRANSPORT_H
