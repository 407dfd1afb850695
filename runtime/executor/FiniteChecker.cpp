//===- FiniteChecker.cpp --------------------------------------------------===//

#include "runtime/executor/FiniteChecker.h"

#include "runtime/schema/Types.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::runtime {

using artifact::ElementType;
using artifact::Space;

namespace {

bool overlap(const artifact::Buffer &a, const artifact::Buffer &b) {
  return a.space() == b.space() && a.offset() < b.offset() + b.size() &&
         b.offset() < a.offset() + a.size();
}

/// The indices of an element of a row-major tensor: "[3, 17]", or "" of a
/// scalar.
std::string indexText(uint64_t element, const std::vector<int64_t> &shape) {
  std::vector<uint64_t> indices(shape.size());
  for (size_t i = shape.size(); i-- > 0; element /= uint64_t(shape[i]))
    indices[i] = element % uint64_t(shape[i]);
  return shape.empty()
             ? ""
             : fmt::format(", element [{}]", fmt::join(indices, ", "));
}

} // namespace

/// Memory that commands of the run have not written before, unless they were
/// checked.
static bool holdsValuesFromBefore(Space space) {
  switch (space) {
  case Space::input:
  case Space::variable:
  case Space::replica_variable:
  case Space::constant:
  case Space::scalar:
    return true;
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// What commands access
//===----------------------------------------------------------------------===//

template <typename Vector>
static std::span<const uint32_t> indicesOf(const Vector *indices) {
  return indices ? std::span(indices->data(), indices->size())
                 : std::span<const uint32_t>();
}

FiniteChecker::Accesses FiniteChecker::launchAccesses(uint32_t command) const {
  const artifact::Launch &launch =
      *state->program.tables->commands()->Get(command)->body_as_Launch();
  Buffers all = indicesOf(launch.buffers());
  return {all.first(all.empty() ? 0 : launch.reads()),
          all.empty() ? all : all.subspan(launch.reads(), launch.writes())};
}

FiniteChecker::Accesses
FiniteChecker::collectiveAccesses(uint32_t command) const {
  const artifact::Start &start =
      *state->program.tables->commands()->Get(command)->body_as_Start();
  bool hasOperands = state->program.code[command].plan->hasOperands;
  return {hasOperands ? indicesOf(start.operands()) : Buffers(),
          indicesOf(start.results())};
}

std::optional<FiniteChecker::Accesses>
FiniteChecker::collectiveAccesses(const Replica &replica,
                                  uint32_t command) const {
  const CollectivePlan &plan = *state->program.code[command].plan;
  bool isRoot = plan.members[plan.root] == uint32_t(replica.rank);
  // In kinds with results at the root, skip the others; in kinds with operands
  // at the root, skip the root.
  bool isToRoot = plan.properties().resultHolders == Holders::root;
  bool isFromRoot = plan.properties().operandHolders == Holders::root;
  if ((isToRoot && !isRoot) || (isFromRoot && isRoot))
    return std::nullopt;
  return collectiveAccesses(command);
}

//===----------------------------------------------------------------------===//
// Observing
//===----------------------------------------------------------------------===//

void FiniteChecker::runBegins(const ProgramState &given) {
  state = &given;
  pending.assign(given.replicaCount, {});
  isDeferred = false;
  device = nullptr;
  if (given.queued)
    prepared = prepareDevice();
}

Status FiniteChecker::prepareDevice() {
  device = &devicePrograms[state];
  if (!device->findings) {
    const std::vector<Instruction> &code = state->program.code;
    device->firstSlot.assign(code.size(), 0);
    for (uint32_t command = 0; command < code.size(); ++command) {
      device->firstSlot[command] = uint32_t(device->slots.size());
      Accesses accesses;
      if (code[command].opcode == Opcode::launch)
        accesses = launchAccesses(command);
      else if (code[command].opcode == Opcode::start)
        accesses = collectiveAccesses(command);
      for (uint32_t buffer : accesses.writes)
        device->slots.push_back({command, buffer, /*isRead=*/false});
      for (uint32_t buffer : accesses.reads)
        device->slots.push_back({command, buffer, /*isRead=*/true});
    }
    LOCKSTEP_RETURN_IF_ERROR(
        DeviceFindings::create(*state, uint32_t(device->slots.size()))
            .moveTo(device->findings));
  }
  const std::optional<RecordedRun> &recorded = state->queued->recorded;
  isDeferred = recorded && recorded->isRepeatable() && !hasOthers;
  if (isDeferred)
    device->findings->begin();
  return Status::success();
}

Status FiniteChecker::commandBegins(const Replica &replica, uint32_t) {
  LOCKSTEP_RETURN_IF_ERROR(prepared);
  return pending[replica.index].status;
}

Status FiniteChecker::commandEnds(const Replica &replica, uint32_t command) {
  if (state->program.code[command].opcode == Opcode::launch)
    return check(replica, command, launchAccesses(command));
  return pending[replica.index].status;
}

Status FiniteChecker::arrives(const Replica &replica, uint32_t command, bool) {
  if (isDeferred)
    device->findings->publish(replica.index, state->program.code[command].a);
  return Status::success();
}

void FiniteChecker::sectionEnds(const Replica &replica, uint32_t channel) {
  if (isDeferred)
    device->findings->publish(replica.index, channel);
}

void FiniteChecker::passes(const Replica &replica, uint32_t channel) {
  if (isDeferred)
    device->findings->passes(replica.index, channel);
  uint32_t command = state->program.channelCommands[channel];
  if (state->program.code[command].opcode != Opcode::start)
    return;
  if (std::optional<Accesses> accesses = collectiveAccesses(replica, command))
    pending[replica.index].status = check(replica, command, *accesses);
}

/// The origin is what has been found with the lowest order, of the replica with
/// the lowest rank.
Status FiniteChecker::runEnds(const ProgramState &) {
  if (!isDeferred || !state->queued->queues->isEndReached())
    return Status::success();
  std::vector<std::vector<NonFinite>> findings;
  LOCKSTEP_RETURN_IF_ERROR(device->findings->read().moveTo(findings));
  uint32_t replica = 0, slot = 0;
  uint64_t lowest = NonFinite::none;
  for (uint32_t i = 0; i < findings.size(); ++i)
    for (uint32_t k = 0; k < findings[i].size(); ++k)
      if (!device->slots[k].isRead && findings[i][k].order < lowest) {
        lowest = findings[i][k].order;
        replica = i;
        slot = k;
      }
  if (lowest == NonFinite::none)
    return Status::success();
  const std::vector<NonFinite> &origins = findings[replica];
  const Replica &of = state->replicas[replica];
  uint32_t command = device->slots[slot].command;
  std::optional<Finding> read;
  for (uint32_t k = slot;
       k < origins.size() && !read && device->slots[k].command == command; ++k)
    if (device->slots[k].isRead && origins[k].order == lowest)
      read = makeFinding(of, device->slots[k].buffer, origins[k]);
  return describe(of, command,
                  makeFinding(of, device->slots[slot].buffer, origins[slot]),
                  read);
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

Status FiniteChecker::check(const Replica &replica, uint32_t command,
                            const Accesses &accesses) const {
  if (isDeferred) {
    defer(replica, command, accesses);
    return Status::success();
  }
  std::optional<Finding> written = find(replica, accesses.writes, {});
  return written ? describe(replica, command, *written,
                            find(replica, accesses.reads, accesses.writes))
                 : Status::success();
}

void FiniteChecker::defer(const Replica &replica, uint32_t command,
                          const Accesses &accesses) const {
  uint32_t slot = device->firstSlot[command];
  const auto &buffers = *state->program.tables->buffers();
  device->findings->nextCommand(replica.index);
  for (uint32_t index : accesses.writes) {
    if (std::optional<uint64_t> count = countElements(replica, index, {}))
      device->findings->search(replica.index, slot, *buffers.Get(index),
                               *count);
    ++slot;
  }
  for (uint32_t index : accesses.reads) {
    const artifact::Buffer &buffer = *buffers.Get(index);
    if (holdsValuesFromBefore(buffer.space()))
      if (std::optional<uint64_t> count =
              countElements(replica, index, accesses.writes))
        device->findings->search(replica.index, slot, buffer, *count);
    ++slot;
  }
}

std::optional<uint64_t>
FiniteChecker::countElements(const Replica &replica, uint32_t index,
                             Buffers overwritten) const {
  const auto &buffers = *state->program.tables->buffers();
  const artifact::Buffer &buffer = *buffers.Get(index);
  if (!buffer.type() || !isFloat(buffer.type()->element()) ||
      std::ranges::any_of(overwritten, [&](uint32_t other) {
        return overlap(buffer, *buffers.Get(other));
      }))
    return std::nullopt;
  ElementType element = buffer.type()->element();
  std::optional<uint64_t> bytes =
      staticBytes(element, currentShape(buffer, replica.registers.data()));
  // Result sizes that the members of a collective determine at run time are
  // stored in registers only later.
  if (!bytes || *bytes > buffer.size())
    return std::nullopt;
  return *bytes / elementSize(element);
}

std::optional<FiniteChecker::Finding>
FiniteChecker::find(const Replica &replica, Buffers buffers,
                    Buffers overwritten) const {
  for (uint32_t index : buffers) {
    const artifact::Buffer &buffer =
        *state->program.tables->buffers()->Get(index);
    std::optional<uint64_t> count = countElements(replica, index, overwritten);
    if (!count)
      continue;
    NonFinite found;
    if (device) {
      // A failure of the device ends the run elsewhere.
      if (!device->findings->searchNow(replica.index, buffer, *count)
               .moveTo(found)
               .ok())
        continue;
    } else {
      searchOnHost({buffer.type()->element(), *count,
                    state->address(replica.index, &buffer), &found, 0});
    }
    if (found.isFound())
      return makeFinding(replica, index, found);
  }
  return std::nullopt;
}

FiniteChecker::Finding
FiniteChecker::makeFinding(const Replica &replica, uint32_t index,
                           const NonFinite &found) const {
  const artifact::Buffer &buffer =
      *state->program.tables->buffers()->Get(index);
  std::vector<int64_t> shape = currentShape(buffer, replica.registers.data());
  return {std::string(found.value()),
          fmt::format("{}{} of {}", nameOf(index),
                      indexText(found.element(), shape),
                      typeName(buffer.type()->element(), shape))};
}

Status FiniteChecker::describe(const Replica &replica, uint32_t command,
                               const Finding &written,
                               const std::optional<Finding> &read) const {
  const Program &program = state->program;
  std::string_view location = program.location(command);
  return {StatusCode::nonFinite,
          fmt::format("{}{}{} has written {}: replica {}, {}, in command {} of "
                      "program '{}'{}",
                      location, location.empty() ? "" : ": ",
                      program.describe(command), written.value, replica.rank,
                      written.place, command, program.name(),
                      read ? fmt::format("; it has read {}: {}", read->value,
                                         read->place)
                           : "")};
}

/// "buffer 8 (variable 'w1')"
std::string FiniteChecker::nameOf(uint32_t index) const {
  const artifact::Program &program = *state->program.tables;
  const artifact::Artifact &tables = state->program.artifact->tables();
  const artifact::Buffer &buffer = *program.buffers()->Get(index);
  auto holds = [&](const auto *entry) {
    std::vector<int64_t> shape;
    if (entry->type()->shape())
      shape.assign(entry->type()->shape()->begin(),
                   entry->type()->shape()->end());
    uint64_t bytes = staticBytes(entry->type()->element(), shape).value_or(1);
    return buffer.offset() >= entry->offset() &&
           buffer.offset() - entry->offset() < bytes;
  };
  auto nameIn = [&](const auto *entries, std::string_view kind, auto matches) {
    for (uint32_t i = 0; entries && i < entries->size(); ++i)
      if (matches(entries->Get(i)))
        return fmt::format("buffer {} ({} '{}')", index, kind,
                           entries->Get(i)->name()->string_view());
    return fmt::format("buffer {}", index);
  };
  switch (buffer.space()) {
  case Space::variable:
  case Space::replica_variable:
    return nameIn(
        tables.variables(), "variable",
        [&](const artifact::Variable *variable) {
          bool isOwn =
              !tables.roles() ||
              tables.roles()->Get(variable->role())->name()->string_view() ==
                  program.role()->string_view();
          return isOwn && variable->space() == buffer.space() &&
                 holds(variable);
        });
  case Space::input:
    return nameIn(program.inputs(), "input", holds);
  case Space::scalar:
    return nameIn(tables.scalars(), "host scalar", holds);
  default:
    return nameIn(program.outputs(), "output",
                  [&](const artifact::Output *output) {
                    return output->buffer() == index;
                  });
  }
}

} // namespace lockstep::runtime
