//===- StagedTransport.cpp ------------------------------------------------===//

#include "runtime/transport/device/StagedTransport.h"

#include <algorithm>

namespace lockstep::runtime {

/// Calls `function(slice, bytes)` for all operands of a member.
template <typename Function>
static void forEachOperand(const CollectivePlan &plan, Function function) {
  if (!plan.hasOperands)
    return;
  uint64_t parts =
      plan.properties().shape == ShapeRule::slice ? plan.members.size() : 1;
  for (const ReduceRange &range : plan.ranges)
    function(range.operand,
             parts * range.elements * range.functions->elementSize);
  for (const GatherOperand &gather : plan.gathers) {
    function(gather.operand, gather.operandBytes);
    if (plan.properties().shape == ShapeRule::rows)
      function(gather.counts, (plan.members.size() - 1) * sizeof(int64_t));
  }
}

/// The same for all results of a member.
template <typename Function>
static void forEachResult(const CollectivePlan &plan, Function function) {
  if (!plan.hasResults)
    return;
  for (const ReduceRange &range : plan.ranges)
    function(range.result, range.elements * range.resultSize);
  for (const GatherOperand &gather : plan.gathers)
    function(gather.result, gather.resultBytes);
}

StagedTransport::StagedTransport(
    Device &device, DeviceQueues &queues, std::unique_ptr<QueueTransport> local,
    std::unique_ptr<DeviceTransport> direct, std::unique_ptr<Transport> host,
    const StagingMemory &staging, std::vector<std::byte *const *> bases,
    const std::vector<const CollectivePlan *> &plans, uint32_t firstRank)
    : queues(queues), local(std::move(local)), direct(std::move(direct)),
      host(std::move(host)), staging(staging), bases(std::move(bases)),
      firstRank(firstRank), inUse(this->bases.size()) {
  for (const CollectivePlan *plan : plans) {
    if (plan->channel >= sharedResults.size())
      sharedResults.resize(plan->channel + 1);
    isOnDevice &= this->direct && this->direct->canRecord() &&
                  this->direct->accepts(*plan);
    if (!plan->sharedResults || onDevice(*plan))
      continue;
    auto &shared = sharedResults[plan->channel];
    shared = std::make_unique<SharedResults>();
    shared->arrived = device.createEvent({});
  }
}

Transport *StagedTransport::onDevice(const CollectivePlan &plan) const {
  if (plan.isLocal())
    return local.get();
  return direct && direct->accepts(plan) ? direct.get() : nullptr;
}

Status StagedTransport::begin() {
  if (direct)
    LOCKSTEP_RETURN_IF_ERROR(direct->begin());
  return host->begin();
}

bool StagedTransport::prepare(const CollectivePlan &plan, uint32_t replica) {
  if (Transport *transport = onDevice(plan))
    return transport->prepare(plan, replica);
  ReplicaQueue &own = queues.replicas[replica];
  // One member downloads what all members share: the exchange begins when all
  // have arrived. What another collective reads is not written once more: it
  // has not changed.
  uint32_t first = plan.members[plan.firstLocal] - firstRank;
  std::vector<Use> &uses = inUse[replica];
  forEachOperand(plan, [&](const Address &address, uint64_t bytes) {
    const std::byte *from = address.in(bases[replica]);
    if (bytes == 0 || (replica != first && from == address.in(bases[first])))
      return;
    bool isThere = std::ranges::any_of(uses, [&](const Use &use) {
      return use.begin <= from && from + bytes <= use.end;
    });
    uses.push_back({plan.channel, from, from + bytes});
    if (!isThere)
      own.queue->download(address.in(staging.bases[replica].data()), from,
                          bytes);
  });
  return own.recordReady();
}

Status StagedTransport::start(const CollectivePlan &plan,
                              const Arrival &arrival) {
  Transport *transport = onDevice(plan);
  return (transport ? transport : host.get())->start(plan, arrival);
}

void StagedTransport::upload(Queue &queue, const CollectivePlan &plan,
                             uint32_t replica) {
  forEachResult(plan, [&](const Address &address, uint64_t bytes) {
    if (bytes)
      queue.upload(address.in(bases[replica]),
                   address.in(staging.bases[replica].data()), bytes);
  });
}

void StagedTransport::pass(const CollectivePlan &plan, uint32_t replica) {
  if (Transport *transport = onDevice(plan))
    return transport->pass(plan, replica);
  std::erase_if(inUse[replica],
                [&](const Use &use) { return use.channel == plan.channel; });
  Queue &own = *queues.replicas[replica].queue;
  if (SharedResults *shared = sharedResults[plan.channel].get()) {
    std::lock_guard<std::mutex> lock(shared->mutex);
    if (shared->passed == 0) {
      upload(queues.exchange(), plan, replica);
      queues.exchange().record(*shared->arrived);
    }
    shared->passed = (shared->passed + 1) % plan.localCount;
    own.wait(*shared->arrived);
    return;
  }
  bool isRoot = plan.members[plan.root] == firstRank + replica;
  bool receives = plan.properties().resultHolders == Holders::all    ? true
                  : plan.properties().resultHolders == Holders::root ? isRoot
                                                                     : !isRoot;
  if (receives && plan.properties().resultHolders != Holders::none)
    upload(own, plan, replica);
}

} // namespace lockstep::runtime
