//===- Faults.cpp ---------------------------------------------------------===//

#include "runtime/executor/Faults.h"

#include "runtime/executor/ProgramState.h"
#include "runtime/schema/Types.h"

#include <algorithm>
#include <array>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::runtime {

namespace {

/// The command of a program that a fault names, if there is one.
std::optional<uint32_t> commandOf(const Injection &injection,
                                  const Program &program) {
  if (!injection.program.empty() && injection.program != program.name())
    return std::nullopt;
  if (injection.channel == Injection::anywhere)
    return injection.command < program.code.size()
               ? std::optional(injection.command)
               : std::nullopt;
  bool isUsed = injection.channel < program.channelMembers.size() &&
                program.channelMembers[injection.channel] > 0;
  return isUsed ? std::optional(program.channelCommands[injection.channel])
                : std::nullopt;
}

/// The tensors of floats that a launch writes.
std::vector<const artifact::Buffer *> writtenFloats(const Program &program,
                                                    uint32_t command) {
  std::vector<const artifact::Buffer *> floats;
  const artifact::Launch &launch =
      *program.tables->commands()->Get(command)->body_as_Launch();
  for (uint32_t i = launch.reads(); i < launch.reads() + launch.writes(); ++i)
    if (const artifact::Buffer *buffer =
            program.tables->buffers()->Get(launch.buffers()->Get(i));
        buffer->type() && isFloat(buffer->type()->element()))
      floats.push_back(buffer);
  return floats;
}

bool fits(const Injection &injection, const Program &program,
          uint32_t command) {
  if (injection.fault == Fault::pause)
    return true;
  return program.code[command].opcode == Opcode::launch &&
         (injection.fault != Fault::nan ||
          !writtenFloats(program, command).empty());
}

/// The bytes of a NaN: all bits but the sign are set, whatever the width.
std::array<std::byte, 8> nanOf(artifact::ElementType element) {
  std::array<std::byte, 8> bytes;
  bytes.fill(std::byte{0xff});
  bytes[elementSize(element) - 1] = std::byte{0x7f};
  return bytes;
}

} // namespace

void markFaults(Program &program, std::span<const Injection> injections) {
  for (const Injection &injection : injections)
    if (std::optional<uint32_t> command = commandOf(injection, program);
        command && fits(injection, program, *command))
      program.code[*command].flags |= Instruction::injected;
}

Status checkFaults(std::span<const Injection> injections,
                   std::span<const std::unique_ptr<Program>> programs,
                   const RankRange &here) {
  for (const Injection &injection : injections) {
    if (!here.contains(injection.replica))
      continue;
    bool acts = false;
    std::string found;
    for (const std::unique_ptr<Program> &program : programs) {
      std::optional<uint32_t> command = commandOf(injection, *program);
      acts |= command && fits(injection, *program, *command);
      if (command)
        found = fmt::format(
            "expected a launch{}, found '{}' at command {} of program '{}'",
            injection.fault == Fault::nan ? " that writes floats" : "",
            program->describe(*command), *command, program->name());
    }
    if (acts)
      continue;
    std::vector<std::string_view> names;
    for (const std::unique_ptr<Program> &program : programs)
      names.push_back(program->name());
    if (found.empty() && !injection.program.empty() &&
        std::ranges::find(names, injection.program) == names.end())
      found = fmt::format("replica {} has no program '{}', only '{}'",
                          injection.replica, injection.program,
                          fmt::join(names, "', '"));
    else if (found.empty())
      found = fmt::format(
          "replica {} has no {} {}", injection.replica,
          injection.channel == Injection::anywhere ? "command" : "channel",
          injection.channel == Injection::anywhere ? injection.command
                                                   : injection.channel);
    return invalidArgument(
        fmt::format("injection '{}': {}", injection.text, found));
  }
  return Status::success();
}

bool actsAt(const Injection &injection, const Program &program, uint32_t rank,
            uint32_t command) {
  return injection.replica == rank &&
         commandOf(injection, program) == command &&
         fits(injection, program, command);
}

void neverReturn() {
  for (;;)
    ::pause();
}

Status writeNan(const ProgramState &state, uint32_t command,
                const Replica &replica) {
  for (const artifact::Buffer *written :
       writtenFloats(state.program, command)) {
    const artifact::Buffer &buffer = *written;
    artifact::ElementType element = buffer.type()->element();
    uint64_t bytes =
        staticBytes(element, currentShape(buffer, replica.registers.data()))
            .value_or(0);
    uint64_t size = elementSize(element);
    if (bytes < size || bytes > buffer.size())
      continue;
    std::array<std::byte, 8> nan = nanOf(element);
    LOCKSTEP_RETURN_IF_ERROR(
        state.write(state.address(replica.index, &buffer) + bytes - size,
                    std::span(nan).first(size)));
  }
  return Status::success();
}

} // namespace lockstep::runtime
