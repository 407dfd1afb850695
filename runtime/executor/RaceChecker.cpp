//===- RaceChecker.cpp ----------------------------------------------------===//

#include "runtime/executor/RaceChecker.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime {

static void join(std::vector<uint32_t> &clock,
                 const std::vector<uint32_t> &other) {
  for (size_t i = 0; i < clock.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

void RaceChecker::runBegins(const ProgramState &given) {
  state = &given;
  replicaCount = given.replicaCount;
  size_t channels = given.program.channelMembers.size();
  size_t agents = 2 * size_t(replicaCount) + channels;
  clocks.assign(agents, VectorClock(agents, 0));
  for (size_t agent = 0; agent < agents; ++agent)
    clocks[agent][agent] = 1;
  gathered.assign(channels, VectorClock(agents, 0));
  done.assign(channels, VectorClock(agents, 0));
  cells.clear();
}

Status RaceChecker::commandBegins(const Replica &replica, uint32_t command) {
  const artifact::Program &tables = *state->program.tables;
  const artifact::Command *body = tables.commands()->Get(command);
  uint32_t agent = replica.index;
  VectorClock *clock = &clocks[agent];
  auto touch = [&](uint32_t buffer, bool writes) {
    return access(*clock, {agent, (*clock)[agent], command, replica.index},
                  tables.buffers()->Get(buffer), writes);
  };
  switch (body->body_type()) {
  case artifact::CommandBody::Launch: {
    if (brokenRule == MemoryRule::launchPassesEarly) {
      // Tiles that are not waited for are a separate agent, whose clock is
      // never joined.
      agent = helperAgent(replica.index);
      join(clocks[agent], *clock);
      clock = &clocks[agent];
    }
    const artifact::Launch *launch = body->body_as_Launch();
    uint32_t count = launch->buffers() ? launch->buffers()->size() : 0;
    // Scratch buffers follow the reads and writes and are written.
    for (uint32_t i = 0; i < count; ++i)
      LOCKSTEP_RETURN_IF_ERROR(
          touch(launch->buffers()->Get(i), i >= launch->reads()));
    return Status::success();
  }
  case artifact::CommandBody::Copy:
    LOCKSTEP_RETURN_IF_ERROR(touch(body->body_as_Copy()->source(), false));
    return touch(body->body_as_Copy()->destination(), true);
  case artifact::CommandBody::BranchUnless:
    return touch(body->body_as_BranchUnless()->condition(), false);
  case artifact::CommandBody::LoadRegister:
    return touch(body->body_as_LoadRegister()->buffer(), false);
  default:
    return Status::success();
  }
}

Status RaceChecker::arrives(const Replica &replica, uint32_t command,
                            bool last) {
  const Instruction &instruction = state->program.code[command];
  uint32_t channel = instruction.a;
  VectorClock &clock = clocks[replica.index];
  join(gathered[channel], clock);
  ++clock[replica.index];
  if (!last)
    return Status::success();
  VectorClock known = std::move(gathered[channel]);
  gathered[channel].assign(known.size(), 0);
  switch (instruction.opcode) {
  case Opcode::start: {
    uint32_t agent = channelAgent(channel);
    join(clocks[agent], known);
    LOCKSTEP_RETURN_IF_ERROR(collective(replica, command, clocks[agent]));
    done[channel] = clocks[agent];
    ++clocks[agent][agent];
    return Status::success();
  }
  case Opcode::once:
    join(clock, known);
    return Status::success();
  default:
    done[channel] = std::move(known);
    return Status::success();
  }
}

/// The collective reads the operands of all members and writes their results.
Status RaceChecker::collective(const Replica &replica, uint32_t command,
                               const VectorClock &clock) {
  const artifact::Program &tables = *state->program.tables;
  const artifact::Start *start =
      tables.commands()->Get(command)->body_as_Start();
  const CollectivePlan &plan = *state->program.code[command].plan;
  uint32_t agent = channelAgent(plan.channel);
  uint32_t operands = start->operands() ? start->operands()->size() : 0,
           results = start->results() ? start->results()->size() : 0;
  for (uint32_t i = plan.firstLocal; i < plan.firstLocal + plan.localCount;
       ++i) {
    uint32_t member = plan.members[i] - state->program.ranks.first;
    Access access{agent, clock[agent], command, member};
    for (uint32_t k = 0; k < std::max(operands, results); ++k) {
      if (k < operands)
        LOCKSTEP_RETURN_IF_ERROR(this->access(
            clock, access, tables.buffers()->Get(start->operands()->Get(k)),
            false));
      if (k < results && (!plan.sharedResults || member == replica.index))
        LOCKSTEP_RETURN_IF_ERROR(this->access(
            clock, access, tables.buffers()->Get(start->results()->Get(k)),
            true));
    }
  }
  return Status::success();
}

void RaceChecker::sectionEnds(const Replica &replica, uint32_t channel) {
  done[channel] = clocks[replica.index];
  ++clocks[replica.index][replica.index];
}

void RaceChecker::passes(const Replica &replica, uint32_t channel) {
  join(clocks[replica.index], done[channel]);
}

void RaceChecker::split(uintptr_t address) {
  auto next = cells.upper_bound(address);
  if (next == cells.begin())
    return;
  auto &[begin, cell] = *std::prev(next);
  if (begin == address || cell.end <= address)
    return;
  Cell rest = cell;
  cell.end = address;
  cells.emplace_hint(next, address, std::move(rest));
}

Status RaceChecker::access(const VectorClock &clock, const Access &access,
                           const artifact::Buffer *buffer, bool writes) {
  if (buffer->size() == 0)
    return Status::success();
  auto begin =
      reinterpret_cast<uintptr_t>(state->address(access.replica, buffer));
  uintptr_t end = begin + buffer->size();
  split(begin);
  split(end);
  auto isOrdered = [&](const Access &before) {
    return before.time <= clock[before.agent];
  };
  uintptr_t covered = begin;
  for (auto it = cells.lower_bound(begin); covered < end;
       covered = it->second.end, ++it) {
    if (it == cells.end() || it->first > covered) {
      uintptr_t gapEnd = it == cells.end() ? end : std::min(end, it->first);
      it = cells.emplace_hint(it, covered, Cell{gapEnd, false, {}, {}});
    }
    Cell &cell = it->second;
    if (cell.written && !isOrdered(cell.write))
      return conflict(access, writes, cell.write, true, buffer);
    if (!writes) {
      std::erase_if(cell.reads, [&](const Access &read) {
        return read.agent == access.agent;
      });
      cell.reads.push_back(access);
      continue;
    }
    for (const Access &read : cell.reads)
      if (!isOrdered(read))
        return conflict(access, true, read, false, buffer);
    cell.written = true;
    cell.write = access;
    cell.reads.clear();
  }
  return Status::success();
}

std::string RaceChecker::name(const Access &access) const {
  std::string_view location = state->program.location(access.command);
  return fmt::format("command {} '{}'{} of replica {}", access.command,
                     state->program.describe(access.command),
                     location.empty() ? "" : fmt::format(" ({})", location),
                     state->program.ranks.first + access.replica);
}

Status RaceChecker::conflict(const Access &now, bool nowWrites,
                             const Access &before, bool beforeWrites,
                             const artifact::Buffer *buffer) const {
  return {StatusCode::race,
          fmt::format("race in program '{}': {} {} bytes {} to {} of space {}, "
                      "which {} {}, and "
                      "nothing orders the two",
                      state->program.name(), name(now),
                      nowWrites ? "writes" : "reads", buffer->offset(),
                      buffer->offset() + buffer->size(),
                      artifact::EnumNameSpace(buffer->space()), name(before),
                      beforeWrites ? "writes" : "reads")};
}

} // namespace lockstep::runtime
