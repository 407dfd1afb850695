//===- ThreadsTransport.cpp -----------------------------------------------===//

#include "runtime/transport/threads/ThreadsTransport.h"

#include <algorithm>

namespace lockstep::runtime {

ChannelMembers membersOf(const CollectivePlan &plan,
                         const std::vector<std::byte *const *> &bases,
                         uint32_t firstRank) {
  ChannelMembers members;
  members.position.assign(bases.size(), ~0u);
  for (uint32_t i = plan.firstLocal; i < plan.firstLocal + plan.localCount;
       ++i) {
    uint32_t replica = plan.members[i] - firstRank;
    members.bases.push_back(bases[replica]);
    members.position[replica] = i;
  }
  members.dimensions.assign(
      plan.members.size() * size_t(plan.publishedDimensions), 0);
  // Static dimensions are published once, here.
  for (uint32_t i = 0; i < plan.members.size(); ++i)
    for (const GatherOperand &gather : plan.gathers)
      std::copy(gather.shape.begin(), gather.shape.end(),
                members.dimensions.begin() +
                    ptrdiff_t(i * size_t(plan.publishedDimensions) +
                              gather.firstDimension));
  return members;
}

void publishDimensions(const CollectivePlan &plan, const Arrival &arrival,
                       ChannelMembers &members) {
  uint32_t position = members.position[arrival.replica];
  // In these kinds only the root has operands.
  if (plan.properties().operandHolders == Holders::root &&
      position != plan.root)
    return;
  int64_t *row =
      members.dimensions.data() + size_t(position) * plan.publishedDimensions;
  for (const GatherOperand &gather : plan.gathers)
    for (size_t i = 0; i < gather.shape.size(); ++i)
      if (gather.shape[i] < 0)
        row[gather.firstDimension + i] = arrival.registers[gather.registers[i]];
}

Expected<std::unique_ptr<ThreadsTransport>> ThreadsTransport::create(
    Rendezvous &rendezvous, const std::vector<const CollectivePlan *> &plans,
    std::vector<std::byte *const *> bases, uint32_t firstRank, uint32_t workers,
    TileRunner &tiles) {
  std::unique_ptr<ThreadsTransport> transport(
      new ThreadsTransport(rendezvous, tiles));
  uint32_t mostMembers = 1;
  for (const CollectivePlan *plan : plans) {
    if (plan->channel >= transport->channels.size())
      transport->channels.resize(plan->channel + 1);
    transport->channels[plan->channel] = membersOf(*plan, bases, firstRank);
    mostMembers = std::max(mostMembers, uint32_t(plan->members.size()));
  }
  LOCKSTEP_RETURN_IF_ERROR(
      Arenas::allocate(workers, collectiveScratchBytes(mostMembers))
          .moveTo(transport->scratch));
  return transport;
}

Status ThreadsTransport::start(const CollectivePlan &plan,
                               const Arrival &arrival) {
  if (plan.dynamic)
    publish(plan, arrival);
  if (!rendezvous.arrive(plan.channel))
    return Status::success();
  LOCKSTEP_RETURN_IF_ERROR(execute(plan, arrival.worker));
  rendezvous.complete(plan.channel);
  return Status::success();
}

Status ThreadsTransport::execute(const CollectivePlan &plan, uint32_t worker) {
  if (plan.tiles == 0)
    return Status::success();
  ChannelMembers &channel = channels[plan.channel];
  if (plan.kind == artifact::CollectiveKind::scatter)
    readCounts(plan, channel.memory());
  if (plan.dynamic)
    LOCKSTEP_RETURN_IF_ERROR(checkDimensions(plan, channel.dimensions.data()));
  auto tile = [plan = &plan, this,
               memory = channel.memory()](int64_t number, uint32_t executor) {
    runCollectiveTile(*plan, memory, number, scratchOf(executor));
  };
  return runTiles(worker, plan.tiles, plan.bytes * plan.members.size(),
                  TileFunction(tile));
}

Status ThreadsTransport::runTiles(uint32_t worker, int64_t count,
                                  uint64_t bytes,
                                  const TileFunction &function) {
  // Below this, waking a worker costs more than it saves.
  constexpr uint64_t smallMessage = 4096;
  if (count > 1 && bytes > smallMessage)
    return tiles.runTiles(worker, count, function);
  for (int64_t tile = 0; tile < count; ++tile)
    function(tile, worker);
  return Status::success();
}

} // namespace lockstep::runtime
