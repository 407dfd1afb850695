//===- ProgramState.cpp ---------------------------------------------------===//

#include "runtime/executor/ProgramState.h"

#include "runtime/transport/exchange/ExchangeTransport.h"

#include <algorithm>
#include <cstring>

namespace lockstep::runtime {

/// The number of a program that all roles agree on.
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

Status ProgramState::allocate() {
  LOCKSTEP_RETURN_IF_ERROR(
      Arenas::allocate(replicaCount, program.tables->replica_size())
          .moveTo(arenas));
  return Memory::allocate(program.tables->shared_size()).moveTo(shared);
}

Expected<std::unique_ptr<ProgramState>>
ProgramState::create(const Program &program, const SessionMemory &memory,
                     uint32_t workers, TileScheduler &tiles,
                     NetworkInbox *inbox) {
  std::unique_ptr<ProgramState> state(new ProgramState(program, tiles));
  const artifact::Artifact &tables = program.artifact->tables();
  uint32_t count = state->replicaCount = program.ranks.count;

  if (Status status = state->allocate(); !status.ok())
    return status.withContext("program '" + std::string(program.name()) + "'");

  // Nobody writes to the constants: the verifier refuses a program that tries
  // to.
  auto *constants =
      tables.constants() < 0
          ? nullptr
          : const_cast<std::byte *>(
                program.artifact->segment(uint32_t(tables.constants())).data());
  state->replicas = std::make_unique<Replica[]>(count);
  std::vector<std::byte *const *> bases;
  for (uint32_t i = 0; i < count; ++i) {
    Replica &replica = state->replicas[i];
    replica.index = i;
    auto base = [&](artifact::Space space) -> std::byte *& {
      return replica.bases[size_t(space)];
    };
    base(artifact::Space::replica) = state->arenas[i].data();
    base(artifact::Space::shared) = state->shared.data();
    base(artifact::Space::constant) = constants;
    base(artifact::Space::variable) = memory.variables->data();
    base(artifact::Space::replica_variable) = memory.replicaVariables[i].data();
    base(artifact::Space::scalar) = memory.scalars.data();
    replica.rank = static_cast<int32_t>(program.ranks.first + i);
    base(artifact::Space::rank) = reinterpret_cast<std::byte *>(&replica.rank);
    replica.registers.assign(program.tables->registers(), 0);
    replica.pointers.assign(program.mostSlices, nullptr);
    replica.scalars.assign(program.mostScalars, 0);
    replica.started =
        std::vector<std::atomic<uint32_t>>(program.channelMembers.size());
    bases.push_back(replica.bases.data());
  }

  state->variablesMutex = &memory.variables->mutex();
  state->rendezvous = std::make_unique<Rendezvous>(program.channelMembers);
  std::vector<const CollectivePlan *> plans;
  for (const auto &plan : program.plans)
    plans.push_back(plan.get());
  Expected<std::unique_ptr<ThreadsTransport>> threads =
      ThreadsTransport::create(*state->rendezvous, plans, std::move(bases),
                               program.ranks.first, workers, tiles);
  if (!threads)
    return threads.status();
  if (!inbox) {
    state->transport = std::move(*threads);
    return state;
  }
  auto describe = [&program](uint32_t channel) {
    return program.place(program.channelCommands[channel]);
  };
  Expected<std::unique_ptr<ExchangeTransport>> exchange =
      ExchangeTransport::create(std::move(*threads), *state->rendezvous, plans,
                                *inbox, programNumber(program), describe);
  if (!exchange)
    return exchange.status();
  state->transport = std::move(*exchange);
  return state;
}

void ProgramState::fillMemory() {
  auto fill = [](std::span<std::byte> memory) {
    constexpr uint32_t pattern = 0x7ff47ff4;
    for (uint64_t i = 0; i + sizeof pattern <= memory.size();
         i += sizeof pattern)
      std::memcpy(memory.data() + i, &pattern, sizeof pattern);
  };
  for (uint32_t i = 0; i < replicaCount; ++i)
    fill(arenas[i]);
  fill({shared.data(), shared.size()});
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

} // namespace lockstep::runtime
