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

/// All members are replicas of this session, and their memory is that of a
/// device. A member's queue records that it has reached the start; the last
/// member to arrive gives the collective to the exchange's queue, behind the
/// records of all, and a member that passes the wait lets its queue wait for
/// the end. So an instance is complete for the host once it has been given to
/// the device.
class QueueTransport final : public Transport {
public:
  /// `bases[replica]` are addresses of the device. What is given outlives the
  /// transport.
  QueueTransport(Device &device, DeviceQueues &queues, Rendezvous &rendezvous,
                 const std::vector<const CollectivePlan *> &plans,
                 const std::vector<std::byte *const *> &bases,
                 uint32_t firstRank);

  bool prepare(const CollectivePlan &plan, uint32_t replica) override;
  Status start(const CollectivePlan &plan, const Arrival &arrival) override;
  void pass(const CollectivePlan &plan, uint32_t replica) override;

private:
  struct Channel {
    ChannelMembers members;
    /// Of the members here: that their queue has reached the start.
    std::vector<std::unique_ptr<Event>> arrivals;
    std::unique_ptr<Event> complete;
    /// Of a scatter: the counts of the root, which the host has to know.
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
