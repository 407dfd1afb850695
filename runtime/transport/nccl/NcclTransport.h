//===- NcclTransport.h - exchange between GPUs ------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_NCCL_NCCLTRANSPORT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_NCCL_NCCLTRANSPORT_H

#include "runtime/device/DeviceQueues.h"
#include "runtime/transport/TransportFactory.h"
#include "runtime/transport/device/ExchangeSteps.h"
#include "runtime/transport/nccl/Communicator.h"

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep::runtime {

/// The communicators of an executor, which its programs share: one for each
/// group of ranks.
class Communicators {
public:
  /// `reduces`: whether NCCL also reduces, instead of the executors.
  Communicators(const NcclApi &api, Network &network, bool reduces)
      : reduces(reduces), api(api), network(network) {}
  /// That of the members of a collective, which is created at the first call.
  std::shared_ptr<Communicator> get(const CollectivePlan &plan,
                                    const Peers &peers);

  const bool reduces;

private:
  const NcclApi &api;
  Network &network;
  std::mutex mutex;
  std::map<std::vector<uint32_t>, std::shared_ptr<Communicator>> byMembers;
};

/// Executors send each other the operands and results of collectives by NCCL,
/// and execute reductions themselves (ExchangeSteps.h), so that results have
/// the bits of one executor, unless NCCL is asked to reduce, too. Collectives
/// of one group execute one after the other on a queue of their own, in the
/// order in which they are started: that of the program, which is the same in
/// all executors.
class NcclTransport final : public DeviceTransport {
public:
  /// Errors: a member that no executor has, out of memory or queues of the
  /// device.
  static Expected<std::unique_ptr<DeviceTransport>>
  create(TransportContext context,
         std::shared_ptr<Communicators> communicators);

  bool accepts(const CollectivePlan &plan) const override {
    return canPlanExchange(plan);
  }
  ~NcclTransport() override;

  Status begin() override;
  Status start(const CollectivePlan &plan, const Arrival &arrival) override;
  void pass(const CollectivePlan &plan, uint32_t replica) override;
  Status check() override;
  bool needsCheck() const override { return true; }
  void abort() override;
  bool canRecord() const override { return true; }
  std::vector<CollectiveInstance> unfinished() const override;

private:
  /// The collectives of one group.
  struct Group {
    std::shared_ptr<Communicator> communicator;
    ExchangeQueue *exchange = nullptr;
    /// Of all its collectives, which execute one after the other.
    std::unique_ptr<DeviceMemory> scratch;
    uint64_t scratchBytes = 0;
    /// What `Communicator::registerMemory` has returned.
    std::vector<void *> registered;
    bool isRegistered = false;
    /// Held from the arrival of a replica until the collective has been
    /// enqueued, so that no other one overtakes it.
    std::mutex mutex;
  };
  struct Channel {
    Group *group = nullptr;
    Peers peers;
    ChannelMembers members;
    ExchangeSteps steps;
    /// One event for each local member: its queue has reached the start.
    std::vector<std::unique_ptr<Event>> arrivals;
    std::unique_ptr<Event> complete;
    /// Of `ExchangeQueue::ends`.
    std::atomic<uint64_t> *end = nullptr;
  };

  NcclTransport(TransportContext context,
                std::shared_ptr<Communicators> communicators)
      : context(std::move(context)), communicators(std::move(communicators)) {}
  Status registerMemory(Group &group);
  /// Whether this executor exchanges something for a collective.
  bool isOwn(const CollectivePlan &plan) const {
    return plan.localCount > 0 && !plan.isLocal() && accepts(plan);
  }
  ExchangeSteps planSteps(const CollectivePlan &plan, Channel &channel,
                          std::byte *scratch) const;
  Status addChannel(const CollectivePlan &plan);
  Status planChannels();
  Status execute(Channel &channel, const CollectivePlan &plan);

  TransportContext context;
  std::shared_ptr<Communicators> communicators;
  /// By the members of the group, so that all executors connect in one order.
  std::map<std::vector<uint32_t>, Group> groups;
  /// By channel; those of other transports have no group.
  std::deque<Channel> channels;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_NCCL_NCCLTRANSPORT_H
