//===- ProgramState.cpp ---------------------------------------------------===//

#include "runtime/executor/ProgramState.h"

#include "runtime/schema/RoleInfo.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace lockstep::runtime {

using artifact::Space;

/// The index of the first program of the same name, which is the same for all
/// roles.
static uint32_t programNumber(const Program &program) {
  uint32_t number = 0;
  for (const artifact::Program *first :
       *program.artifact->tables().programs()) {
    if (first->name()->string_view() == program.name())
      break;
    ++number;
  }
  return number;
}

/// The cast is safe: the verifier rejects programs that write to constants.
static std::byte *constantsOf(const Artifact &artifact) {
  int32_t segment = artifact.tables().constants();
  return segment < 0 ? nullptr
                     : const_cast<std::byte *>(
                           artifact.segment(uint32_t(segment)).data());
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

Status ProgramState::allocate() {
  LOCKSTEP_RETURN_IF_ERROR(
      memory.device->allocate(replicaCount, program.tables->replica_size())
          .moveTo(arenas));
  return memory.device->allocate(1, program.tables->shared_size())
      .moveTo(shared);
}

Status ProgramState::allocateQueued(EventCount &events) {
  Device &device = *memory.device;
  queued = std::make_unique<QueuedProgram>();
  LOCKSTEP_RETURN_IF_ERROR(
      BatchTransfer::create(device, replicaCount, program.tables->input_size())
          .moveTo(queued->batches));
  LOCKSTEP_RETURN_IF_ERROR(device.allocate(replicaCount, sizeof(Replica::rank))
                               .moveTo(queued->ranks));
  LOCKSTEP_RETURN_IF_ERROR(DeviceQueues::create(device, replicaCount, events)
                               .moveTo(queued->queues));
  queued->sections.resize(program.channelMembers.size());
  for (const Instruction &instruction : program.code) {
    if (instruction.opcode != Opcode::once)
      continue;
    QueuedSection &section = queued->sections[instruction.a];
    for (uint32_t i = 0; i < replicaCount; ++i)
      section.arrivals.push_back(device.createEvent({}));
    section.done = device.createEvent({});
  }
  return transfer(device, [&](Queue &queue) {
    for (uint32_t i = 0; i < replicaCount; ++i)
      queue.upload(queued->ranks->block(i),
                   reinterpret_cast<std::byte *>(&replicas[i].rank),
                   sizeof(Replica::rank));
  });
}

Status ProgramState::allocateStaging() {
  StagingMemory &staging = queued->staging;
  const artifact::Program &tables = *program.tables;
  uint32_t count = replicaCount;
  LOCKSTEP_RETURN_IF_ERROR(
      Arenas::allocate(count, tables.replica_size()).moveTo(staging.replica));
  LOCKSTEP_RETURN_IF_ERROR(
      Arenas::allocate(count, memory.replicaVariables->host().size())
          .moveTo(staging.replicaVariables));
  LOCKSTEP_RETURN_IF_ERROR(
      Arenas::allocate(count, tables.input_size()).moveTo(staging.inputs));
  LOCKSTEP_RETURN_IF_ERROR(
      Memory::allocate(tables.shared_size()).moveTo(staging.shared));
  LOCKSTEP_RETURN_IF_ERROR(
      Memory::allocate(memory.variables->copy().host().size())
          .moveTo(staging.variables));
  LOCKSTEP_RETURN_IF_ERROR(
      Memory::allocate(memory.scalars->host().size()).moveTo(staging.scalars));
  int32_t constants = program.artifact->tables().constants();
  LOCKSTEP_RETURN_IF_ERROR(
      Memory::allocate(
          constants < 0 ? 0
                        : program.artifact->segment(uint32_t(constants)).size())
          .moveTo(staging.constants));
  LOCKSTEP_RETURN_IF_ERROR(
      Arenas::allocate(count, sizeof(Replica::rank)).moveTo(staging.ranks));
  staging.bases.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    auto base = [&](Space space) -> std::byte *& {
      return staging.bases[i][size_t(space)];
    };
    base(Space::replica) = staging.replica[i].data();
    base(Space::shared) = staging.shared.data();
    base(Space::input) = staging.inputs[i].data();
    base(Space::constant) = staging.constants.data();
    base(Space::variable) = staging.variables.data();
    base(Space::replica_variable) = staging.replicaVariables[i].data();
    base(Space::scalar) = staging.scalars.data();
    base(Space::rank) = staging.ranks[i].data();
  }
  return Status::success();
}

/// The bases of all replicas.
void ProgramState::describeMemory() {
  std::byte *constants = memory.constants ? memory.constants->block(0)
                                          : constantsOf(*program.artifact);
  for (uint32_t i = 0; i < replicaCount; ++i) {
    Replica &replica = replicas[i];
    auto base = [&](Space space) -> std::byte *& {
      return replica.bases[size_t(space)];
    };
    base(Space::replica) = arenas->block(i);
    base(Space::shared) = shared->block(0);
    base(Space::constant) = constants;
    base(Space::variable) = memory.variables->copy().device();
    base(Space::replica_variable) = memory.replicaVariables->device(i);
    base(Space::scalar) = memory.scalars->device();
    base(Space::rank) = queued ? queued->ranks->block(i)
                               : reinterpret_cast<std::byte *>(&replica.rank);
    base(Space::input) = queued ? queued->batches->address(i) : nullptr;
  }
}

std::vector<const CollectivePlan *> ProgramState::plans() const {
  std::vector<const CollectivePlan *> plans;
  for (const auto &plan : program.plans)
    plans.push_back(plan.get());
  return plans;
}

Status ProgramState::createTransport(uint32_t workers, TileScheduler &tiles,
                                     NetworkInbox *inbox) {
  std::vector<std::byte *const *> bases;
  for (uint32_t i = 0; i < replicaCount; ++i)
    bases.push_back(replicas[i].bases.data());
  TransportContext context{*rendezvous,
                           plans(),
                           bases,
                           program.ranks.first,
                           workers,
                           tiles,
                           inbox,
                           programNumber(program),
                           [this](uint32_t channel) {
                             return program.place(
                                 program.channelCommands[channel]);
                           }};
  if (!queued) {
    if (memory.transport->capabilities().acceptsDeviceMemory)
      return invalidArgument(fmt::format(
          "expected a device with queues for transport '{}', found '{}'",
          memory.transport->name(), memory.device->kind()));
    return memory.transport->create(std::move(context)).moveTo(transport);
  }
  auto local = std::make_unique<QueueTransport>(*memory.device, *queued->queues,
                                                *rendezvous, plans(), bases,
                                                program.ranks.first);
  if (!inbox) {
    transport = std::move(local);
    return Status::success();
  }
  TransportContext onDevice = context;
  onDevice.device = memory.device.get();
  onDevice.queues = queued->queues.get();
  std::unique_ptr<DeviceTransport> direct;
  LOCKSTEP_RETURN_IF_ERROR(
      memory.transport->createOnDevice(std::move(onDevice)).moveTo(direct));
  LOCKSTEP_RETURN_IF_ERROR(allocateStaging());
  context.bases.clear();
  for (const auto &staged : queued->staging.bases)
    context.bases.push_back(staged.data());
  std::unique_ptr<Transport> host;
  LOCKSTEP_RETURN_IF_ERROR(
      memory.transport->create(std::move(context)).moveTo(host));
  transport = std::make_unique<StagedTransport>(
      *memory.device, *queued->queues, std::move(local), std::move(direct),
      std::move(host), queued->staging, std::move(bases), plans(),
      program.ranks.first);
  return Status::success();
}

/// The replicas of the executor that has most of them.
static uint32_t mostReplicas(const Program &program, NetworkInbox *inbox) {
  uint32_t most = program.ranks.count;
  if (inbox)
    for (const RankRange &range : inbox->network.executors())
      most = std::max(most, range.count);
  return most;
}

Expected<std::unique_ptr<ProgramState>>
ProgramState::create(const Program &program, const SessionMemory &memory,
                     uint32_t workers, TileScheduler &tiles, EventCount &events,
                     NetworkInbox *inbox) {
  std::unique_ptr<ProgramState> state(new ProgramState(program, memory, tiles));
  uint32_t count = state->replicaCount = program.ranks.count;
  state->replicas = std::make_unique<Replica[]>(count);
  for (uint32_t i = 0; i < count; ++i) {
    Replica &replica = state->replicas[i];
    replica.index = i;
    replica.rank = static_cast<int32_t>(program.ranks.first + i);
    replica.registers.assign(program.tables->registers(), 0);
    replica.pointers.assign(program.maxAddresses, nullptr);
    replica.scalars.assign(program.maxScalars, 0);
    replica.started =
        std::vector<std::atomic<uint32_t>>(program.channelMembers.size());
  }
  Status status = state->allocate();
  if (status.ok() && !memory.device->isHost())
    status = state->allocateQueued(events);
  if (!status.ok())
    return status.withContext("program '" + std::string(program.name()) + "'");
  state->describeMemory();
  state->variablesMutex = &memory.variables->mutex();
  state->rendezvous = std::make_unique<Rendezvous>(program.channelMembers);
  LOCKSTEP_RETURN_IF_ERROR(state->createTransport(workers, tiles, inbox));
  if (memory.device->canRecord())
    state->queued->recorded.emplace(*state, mostReplicas(program, inbox),
                                    /*hasOtherExecutors=*/inbox != nullptr);
  return state;
}

ProgramState::~ProgramState() {
  if (queued && queued->recorded)
    queued->recorded->forget();
  transport.reset();
}

//===----------------------------------------------------------------------===//
// Use
//===----------------------------------------------------------------------===//

static constexpr uint32_t fillPattern = 0x7ff47ff4;

Status ProgramState::fillMemory() {
  uint64_t replicaSize = program.tables->replica_size(),
           sharedSize = program.tables->shared_size();
  if (queued)
    return transfer(*memory.device, [&](Queue &queue) {
      for (uint32_t i = 0; i < replicaCount; ++i)
        queue.fill(arenas->block(i), replicaSize, fillPattern);
      queue.fill(shared->block(0), sharedSize, fillPattern);
    });
  auto fill = [](std::byte *memory, uint64_t bytes) {
    for (uint64_t i = 0; i + sizeof fillPattern <= bytes;
         i += sizeof fillPattern)
      std::memcpy(memory + i, &fillPattern, sizeof fillPattern);
  };
  for (uint32_t i = 0; i < replicaCount; ++i)
    fill(arenas->block(i), replicaSize);
  fill(shared->block(0), sharedSize);
  return Status::success();
}

void ProgramState::rewind() {
  for (uint32_t i = 0; i < replicaCount; ++i) {
    Replica &replica = replicas[i];
    replica.pc = 0;
    std::fill(replica.registers.begin(), replica.registers.end(), 0);
    replica.blocked.store(Replica::notBlocked, std::memory_order_relaxed);
    replica.state.store(Replica::ready, std::memory_order_relaxed);
  }
}

Status ProgramState::beginBatches() {
  if (!queued || program.tables->input_size() == 0)
    return Status::success();
  LOCKSTEP_RETURN_IF_ERROR(queued->batches->begin(queued->queues->exchange()));
  // What is recorded follows the commands of this queue.
  if (!isRecorded())
    queued->queues->orderReplicas();
  return Status::success();
}

void ProgramState::sendBatchesAhead() {
  if (queued)
    queued->batches->sendAhead();
}

uint32_t ProgramState::finishReplicas() {
  uint32_t finished = 0;
  for (uint32_t i = 0; i < replicaCount; ++i) {
    Replica &replica = replicas[i];
    if (program.code[replica.pc].opcode == Opcode::ret &&
        replica.blocked.load(std::memory_order_relaxed) == Replica::onDevice) {
      replica.blocked.store(Replica::notBlocked, std::memory_order_relaxed);
      replica.state.store(Replica::finished, std::memory_order_release);
    }
    finished +=
        replica.state.load(std::memory_order_relaxed) == Replica::finished;
  }
  return finished;
}

void ProgramState::bindInput(uint32_t replica, std::byte *address) {
  if (queued)
    queued->batches->bind(replica, address);
  else
    replicas[replica].bases[size_t(Space::input)] = address;
}

void ProgramState::announceInput(uint32_t replica, const std::byte *address) {
  if (queued)
    queued->batches->announce(replica, address);
}

void ProgramState::loadInput(Replica &replica, std::byte *address) {
  if (queued)
    queued->queues->replicas[replica.index].queue->upload(
        queued->batches->address(replica.index), address,
        program.tables->input_size());
  else
    replica.bases[size_t(Space::input)] = address;
}

bool ProgramState::canProceed(const Replica &replica) const {
  uint64_t blocked = replica.blocked.load(std::memory_order_relaxed);
  if (blocked == Replica::notBlocked)
    return true;
  if (blocked == Replica::onDevice)
    return !(isInParts() && queued->recorded->isHeld(replica.index)) &&
           queued->queues->replicas[replica.index].ready->isComplete();
  return rendezvous->isComplete(uint32_t(blocked >> 32), uint32_t(blocked));
}

Expected<const std::byte *>
ProgramState::read(uint32_t replica, const artifact::Buffer *buffer,
                   uint64_t bytes, std::vector<std::byte> &storage) const {
  if (!queued)
    return static_cast<const std::byte *>(address(replica, buffer));
  if (!queued->queues->isEndReached())
    return systemError("the device has not ended the run");
  if (queued->recorded)
    if (const std::byte *output =
            queued->recorded->output(address(replica, buffer), bytes))
      return output;
  storage.resize(bytes);
  std::unique_ptr<Event> before = memory.device->createEvent({});
  queued->queues->replicas[replica].queue->record(*before);
  LOCKSTEP_RETURN_IF_ERROR(transfer(*memory.device, [&](Queue &queue) {
    queue.wait(*before);
    queue.download(storage.data(), address(replica, buffer), bytes);
  }));
  return static_cast<const std::byte *>(storage.data());
}

Status ProgramState::write(std::byte *to,
                           std::span<const std::byte> bytes) const {
  if (queued)
    return transfer(*memory.device, [&](Queue &queue) {
      queue.upload(to, bytes.data(), bytes.size());
    });
  std::ranges::copy(bytes, to);
  return Status::success();
}

} // namespace lockstep::runtime
