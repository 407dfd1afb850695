//===- QueueTransport.cpp -------------------------------------------------===//

#include "runtime/transport/device/QueueTransport.h"

namespace lockstep::runtime {

namespace {

/// Enqueues copies on a queue.
class QueueCopies final : public CopySink {
public:
  explicit QueueCopies(Queue &queue) : queue(queue) {}
  void copy(const RowCopy &rows) override { queue.copy(rows); }
  void clear(std::byte *to, uint64_t bytes) override {
    queue.fill(to, bytes, 0);
  }

private:
  Queue &queue;
};

} // namespace

QueueTransport::QueueTransport(Device &device, DeviceQueues &queues,
                               Rendezvous &rendezvous,
                               const std::vector<const CollectivePlan *> &plans,
                               const std::vector<std::byte *const *> &bases,
                               uint32_t firstRank)
    : queues(queues), rendezvous(rendezvous) {
  for (const CollectivePlan *plan : plans) {
    if (plan->channel >= channels.size())
      channels.resize(plan->channel + 1);
    Channel &channel = channels[plan->channel];
    channel.members = membersOf(*plan, bases, firstRank);
    for (uint32_t i = 0; i < plan->localCount; ++i)
      channel.arrivals.push_back(device.createEvent({}));
    channel.complete = device.createEvent({});
    if (plan->properties().shape == ShapeRule::rows)
      channel.counts.resize(plan->members.size() - 1);
  }
}

uint32_t QueueTransport::localPosition(const CollectivePlan &plan,
                                       uint32_t replica) const {
  return channels[plan.channel].members.position[replica] - plan.firstLocal;
}

bool QueueTransport::prepare(const CollectivePlan &plan, uint32_t replica) {
  Channel &channel = channels[plan.channel];
  if (channel.counts.empty() || channel.members.position[replica] != plan.root)
    return true;
  ReplicaQueue &own = queues.replicas[replica];
  own.queue->download(
      reinterpret_cast<std::byte *>(channel.counts.data()),
      plan.gathers[0].counts.in(channel.members.bases[plan.root]),
      channel.counts.size() * sizeof(int64_t));
  return own.recordReady();
}

Status QueueTransport::start(const CollectivePlan &plan,
                             const Arrival &arrival) {
  Channel &channel = channels[plan.channel];
  if (plan.dynamic)
    publishDimensions(plan, arrival, channel.members);
  queues.replicas[arrival.replica].queue->record(
      *channel.arrivals[localPosition(plan, arrival.replica)]);
  if (!rendezvous.arrive(plan.channel))
    return Status::success();
  LOCKSTEP_RETURN_IF_ERROR(execute(plan));
  rendezvous.complete(plan.channel);
  return Status::success();
}

void QueueTransport::pass(const CollectivePlan &plan, uint32_t replica) {
  queues.replicas[replica].queue->wait(*channels[plan.channel].complete);
}

Status QueueTransport::execute(const CollectivePlan &plan) {
  Channel &channel = channels[plan.channel];
  if (!channel.counts.empty())
    setCounts(plan, channel.members.memory(),
              reinterpret_cast<const std::byte *>(channel.counts.data()));
  if (plan.dynamic && plan.tiles > 0)
    LOCKSTEP_RETURN_IF_ERROR(
        checkDimensions(plan, channel.members.dimensions.data()));
  for (const std::unique_ptr<Event> &arrival : channel.arrivals)
    queues.exchange().wait(*arrival);
  if (queues.observer)
    queues.observer->exchangeBegins(plan.channel, queues.exchange());
  if (plan.properties().isReduction) {
    reduce(plan);
  } else {
    QueueCopies copies(queues.exchange());
    for (int64_t tile = 0; tile < plan.tiles; ++tile)
      copyCollectiveTile(plan, channel.members.memory(), tile, copies);
  }
  if (queues.observer)
    queues.observer->exchangeEnds(plan.channel, queues.exchange());
  queues.exchange().record(*channel.complete);
  return Status::success();
}

void QueueTransport::reduce(const CollectivePlan &plan) {
  const std::vector<std::byte *const *> &bases =
      channels[plan.channel].members.bases;
  auto members = uint32_t(plan.members.size());
  for (const ReduceRange &range : plan.ranges) {
    DeviceReduction reduction;
    reduction.element = range.element;
    reduction.reduction = plan.reduction;
    reduction.keepsAccumulators =
        range.resultSize == range.functions->accumulatorSize;
    reduction.elements = range.elements;
    std::vector<const std::byte *> operands;
    std::vector<std::byte *> results;
    auto add = [&](uint64_t firstElement) {
      for (std::byte *const *member : bases)
        operands.push_back(range.operand.in(member) +
                           firstElement * range.functions->elementSize);
      reduction.operands = operands;
      reduction.results = results;
      queues.exchange().reduce(reduction);
      operands.clear();
      results.clear();
    };
    if (plan.properties().shape == ShapeRule::slice) {
      for (uint32_t i = 0; i < members; ++i) {
        results.push_back(range.result.in(bases[i]));
        add(i * range.elements);
      }
      continue;
    }
    for (uint32_t i = 0; i < members; ++i)
      if (plan.properties().resultHolders == Holders::root
              ? i == plan.root
              : !plan.sharedResults || i == 0)
        results.push_back(range.result.in(bases[i]));
    add(0);
  }
}

} // namespace lockstep::runtime
