//===- Oracle.cpp - programs executed on data -----------------------------===//

#include "Oracle.h"

#include "runtime/schema/RoleInfo.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace lockstep::runtime::verification::test {
namespace {

using artifact::CollectiveKind;
using artifact::CommandBody;
using artifact::Space;
using Bytes = std::vector<uint8_t>;

constexpr size_t memorySize = 128;
constexpr size_t spaces = size_t(Space::MAX) + 1;

/// Members count their starts; an instance is a channel and one of these
/// numbers.
struct Instance {
  std::map<uint32_t, Bytes> operands;
};

struct Replica {
  const artifact::Program *program = nullptr;
  uint32_t rank = 0, pc = 0, roleRanks = 0, firstRank = 0;
  bool ended = false;
  std::vector<int64_t> registers;
  Bytes *memory[spaces] = {};
  std::map<uint32_t, uint32_t> epochs;
  /// Channel of a barrier or once section at which it has arrived.
  bool hasArrived = false;
};

class Execution {
public:
  Execution(const artifact::Artifact &tables, uint64_t seed)
      : tables(tables), random(seed), salt(random()) {
    for (const artifact::Role *role : *tables.roles())
      for (const artifact::Program *program : *tables.programs())
        if (program->role()->string_view() == role->name()->string_view())
          add(*role, *program);
  }

  Outcome run() {
    constexpr uint64_t longest = 200;
    for (uint64_t bursts = 0; bursts < longest * replicas.size(); ++bursts) {
      size_t first = random() % replicas.size(), tried = 0;
      bool allEnded = true;
      for (; tried < replicas.size(); ++tried) {
        Replica &replica = *replicas[(first + tried) % replicas.size()];
        allEnded &= replica.ended;
        if (!replica.ended && canStep(replica))
          break;
      }
      if (tried == replicas.size())
        return allEnded ? Outcome::allEnd : Outcome::blocks;
      Replica &chosen = *replicas[(first + tried) % replicas.size()];
      for (uint64_t burst = random() % 16 + 1;
           burst-- && !chosen.ended && canStep(chosen);)
        step(chosen);
    }
    return Outcome::runsOn;
  }

private:
  Bytes *newMemory(bool numbers) {
    memories.push_back(std::make_unique<Bytes>(memorySize));
    for (size_t i = 0; i < memorySize; ++i)
      // Words of 4 bytes stay small: they may be numbers of iterations.
      (*memories.back())[i] =
          numbers ? (i % 4 ? 0 : uint8_t(random() % 3)) : uint8_t(random() % 2);
    return memories.back().get();
  }

  void add(const artifact::Role &role, const artifact::Program &program) {
    for (const artifact::Command *command : *program.commands())
      if (const auto *start = command->body_as_Start())
        starts[{&program, start->channel()}] = start;
    if (!scalars) {
      scalars = newMemory(true);
      constants = newMemory(true);
    }
    Bytes *shared = newMemory(false), *variables = newMemory(true);
    for (uint32_t i = 0; i < role.ranks(); ++i) {
      auto replica = std::make_unique<Replica>();
      replica->program = &program;
      replica->rank = role.first_rank() + i;
      replica->firstRank = role.first_rank();
      replica->roleRanks = role.ranks();
      replica->registers.resize(program.registers());
      replica->memory[size_t(Space::replica)] = newMemory(false);
      replica->memory[size_t(Space::shared)] = shared;
      replica->memory[size_t(Space::constant)] = constants;
      replica->memory[size_t(Space::variable)] = variables;
      replica->memory[size_t(Space::replica_variable)] = newMemory(true);
      replica->memory[size_t(Space::input)] = newMemory(true);
      replica->memory[size_t(Space::scalar)] = scalars;
      replica->memory[size_t(Space::rank)] = newMemory(true);
      std::memcpy(replica->memory[size_t(Space::rank)]->data(), &replica->rank,
                  sizeof(replica->rank));
      replicas.push_back(std::move(replica));
    }
  }

  const artifact::Command &command(const Replica &replica) const {
    return *replica.program->commands()->Get(replica.pc);
  }

  std::vector<uint32_t> members(uint32_t group) const {
    const auto *ranks = tables.groups()->Get(group)->ranks();
    if (ranks && ranks->size())
      return {ranks->begin(), ranks->end()};
    std::vector<uint32_t> all(tables.replicas());
    for (uint32_t i = 0; i < all.size(); ++i)
      all[i] = i;
    return all;
  }

  bool isMember(const Replica &replica, uint32_t group) const {
    std::vector<uint32_t> ranks = members(group);
    return std::find(ranks.begin(), ranks.end(), replica.rank) != ranks.end();
  }

  const artifact::Start *startOf(const Replica &replica,
                                 uint32_t channel) const {
    return starts.at({replica.program, channel});
  }

  bool isComplete(Replica &replica, uint32_t channel,
                  const std::vector<uint32_t> &ranks) {
    return instances[{channel, replica.epochs[channel]}].operands.size() ==
           ranks.size();
  }

  std::vector<uint32_t> roleOf(const Replica &replica) const {
    std::vector<uint32_t> ranks;
    for (uint32_t i = 0; i < replica.roleRanks; ++i)
      ranks.push_back(replica.firstRank + i);
    return ranks;
  }

  bool canStep(Replica &replica) {
    const artifact::Command &c = command(replica);
    if (const auto *wait = c.body_as_Wait()) {
      const artifact::Start *start = startOf(replica, wait->channel());
      return !isMember(replica, start->group()) ||
             isComplete(replica, wait->channel(), members(start->group()));
    }
    if (!replica.hasArrived)
      return true;
    if (const auto *barrier = c.body_as_Barrier())
      return isComplete(replica, barrier->channel(), members(barrier->group()));
    return isComplete(replica, c.body_as_Once()->channel(), roleOf(replica));
  }

  void arrive(Replica &replica, uint32_t channel, Bytes operands) {
    instances[{channel, ++replica.epochs[channel]}].operands[replica.rank] =
        std::move(operands);
  }

  Bytes read(const Replica &replica, uint32_t index) const {
    const artifact::Buffer *buffer = replica.program->buffers()->Get(index);
    const Bytes &memory = *replica.memory[size_t(buffer->space())];
    return {memory.begin() + long(buffer->offset()),
            memory.begin() + long(buffer->offset() + buffer->size())};
  }

  void write(Replica &replica, uint32_t index, const Bytes &bytes) {
    const artifact::Buffer *buffer = replica.program->buffers()->Get(index);
    std::copy(bytes.begin(), bytes.end(),
              replica.memory[size_t(buffer->space())]->begin() +
                  long(buffer->offset()));
  }

  /// Bits that depend only on `given`.
  Bytes compute(uint64_t which, const Bytes &given, size_t size) const {
    uint64_t hash = salt ^ which * 0x9e3779b97f4a7c15u;
    for (uint8_t byte : given) {
      hash = (hash ^ byte) * 0x100000001b3u;
      hash ^= hash >> 31;
    }
    Bytes result(size);
    for (size_t i = 0; i < size; ++i) {
      hash = (hash + i + 1) * 0xff51afd7ed558ccdu;
      hash ^= hash >> 33;
      result[i] = size == 4 && i ? 0 : hash & 1;
    }
    return result;
  }

  size_t sizeOf(const Replica &replica, uint32_t index) const {
    return replica.program->buffers()->Get(index)->size();
  }

  void receive(Replica &replica, const artifact::Start &start) {
    const Instance &instance =
        instances[{start.channel(), replica.epochs[start.channel()]}];
    std::vector<uint32_t> ranks = members(start.group());
    uint32_t root = start.root() < 0 ? ranks.front() : uint32_t(start.root());
    bool isForRoot = start.kind() == CollectiveKind::reduce ||
                     start.kind() == CollectiveKind::gather;
    if (isForRoot && replica.rank != root)
      return;
    for (uint32_t i = 0; start.results() && i < start.results()->size(); ++i) {
      uint32_t result = start.results()->Get(i);
      if (start.kind() == CollectiveKind::broadcast) {
        Bytes given = instance.operands.at(root);
        given.resize(sizeOf(replica, result));
        write(replica, result, given);
        continue;
      }
      Bytes all;
      for (const auto &[rank, operands] : instance.operands)
        all.insert(all.end(), operands.begin(), operands.end());
      if (start.kind() == CollectiveKind::reduce_scatter ||
          start.kind() == CollectiveKind::scatter)
        all.push_back(
            uint8_t(std::find(ranks.begin(), ranks.end(), replica.rank) -
                    ranks.begin() + 7));
      write(replica, result,
            compute(uint64_t(start.kind()) + 100 + i, all,
                    sizeOf(replica, result)));
    }
  }

  int64_t number(const Replica &replica, uint32_t buffer) const {
    Bytes bytes = read(replica, buffer);
    int32_t value = bytes[0];
    if (bytes.size() >= 4)
      std::memcpy(&value, bytes.data(), 4);
    return value;
  }

  void step(Replica &replica) {
    const artifact::Command &c = command(replica);
    uint32_t next = replica.pc + 1;
    switch (c.body_type()) {
    case CommandBody::Launch: {
      const auto *launch = c.body_as_Launch();
      Bytes given;
      for (uint32_t i = 0; i < launch->reads(); ++i)
        for (uint8_t byte : read(replica, launch->buffers()->Get(i)))
          given.push_back(byte);
      for (uint32_t i = 0;
           launch->registers() && i < launch->registers()->size(); ++i)
        given.push_back(
            uint8_t(replica.registers[launch->registers()->Get(i)]));
      for (uint32_t i = launch->reads();
           launch->buffers() && i < launch->buffers()->size(); ++i)
        write(replica, launch->buffers()->Get(i),
              compute(launch->kernel() * 16 + i, given,
                      sizeOf(replica, launch->buffers()->Get(i))));
      break;
    }
    case CommandBody::Copy:
      write(replica, c.body_as_Copy()->destination(),
            read(replica, c.body_as_Copy()->source()));
      break;
    case CommandBody::Start: {
      const auto *start = c.body_as_Start();
      Bytes operands;
      for (uint32_t i = 0; start->operands() && i < start->operands()->size();
           ++i)
        for (uint8_t byte : read(replica, start->operands()->Get(i)))
          operands.push_back(byte);
      if (isMember(replica, start->group()))
        arrive(replica, start->channel(), std::move(operands));
      break;
    }
    case CommandBody::Wait: {
      const artifact::Start *start =
          startOf(replica, c.body_as_Wait()->channel());
      if (isMember(replica, start->group()))
        receive(replica, *start);
      break;
    }
    case CommandBody::Barrier:
      if (!isMember(replica, c.body_as_Barrier()->group()))
        break;
      if (!replica.hasArrived)
        arrive(replica, c.body_as_Barrier()->channel(), {});
      replica.hasArrived = !replica.hasArrived;
      if (replica.hasArrived)
        return;
      break;
    case CommandBody::Once:
      return once(replica, *c.body_as_Once());
    case CommandBody::Jump:
      next = c.body_as_Jump()->target();
      break;
    case CommandBody::BranchUnless:
      if (!(read(replica, c.body_as_BranchUnless()->condition())[0]))
        next = c.body_as_BranchUnless()->target();
      break;
    case CommandBody::BranchGreaterEqual:
      if (replica.registers[c.body_as_BranchGreaterEqual()->lhs()] >=
          replica.registers[c.body_as_BranchGreaterEqual()->rhs()])
        next = c.body_as_BranchGreaterEqual()->target();
      break;
    case CommandBody::SetRegister:
      replica.registers[c.body_as_SetRegister()->register_()] =
          c.body_as_SetRegister()->value();
      break;
    case CommandBody::AddRegister:
      replica.registers[c.body_as_AddRegister()->register_()] +=
          replica.registers[c.body_as_AddRegister()->source()];
      break;
    case CommandBody::LoadRegister:
      replica.registers[c.body_as_LoadRegister()->register_()] =
          number(replica, c.body_as_LoadRegister()->buffer());
      break;
    case CommandBody::Return:
      replica.ended = true;
      break;
    case CommandBody::Next:
      replica.memory[size_t(Space::input)] = newMemory(true);
      break;
    default:
      break;
    }
    bool waits = c.body_type() == CommandBody::Wait ||
                 c.body_type() == CommandBody::Barrier;
    if (waits && replica.firstRank > 0 && canShareServers(tables))
      changeVariables(replica);
    replica.pc = next;
  }

  /// The effect of steps of other workers on the memory of a server.
  void changeVariables(Replica &replica) {
    if (random() % 2)
      *replica.memory[size_t(Space::variable)] = *newMemory(true);
  }

  /// The last to arrive executes the section for all.
  void once(Replica &replica, const artifact::Once &section) {
    if (!replica.hasArrived) {
      arrive(replica, section.channel(), {});
      replica.hasArrived = true;
      if (isComplete(replica, section.channel(), roleOf(replica))) {
        uint32_t begin = replica.pc;
        replica.hasArrived = false;
        ++replica.pc;
        for (int steps = 0; replica.pc != section.end() && steps < 1000;
             ++steps)
          step(replica);
        replica.pc = begin;
        replica.hasArrived = true;
      }
      return;
    }
    replica.hasArrived = false;
    if (replica.firstRank > 0 && canShareServers(tables))
      changeVariables(replica);
    replica.pc = section.end() + 1;
  }

  const artifact::Artifact &tables;
  std::mt19937_64 random;
  uint64_t salt;
  std::vector<std::unique_ptr<Bytes>> memories;
  Bytes *scalars = nullptr, *constants = nullptr;
  std::vector<std::unique_ptr<Replica>> replicas;
  std::map<std::pair<uint32_t, uint32_t>, Instance> instances;
  std::map<std::pair<const artifact::Program *, uint32_t>,
           const artifact::Start *>
      starts;
};

} // namespace

Outcome execute(const artifact::Artifact &tables, uint64_t seed) {
  return Execution(tables, seed).run();
}

} // namespace lockstep::runtime::verification::test
