//===- NcclTransport.cpp - exchange between GPUs --------------------------===//

#include "runtime/transport/nccl/NcclTransport.h"

#include "runtime/transport/threads/Rendezvous.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime {

std::shared_ptr<Communicator> Communicators::get(const CollectivePlan &plan,
                                                 const Peers &peers) {
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Communicator> &known = byMembers[plan.members];
  if (known)
    return known;
  std::vector<uint32_t> executors;
  for (const Peer &peer : peers.all)
    executors.push_back(peer.executor);
  known = std::make_shared<Communicator>(
      api, network, std::move(executors),
      fmt::format("NCCL communicator of ranks {}",
                  fmt::join(plan.members, ", ")));
  return known;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<DeviceTransport>>
NcclTransport::create(TransportContext context,
                      std::shared_ptr<Communicators> communicators) {
  std::unique_ptr<NcclTransport> transport(
      new NcclTransport(std::move(context), std::move(communicators)));
  for (const CollectivePlan *plan : transport->context.plans)
    if (transport->isOwn(*plan))
      if (Status status = transport->addChannel(*plan); !status.ok())
        return status.withContext(transport->context.describe(plan->channel));
  LOCKSTEP_RETURN_IF_ERROR(transport->planChannels());
  return std::unique_ptr<DeviceTransport>(std::move(transport));
}

ExchangeSteps NcclTransport::planSteps(const CollectivePlan &plan,
                                       Channel &channel,
                                       std::byte *scratch) const {
  return planExchange(plan, channel.peers, channel.members, scratch,
                      communicators->reduces ? Communicator::reducesElements
                                             : nullptr);
}

Status NcclTransport::addChannel(const CollectivePlan &plan) {
  while (plan.channel >= channels.size())
    channels.emplace_back();
  Channel &channel = channels[plan.channel];
  Network &network = context.inbox->network;
  LOCKSTEP_RETURN_IF_ERROR(Peers::find(plan, network).moveTo(channel.peers));
  channel.members = membersOf(plan, context.bases, context.firstRank);
  for (uint32_t i = 0; i < plan.localCount; ++i)
    channel.arrivals.push_back(context.device->createEvent({}));
  channel.complete = context.device->createEvent({});
  Group &group = groups[plan.members];
  channel.group = &group;
  if (!group.communicator) {
    group.communicator = communicators->get(plan, channel.peers);
    LOCKSTEP_RETURN_IF_ERROR(
        context.queues->addExchange(*context.device).moveTo(group.exchange));
    group.scratchBytes = group.communicator->connectionBytes();
  }
  channel.end = &group.exchange->ends.emplace_back(0);
  // This plan is only measured.
  auto *anywhere = reinterpret_cast<std::byte *>(scratchAlignment);
  group.scratchBytes = std::max(
      group.scratchBytes, planSteps(plan, channel, anywhere).scratchBytes);
  return Status::success();
}

/// Plans the exchanges, for which the size of the scratch memory must be known.
Status NcclTransport::planChannels() {
  for (auto &[members, group] : groups)
    LOCKSTEP_RETURN_IF_ERROR(
        context.device->allocate(1, group.scratchBytes).moveTo(group.scratch));
  for (const CollectivePlan *plan : context.plans)
    if (isOwn(*plan)) {
      Channel &channel = channels[plan->channel];
      channel.steps =
          planSteps(*plan, channel, channel.group->scratch->block(0));
    }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// All memory from and to which the group transfers.
Status NcclTransport::registerMemory(Group &group) {
  if (std::exchange(group.isRegistered, true) ||
      !group.communicator->registersMemory())
    return Status::success();
  std::map<std::byte *, std::span<std::byte>> allocations;
  bool isKnown = true;
  auto add = [&](const std::byte *address) {
    if (!address)
      return;
    std::span<std::byte> memory = context.device->exchangeable(address);
    isKnown &= !memory.empty();
    allocations.try_emplace(memory.data(), memory);
  };
  for (const Channel &channel : channels)
    if (channel.group == &group)
      for (const ExchangeStep &step : channel.steps.steps) {
        for (const Transfer &transfer : step.transfers) {
          add(transfer.send);
          add(transfer.receive);
        }
        for (const LibraryReduction &reduction : step.libraryReductions) {
          add(reduction.operand);
          add(reduction.result);
        }
      }
  if (!isKnown)
    return systemError("expected transfers from and to memory that other GPUs "
                       "can map, found other memory");
  for (const auto &[begin, memory] : allocations) {
    void *registered = nullptr;
    LOCKSTEP_RETURN_IF_ERROR(
        group.communicator->registerMemory(*group.exchange->queue, memory)
            .moveTo(registered));
    group.registered.push_back(registered);
  }
  return Status::success();
}

NcclTransport::~NcclTransport() {
  for (auto &[members, group] : groups)
    for (void *registered : group.registered)
      group.communicator->forgetMemory(registered);
}

Status NcclTransport::begin() {
  auto prepare = [](NcclTransport &self, Group &group) -> Status {
    std::byte *scratch = group.scratch->block(0);
    LOCKSTEP_RETURN_IF_ERROR(group.communicator->connect(
        *group.exchange->queue, scratch,
        !self.context.device->exchangeable(scratch).empty()));
    return self.registerMemory(group);
  };
  for (auto &[members, group] : groups)
    if (Status status = prepare(*this, group); !status.ok())
      return status.withContext(fmt::format("transport 'nccl' between ranks {}",
                                            fmt::join(members, ", ")));
  return Status::success();
}

Status NcclTransport::start(const CollectivePlan &plan,
                            const Arrival &arrival) {
  Channel &channel = channels[plan.channel];
  std::lock_guard<std::mutex> lock(channel.group->mutex);
  uint32_t local = channel.members.position[arrival.replica] - plan.firstLocal;
  context.queues->replicas[arrival.replica].queue->record(
      *channel.arrivals[local]);
  if (!context.rendezvous.arrive(plan.channel))
    return Status::success();
  LOCKSTEP_RETURN_IF_ERROR(execute(channel, plan));
  channel.end->store(channel.group->exchange->queue->enqueued(),
                     std::memory_order_release);
  context.rendezvous.complete(plan.channel);
  return Status::success();
}

Status NcclTransport::execute(Channel &channel, const CollectivePlan &plan) {
  Queue &queue = *channel.group->exchange->queue;
  for (const std::unique_ptr<Event> &arrival : channel.arrivals)
    queue.wait(*arrival);
  ExchangeObserver *observer = context.queues->observer;
  if (observer)
    observer->exchangeBegins(plan.channel, queue);
  for (const ExchangeStep &step : channel.steps.steps) {
    for (const RowCopy &rows : step.packing)
      queue.copy(rows);
    if (!step.transfers.empty() || !step.libraryReductions.empty())
      LOCKSTEP_RETURN_IF_ERROR(channel.group->communicator->exchange(
          queue, step.transfers, step.libraryReductions));
    for (const StepReduction &reduction : step.reductions)
      queue.reduce({reduction.element, plan.reduction,
                    reduction.keepsAccumulators, reduction.elements,
                    reduction.operands, reduction.results});
    for (const RowCopy &rows : step.copies)
      queue.copy(rows);
    for (const ExchangeStep::Clear &clear : step.clears)
      queue.fill(clear.to, clear.bytes, 0);
  }
  if (observer)
    observer->exchangeEnds(plan.channel, queue);
  queue.record(*channel.complete);
  return Status::success();
}

void NcclTransport::pass(const CollectivePlan &plan, uint32_t replica) {
  context.queues->replicas[replica].queue->wait(
      *channels[plan.channel].complete);
}

Status NcclTransport::check() {
  for (auto &[members, group] : groups)
    if (Status status = group.communicator->check(); !status.ok())
      return status.withContext(fmt::format("transport 'nccl' between ranks {}",
                                            fmt::join(members, ", ")));
  return Status::success();
}

void NcclTransport::abort() {
  std::vector<Communicator *> all;
  for (auto &[members, group] : groups)
    all.push_back(group.communicator.get());
  Communicator::abort(all);
}

std::vector<CollectiveInstance> NcclTransport::unfinished() const {
  std::vector<CollectiveInstance> instances;
  for (uint32_t i = 0; i < channels.size(); ++i) {
    const Channel &channel = channels[i];
    if (!channel.end)
      continue;
    uint64_t end = channel.end->load(std::memory_order_acquire);
    if (end && !channel.group->exchange->hasExecuted(end))
      instances.push_back({i, context.rendezvous.completed(i)});
  }
  return instances;
}

} // namespace lockstep::runtime
