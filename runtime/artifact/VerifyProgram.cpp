//===- VerifyProgram.cpp - bindings, buffers and commands -----------------===//

#include "runtime/artifact/Verifier.h"
#include "runtime/schema/Types.h"

#include <set>

#include <fmt/format.h>

namespace lockstep::runtime::verify {

uint64_t spaceSize(const Context &context, const artifact::Program &program,
                   artifact::Space space) {
  switch (space) {
  case artifact::Space::replica:
    return program.replica_size();
  case artifact::Space::shared:
    return program.shared_size();
  case artifact::Space::constant:
    return context.constantSize;
  case artifact::Space::variable:
    return context.role.variableSize;
  case artifact::Space::replica_variable:
    return context.role.replicaVariableSize;
  case artifact::Space::input:
    return program.input_size();
  case artifact::Space::scalar:
    return context.artifact.scalar_size();
  case artifact::Space::rank:
    return sizeof(int32_t);
  }
  return 0;
}

Status verifyBuffer(const Context &context, const artifact::Program &program,
                    const artifact::Buffer *buffer) {
  if (buffer->space() > artifact::Space::MAX)
    return corrupted(
        fmt::format("unknown space {}", unsigned(buffer->space())));
  uint64_t limit = spaceSize(context, program, buffer->space());
  if (!rangeFits(buffer->offset(), buffer->size(), limit))
    return corrupted(fmt::format(
        "{} bytes at {} lie outside of space {} of {} bytes", buffer->size(),
        buffer->offset(), artifact::EnumNameSpace(buffer->space()), limit));
  const artifact::TensorType *type = buffer->type();
  if (!type)
    return Status::success();
  constexpr uint64_t unknown = ~uint64_t(0);
  uint64_t bytes = unknown;
  LOCKSTEP_RETURN_IF_ERROR(verifyType(type, /*allowDynamic=*/true, &bytes));
  if (buffer->offset() % elementSize(type->element()) != 0)
    return corrupted(
        fmt::format("offset {} is not aligned to its element type {}",
                    buffer->offset(), elementName(type->element())));
  if (bytes != unknown) {
    if (bytes != buffer->size())
      return corrupted(fmt::format("its type takes {} bytes, its size is {}",
                                   bytes, buffer->size()));
    return Status::success();
  }
  if (count(buffer->size_registers()) != count(type->shape()))
    return corrupted(fmt::format(
        "expected a size register for each of {} dimensions, found {}",
        count(type->shape()), count(buffer->size_registers())));
  for (uint32_t i = 0; i < count(type->shape()); ++i) {
    int32_t index = buffer->size_registers()->Get(i);
    if (type->shape()->Get(i) == -1 &&
        (index < 0 || uint32_t(index) >= program.registers()))
      return corrupted(
          fmt::format("dimension {}: register {} does not exist", i, index));
  }
  return Status::success();
}

std::string commandName(const Context &context,
                        const artifact::Program &program, uint32_t index) {
  uint32_t location = program.commands()->Get(index)->location();
  if (location < count(context.artifact.locations()))
    return fmt::format(
        "command {} ({})", index,
        context.artifact.locations()->Get(location)->string_view());
  return fmt::format("command {}", index);
}

bool isReadOnly(artifact::Space space) {
  return space == artifact::Space::constant ||
         space == artifact::Space::input || space == artifact::Space::scalar ||
         space == artifact::Space::rank;
}

namespace {

bool isSharedSpace(artifact::Space space) {
  return space == artifact::Space::shared || space == artifact::Space::variable;
}

/// Checks the commands of one program one by one; `verifyFlow` checks control
/// flow.
class CommandVerifier {
public:
  CommandVerifier(const Context &context, const artifact::Program &program)
      : context(context), program(program), launches(context, program),
        buffers(count(program.buffers())) {
    for (bool inOnce : {false, true})
      for (uint32_t i = 0; i < buffers; ++i)
        writable[inOnce].push_back(
            mayBeWritten(program.buffers()->Get(i)->space(), inOnce));
  }

  /// The fast path of `verify`: whether a command is a valid simple launch, as
  /// most are.
  bool isGoodLaunch(const artifact::Command &command, bool inOnce) const {
    const artifact::Launch *launch = command.body_as_Launch();
    if (!launch || (command.location() &&
                    command.location() >= count(context.artifact.locations())))
      return false;
    const auto *names = launch->buffers();
    uint32_t total = count(names), reads = launch->reads(),
             registers = count(launch->registers());
    if (launch->kernel() >= count(context.artifact.kernels()) ||
        uint64_t(reads) + launch->writes() > total || total > 0xffff ||
        registers > 0xffff)
      return false;
    for (uint32_t i = 0; i < total; ++i)
      if (uint32_t index = names->Get(i);
          index >= buffers || (i >= reads && !writable[inOnce][index]))
        return false;
    for (uint32_t i = 0; i < registers; ++i)
      if (launch->registers()->Get(i) >= program.registers())
        return false;
    return launches.isSimple(*launch);
  }

  Status verify(const artifact::Command &command, bool inOnce) {
    using artifact::CommandBody;
    if (command.location() &&
        command.location() >= count(context.artifact.locations()))
      return corrupted(
          fmt::format("location {} does not exist", command.location()));
    switch (command.body_type()) {
    case CommandBody::Launch:
      return launch(*command.body_as_Launch(), inOnce);
    case CommandBody::Start:
      LOCKSTEP_RETURN_IF_ERROR(group(command.body_as_Start()->group()));
      return verifyCollective(context, program, *command.body_as_Start());
    case CommandBody::Barrier:
      return barrier(*command.body_as_Barrier());
    case CommandBody::Copy:
      return copy(*command.body_as_Copy(), inOnce);
    case CommandBody::BranchUnless:
      return element(command.body_as_BranchUnless()->condition(),
                     /*onlyBoolean=*/true);
    case CommandBody::BranchGreaterEqual:
      LOCKSTEP_RETURN_IF_ERROR(
          reg(command.body_as_BranchGreaterEqual()->lhs()));
      return reg(command.body_as_BranchGreaterEqual()->rhs());
    case CommandBody::SetRegister:
      return reg(command.body_as_SetRegister()->register_());
    case CommandBody::AddRegister:
      LOCKSTEP_RETURN_IF_ERROR(reg(command.body_as_AddRegister()->register_()));
      return reg(command.body_as_AddRegister()->source());
    case CommandBody::LoadRegister:
      LOCKSTEP_RETURN_IF_ERROR(
          reg(command.body_as_LoadRegister()->register_()));
      return element(command.body_as_LoadRegister()->buffer(),
                     /*onlyBoolean=*/false);
    case CommandBody::Next:
      if (inOnce)
        return corrupted("loads a batch inside of a once section");
      return Status::success();
    case CommandBody::Wait:
    case CommandBody::Once:
    case CommandBody::EndOnce:
    case CommandBody::Jump:
    case CommandBody::Return:
      return Status::success();
    case CommandBody::NONE:
      break;
    }
    return corrupted(
        fmt::format("unknown command {}", unsigned(command.body_type())));
  }

private:
  Status group(uint32_t index) {
    if (index >= count(context.artifact.groups()))
      return corrupted(fmt::format("group {} does not exist", index));
    return Status::success();
  }

  Status barrier(const artifact::Barrier &barrier) {
    LOCKSTEP_RETURN_IF_ERROR(group(barrier.group()));
    if (membershipOf(context.artifact, barrier.group(), -1, context.role.ranks)
            .ofRole == 0)
      return corrupted(
          fmt::format("barrier of a group in which role '{}' has no rank",
                      context.role.name));
    return Status::success();
  }

  Status reg(uint32_t index) {
    if (index >= program.registers())
      return corrupted(fmt::format("register {} does not exist among {}", index,
                                   program.registers()));
    return Status::success();
  }

  Status buffer(uint32_t index) {
    if (index >= buffers)
      return corrupted(
          fmt::format("buffer {} does not exist among {}", index, buffers));
    return Status::success();
  }

  bool mayBeWritten(artifact::Space space, bool inOnce) const {
    bool shared = isSharedSpace(space) && !inOnce &&
                  context.role.ranks.count > 1 &&
                  !context.options.allowSharedWritesAnywhere;
    return !isReadOnly(space) && !shared;
  }

  Status written(uint32_t index, bool inOnce) {
    if (writable[inOnce][index])
      return Status::success();
    artifact::Space space = program.buffers()->Get(index)->space();
    if (isReadOnly(space))
      return corrupted(fmt::format("writes buffer {}, which is in space {}",
                                   index, artifact::EnumNameSpace(space)));
    return corrupted(
        fmt::format("writes buffer {} in space {}, which all replicas share, "
                    "outside of a once section",
                    index, artifact::EnumNameSpace(space)));
  }

  Status launch(const artifact::Launch &launch, bool inOnce) {
    if (launch.kernel() >= count(context.artifact.kernels()))
      return corrupted(
          fmt::format("kernel {} does not exist", launch.kernel()));
    uint32_t total = count(launch.buffers());
    if (uint64_t(launch.reads()) + launch.writes() > total)
      return corrupted(
          fmt::format("reads {} and writes {} buffers, but names {}",
                      launch.reads(), launch.writes(), total));
    if (total > 0xffff || count(launch.registers()) > 0xffff)
      return corrupted("expected at most 65535 buffers and registers");
    for (uint32_t i = 0; i < total; ++i) {
      LOCKSTEP_RETURN_IF_ERROR(buffer(launch.buffers()->Get(i)));
      if (i >= launch.reads())
        LOCKSTEP_RETURN_IF_ERROR(written(launch.buffers()->Get(i), inOnce));
    }
    for (uint32_t i = 0; i < count(launch.registers()); ++i)
      LOCKSTEP_RETURN_IF_ERROR(reg(launch.registers()->Get(i)));
    return launches.verify(launch);
  }

  Status copy(const artifact::Copy &copy, bool inOnce) {
    LOCKSTEP_RETURN_IF_ERROR(buffer(copy.source()));
    LOCKSTEP_RETURN_IF_ERROR(buffer(copy.destination()));
    LOCKSTEP_RETURN_IF_ERROR(written(copy.destination(), inOnce));
    const artifact::Buffer *source = program.buffers()->Get(copy.source());
    const artifact::Buffer *destination =
        program.buffers()->Get(copy.destination());
    bool dynamic =
        count(source->size_registers()) || count(destination->size_registers());
    if (!dynamic && source->size() != destination->size())
      return corrupted(fmt::format("copies {} bytes to a buffer of {} bytes",
                                   source->size(), destination->size()));
    if (source->space() == destination->space() &&
        source->offset() != destination->offset() &&
        source->offset() < destination->offset() + destination->size() &&
        destination->offset() < source->offset() + source->size())
      return corrupted("copies between buffers that overlap");
    return Status::success();
  }

  /// One element that control flow reads.
  Status element(uint32_t index, bool onlyBoolean) {
    LOCKSTEP_RETURN_IF_ERROR(buffer(index));
    const artifact::Buffer *source = program.buffers()->Get(index);
    if (!source->type())
      return corrupted(
          fmt::format("reads buffer {}, which has no type", index));
    artifact::ElementType type = source->type()->element();
    bool isInteger = type <= artifact::ElementType::u64;
    if (onlyBoolean ? type != artifact::ElementType::i1 : !isInteger)
      return corrupted(
          fmt::format("expected an element of {} in buffer {}, found {}",
                      onlyBoolean ? "type i1" : "an integer type", index,
                      elementName(type)));
    if (source->size() < elementSize(type))
      return corrupted(fmt::format("buffer {} is empty", index));
    return Status::success();
  }

  const Context &context;
  const artifact::Program &program;
  LaunchVerifier launches;
  uint32_t buffers;
  /// Whether each buffer may be written: outside of once sections, and inside.
  std::vector<uint8_t> writable[2];
};

Status verifyInputs(const artifact::Program &program) {
  std::set<std::string_view> names;
  std::vector<NamedRange> ranges;
  for (uint32_t i = 0; i < count(program.inputs()); ++i) {
    const artifact::Binding *input = program.inputs()->Get(i);
    std::string_view name = input->name()->string_view();
    uint64_t bytes = 0;
    if (name.empty() || !names.insert(name).second)
      return corrupted(
          fmt::format("input '{}': the name is empty or given twice", name));
    if (Status status =
            verifyType(input->type(), /*allowDynamic=*/false, &bytes);
        !status.ok())
      return status.withContext(fmt::format("input '{}'", name));
    if (input->offset() % elementSize(input->type()->element()) != 0 ||
        !rangeFits(input->offset(), bytes, program.input_size()))
      return corrupted(fmt::format(
          "input '{}': {} bytes at {} are not aligned or lie outside of "
          "the batch of {} bytes",
          name, bytes, input->offset(), program.input_size()));
    ranges.push_back({input->offset(), bytes, name});
  }
  return verifyDisjoint(std::move(ranges), "inputs");
}

Status verifyOutputs(const artifact::Program &program) {
  std::set<std::pair<std::string_view, artifact::OutputKind>> names;
  for (uint32_t i = 0; i < count(program.outputs()); ++i) {
    const artifact::Output *output = program.outputs()->Get(i);
    std::string_view name = output->name()->string_view();
    if (output->kind() > artifact::OutputKind::MAX)
      return corrupted(fmt::format("output '{}': unknown kind", name));
    if (name.empty() || !names.insert({name, output->kind()}).second)
      return corrupted(
          fmt::format("output '{}': the name is empty or given twice", name));
    if (output->buffer() >= count(program.buffers()))
      return corrupted(fmt::format("output '{}': buffer {} does not exist",
                                   name, output->buffer()));
    const artifact::Buffer *buffer = program.buffers()->Get(output->buffer());
    if (buffer->space() == artifact::Space::input ||
        buffer->space() == artifact::Space::scalar)
      return corrupted(
          fmt::format("output '{}' is in space {}, which belongs to the caller",
                      name, artifact::EnumNameSpace(buffer->space())));
    if (!buffer->type())
      return corrupted(fmt::format("output '{}': buffer {} has no type", name,
                                   output->buffer()));
  }
  return Status::success();
}

} // namespace

Status verifyProgram(const Context &context, const artifact::Program &program,
                     std::vector<uint32_t> &others) {
  for (uint64_t size :
       {program.replica_size(), program.shared_size(), program.input_size()})
    if (size > maxMemory / context.role.ranks.count)
      return corrupted(fmt::format("a memory of {} bytes is too large", size));
  if (program.registers() > maxRegisters ||
      uint64_t(program.channels()) * context.role.ranks.count >
          maxChannelStates)
    return corrupted(fmt::format("{} registers or {} channels are too many",
                                 program.registers(), program.channels()));
  // Each channel has a start, a barrier or a once section, in this or another
  // role; so the cost of checks for each channel is bounded by the size of the
  // file.
  if (program.channels() > context.commandsOfName)
    return corrupted(fmt::format("{} channels, but only {} commands",
                                 program.channels(), context.commandsOfName));
  for (uint32_t i = 0; i < count(program.buffers()); ++i)
    if (Status status =
            verifyBuffer(context, program, program.buffers()->Get(i));
        !status.ok())
      return status.withContext(fmt::format("buffer {}", i));
  LOCKSTEP_RETURN_IF_ERROR(verifyInputs(program));
  LOCKSTEP_RETURN_IF_ERROR(verifyOutputs(program));

  CommandVerifier verifier(context, program);
  bool inOnce = false;
  for (uint32_t i = 0; i < count(program.commands()); ++i) {
    const artifact::Command *command = program.commands()->Get(i);
    if (verifier.isGoodLaunch(*command, inOnce))
      continue;
    if (command->body_type() == artifact::CommandBody::EndOnce)
      inOnce = false;
    if (Status status = verifier.verify(*command, inOnce); !status.ok())
      return status.withContext(commandName(context, program, i));
    if (command->body_type() == artifact::CommandBody::Once)
      inOnce = true;
    others.push_back(i);
  }
  return verifyFlow(context, program, others);
}

} // namespace lockstep::runtime::verify
