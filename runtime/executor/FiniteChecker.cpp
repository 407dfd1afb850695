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

/// A float is not finite if all bits of its exponent are set.
template <typename Bits>
uint64_t firstWith(const std::byte *elements, uint64_t count, Bits exponent) {
  auto isSet = [&](uint64_t i) {
    Bits bits;
    std::memcpy(&bits, elements + i * sizeof(Bits), sizeof(Bits));
    return (bits & exponent) == exponent;
  };
  // Compilers vectorize a block without branches.
  constexpr uint64_t block = 1024;
  for (uint64_t begin = 0; begin < count; begin += block) {
    uint64_t end = std::min(count, begin + block);
    Bits any = 0;
    for (uint64_t i = begin; i < end; ++i)
      any |= Bits(isSet(i));
    for (uint64_t i = begin; any && i < end; ++i)
      if (isSet(i))
        return i;
  }
  return count;
}

/// "nan", "inf" or "-inf".
std::string valueText(ElementType element, const std::byte *address) {
  uint64_t size = elementSize(element), bits = 0;
  std::memcpy(&bits, address, size);
  unsigned mantissa = element == ElementType::f16    ? 10
                      : element == ElementType::bf16 ? 7
                      : element == ElementType::f32  ? 23
                                                     : 52;
  if (bits & ((uint64_t(1) << mantissa) - 1))
    return "nan";
  return bits >> (8 * size - 1) ? "-inf" : "inf";
}

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

uint64_t firstNonFinite(ElementType element, const std::byte *elements,
                        uint64_t count) {
  switch (element) {
  case ElementType::f16:
    return firstWith<uint16_t>(elements, count, 0x7c00);
  case ElementType::bf16:
    return firstWith<uint16_t>(elements, count, 0x7f80);
  case ElementType::f32:
    return firstWith<uint32_t>(elements, count, 0x7f800000);
  default:
    return firstWith<uint64_t>(elements, count, 0x7ff0000000000000);
  }
}

void FiniteChecker::runBegins(const ProgramState &given) {
  state = &given;
  pending.assign(given.replicaCount, {});
}

Status FiniteChecker::commandBegins(const Replica &replica, uint32_t) {
  return pending[replica.index].status;
}

Status FiniteChecker::commandEnds(const Replica &replica, uint32_t command) {
  if (state->program.code[command].opcode == Opcode::launch)
    return checkLaunch(replica, command);
  return pending[replica.index].status;
}

void FiniteChecker::passes(const Replica &replica, uint32_t channel) {
  uint32_t command = state->program.channelCommands[channel];
  if (state->program.code[command].opcode == Opcode::start)
    pending[replica.index].status = checkCollective(replica, command);
}

Status FiniteChecker::checkLaunch(const Replica &replica,
                                  uint32_t command) const {
  const artifact::Launch &launch =
      *state->program.tables->commands()->Get(command)->body_as_Launch();
  if (!launch.buffers())
    return Status::success();
  Buffers all(launch.buffers()->data(), launch.buffers()->size());
  Buffers writes = all.subspan(launch.reads(), launch.writes());
  std::optional<Finding> written = find(replica, writes, {});
  return written ? describe(replica, command, *written,
                            find(replica, all.first(launch.reads()), writes))
                 : Status::success();
}

Status FiniteChecker::checkCollective(const Replica &replica,
                                      uint32_t command) const {
  const artifact::Start &start =
      *state->program.tables->commands()->Get(command)->body_as_Start();
  const CollectivePlan &plan = *state->program.code[command].plan;
  bool isRoot = plan.members[plan.root] == uint32_t(replica.rank);
  // In kinds with results at the root, skip the others; in kinds with operands
  // at the root, skip the root.
  bool isToRoot = plan.properties().resultHolders == Holders::root;
  bool isFromRoot = plan.properties().operandHolders == Holders::root;
  if (!start.results() || (isToRoot && !isRoot) || (isFromRoot && isRoot))
    return Status::success();
  Buffers results(start.results()->data(), start.results()->size());
  std::optional<Finding> written = find(replica, results, {});
  if (!written)
    return Status::success();
  std::optional<Finding> read;
  if (start.operands() && plan.hasOperands)
    read = find(replica,
                Buffers(start.operands()->data(), start.operands()->size()),
                results);
  return describe(replica, command, *written, read);
}

std::optional<FiniteChecker::Finding>
FiniteChecker::find(const Replica &replica, Buffers buffers,
                    Buffers overwritten) const {
  for (uint32_t index : buffers) {
    const artifact::Buffer &buffer =
        *state->program.tables->buffers()->Get(index);
    bool isOverwritten = std::ranges::any_of(overwritten, [&](uint32_t other) {
      return overlap(buffer, *state->program.tables->buffers()->Get(other));
    });
    if (!buffer.type() || !isFloat(buffer.type()->element()) || isOverwritten)
      continue;
    ElementType element = buffer.type()->element();
    std::vector<int64_t> shape = currentShape(buffer, replica.registers.data());
    std::optional<uint64_t> bytes = staticBytes(element, shape);
    // Result sizes that the members of a collective determine at run time are
    // stored in registers only later.
    if (!bytes || *bytes > buffer.size())
      continue;
    std::vector<std::byte> storage;
    Expected<const std::byte *> read =
        state->read(replica.index, &buffer, *bytes, storage);
    // A failure of the device ends the run elsewhere.
    if (!read)
      continue;
    const std::byte *address = *read;
    uint64_t count = *bytes / elementSize(element),
             found = firstNonFinite(element, address, count);
    if (found < count)
      return Finding{valueText(element, address + found * elementSize(element)),
                     fmt::format("{}{} of {}", nameOf(index),
                                 indexText(found, shape),
                                 typeName(element, shape))};
  }
  return std::nullopt;
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
