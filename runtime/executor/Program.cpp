//===- Program.cpp - decoding ---------------------------------------------===//

#include "runtime/executor/Program.h"

#include "runtime/executor/Faults.h"
#include "runtime/schema/KernelTiles.h"
#include "runtime/schema/Tables.h"
#include "runtime/schema/Types.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime {

using artifact::CommandBody;

std::string_view opcodeName(Opcode opcode) {
  static constexpr std::string_view names[] = {
      "launch",       "start",         "wait",
      "barrier",      "once",          "end_once",
      "jump",         "branch_unless", "branch_greater_equal",
      "set_register", "add_register",  "load_register",
      "copy",         "return",        "next"};
  return names[size_t(opcode)];
}

std::optional<uint64_t> dynamicBytes(const DynamicSlice &slice,
                                     const int64_t *registers) {
  uint64_t bytes = slice.staticBytes;
  for (uint32_t index : slice.registers) {
    if (registers[index] < 0)
      return std::nullopt;
    std::optional<uint64_t> product =
        checkedMultiply(bytes, uint64_t(registers[index]));
    if (!product || *product > slice.bound)
      return std::nullopt;
    bytes = *product;
  }
  if (bytes > slice.bound)
    return std::nullopt;
  return bytes;
}

std::vector<int64_t> currentShape(const artifact::Buffer &buffer,
                                  const int64_t *registers) {
  std::vector<int64_t> shape;
  const auto *dimensions = buffer.type() ? buffer.type()->shape() : nullptr;
  for (uint32_t i = 0; dimensions && i < dimensions->size(); ++i)
    shape.push_back(dimensions->Get(i) < 0
                        ? registers[uint32_t(buffer.size_registers()->Get(i))]
                        : dimensions->Get(i));
  return shape;
}

class ProgramDecoder {
public:
  ProgramDecoder(Program &program, const Module &module, bool sharesVariables)
      : program(program), module(module), sharesVariables(sharesVariables),
        kernels(artifact::count(program.artifact->tables().kernels())) {}

  Status decode() {
    const artifact::Program &tables = *program.tables;
    program.channelMembers.assign(tables.channels(), 0);
    program.channelCommands.assign(tables.channels(), 0);
    uint32_t count = tables.commands()->size();
    program.code.reserve(count);
    program.dynamicSlices.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      index = i;
      LOCKSTEP_RETURN_IF_ERROR(decodeCommand(*tables.commands()->Get(i)));
    }
    for (Instruction &instruction : program.code)
      if (instruction.opcode == Opcode::wait)
        instruction.plan =
            program.code[program.channelCommands[instruction.a]].plan;
    if (sharesVariables)
      findUpdates();
    findUsedScalars();
    findShareableWork();
    return Status::success();
  }

private:
  const artifact::Buffer *buffer(uint32_t number) const {
    return program.tables->buffers()->Get(number);
  }

  void addSlice(Instruction &instruction, uint32_t number, bool written) {
    const artifact::Buffer *slice = buffer(number);
    program.addresses.push_back({slice->offset(), uint32_t(slice->space())});
    ++instruction.addressCount;
    if (written)
      noteWrite(instruction, slice);
    if (sharesVariables && slice->space() == artifact::Space::variable)
      instruction.flags |= Instruction::sharedVariable;
    noteDynamic(instruction, number);
  }

  static void noteWrite(Instruction &instruction,
                        const artifact::Buffer *slice) {
    if (slice->space() == artifact::Space::variable ||
        slice->space() == artifact::Space::replica_variable)
      instruction.flags |= Instruction::writesVariable;
  }

  void noteDynamic(Instruction &instruction, uint32_t number) {
    const artifact::Buffer *slice = buffer(number);
    if (!slice->type() || !slice->type()->shape())
      return;
    DynamicSlice dynamic;
    dynamic.bound = slice->size();
    dynamic.staticBytes = elementSize(slice->type()->element());
    dynamic.buffer = number;
    for (uint32_t i = 0; i < slice->type()->shape()->size(); ++i) {
      int64_t dimension = slice->type()->shape()->Get(i);
      if (dimension < 0)
        dynamic.registers.push_back(uint32_t(slice->size_registers()->Get(i)));
      else
        dynamic.staticBytes *= uint64_t(dimension);
    }
    if (dynamic.registers.empty())
      return;
    instruction.flags |= Instruction::dynamic;
    program.dynamicSlices[index].push_back(std::move(dynamic));
  }

  void own(uint32_t channel, uint32_t members) {
    program.channelMembers[channel] = members;
    program.channelCommands[channel] = index;
  }

  Status decodeCommand(const artifact::Command &command) {
    Instruction instruction{};
    instruction.firstAddress = uint32_t(program.addresses.size());
    instruction.firstScalar = uint32_t(program.scalarRegisters.size());
    switch (command.body_type()) {
    case CommandBody::Launch:
      LOCKSTEP_RETURN_IF_ERROR(launch(instruction, *command.body_as_Launch()));
      break;
    case CommandBody::Start:
      LOCKSTEP_RETURN_IF_ERROR(start(instruction, *command.body_as_Start()));
      break;
    case CommandBody::Wait:
      instruction.opcode = Opcode::wait;
      instruction.a = command.body_as_Wait()->channel();
      break;
    case CommandBody::Barrier:
      barrier(instruction, *command.body_as_Barrier());
      break;
    case CommandBody::Once:
      instruction.opcode = Opcode::once;
      instruction.a = openOnce = command.body_as_Once()->channel();
      instruction.b = command.body_as_Once()->end();
      own(instruction.a, program.ranks.count);
      break;
    case CommandBody::EndOnce:
      instruction.opcode = Opcode::endOnce;
      instruction.a = openOnce;
      break;
    case CommandBody::Jump:
      instruction.opcode = Opcode::jump;
      instruction.b = command.body_as_Jump()->target();
      break;
    case CommandBody::BranchUnless:
      instruction.opcode = Opcode::branchUnless;
      instruction.b = command.body_as_BranchUnless()->target();
      addSlice(instruction, command.body_as_BranchUnless()->condition(),
               /*written=*/false);
      break;
    case CommandBody::BranchGreaterEqual:
      instruction.opcode = Opcode::branchGreaterEqual;
      instruction.a = command.body_as_BranchGreaterEqual()->lhs();
      instruction.b = command.body_as_BranchGreaterEqual()->target();
      instruction.c = command.body_as_BranchGreaterEqual()->rhs();
      break;
    case CommandBody::SetRegister:
      instruction.opcode = Opcode::setRegister;
      instruction.a = command.body_as_SetRegister()->register_();
      instruction.value = command.body_as_SetRegister()->value();
      break;
    case CommandBody::AddRegister:
      instruction.opcode = Opcode::addRegister;
      instruction.a = command.body_as_AddRegister()->register_();
      instruction.b = command.body_as_AddRegister()->source();
      break;
    case CommandBody::LoadRegister: {
      const artifact::LoadRegister &load = *command.body_as_LoadRegister();
      instruction.opcode = Opcode::loadRegister;
      instruction.a = load.register_();
      instruction.element = buffer(load.buffer())->type()->element();
      addSlice(instruction, load.buffer(), /*written=*/false);
      break;
    }
    case CommandBody::Copy:
      copy(instruction, *command.body_as_Copy());
      break;
    case CommandBody::Return:
      instruction.opcode = Opcode::ret;
      break;
    case CommandBody::Next:
      instruction.opcode = Opcode::next;
      program.loadsBatches = true;
      break;
    case CommandBody::NONE:
      return corrupted("unknown command");
    }
    program.maxAddresses =
        std::max<uint32_t>(program.maxAddresses, instruction.addressCount);
    program.maxScalars =
        std::max<uint32_t>(program.maxScalars, instruction.scalarCount);
    program.writesVariables |=
        (instruction.flags & Instruction::writesVariable) != 0;
    program.code.push_back(instruction);
    return Status::success();
  }

  Status launch(Instruction &instruction, const artifact::Launch &launch) {
    const artifact::Kernel *kernel =
        program.artifact->tables().kernels()->Get(launch.kernel());
    KernelHandle &handle = kernels[launch.kernel()];
    if (!handle) {
      Expected<KernelHandle> found = module.kernel(*kernel);
      if (!found)
        return found.status();
      handle = *found;
    }
    instruction.opcode = Opcode::launch;
    instruction.kernel = handle;
    instruction.a = kernel->grid();
    if (sharesTiles(*kernel))
      instruction.flags |= Instruction::parallel;
    uint32_t count = launch.buffers() ? launch.buffers()->size() : 0;
    for (uint32_t i = 0; i < count; ++i)
      addSlice(instruction, launch.buffers()->Get(i),
               /*written=*/i >= launch.reads());
    instruction.scalarCount =
        uint16_t(launch.registers() ? launch.registers()->size() : 0);
    for (uint32_t i = 0; i < instruction.scalarCount; ++i)
      program.scalarRegisters.push_back(launch.registers()->Get(i));
    return Status::success();
  }

  Status start(Instruction &instruction, const artifact::Start &start) {
    Expected<CollectivePlan> plan = planCollective(
        program.artifact->tables(), *program.tables, start, program.ranks);
    if (!plan)
      return plan.status();
    instruction.opcode = Opcode::start;
    instruction.a = start.channel();
    program.plans.push_back(std::make_unique<CollectivePlan>(std::move(*plan)));
    instruction.plan = program.plans.back().get();
    own(start.channel(), instruction.plan->localCount);
    uint32_t count = start.results() ? start.results()->size() : 0;
    for (uint32_t i = 0; i < count; ++i)
      noteWrite(instruction, buffer(start.results()->Get(i)));
    return Status::success();
  }

  void barrier(Instruction &instruction, const artifact::Barrier &barrier) {
    instruction.opcode = Opcode::barrier;
    instruction.a = barrier.channel();
    auto plan = std::make_unique<CollectivePlan>();
    plan->channel = barrier.channel();
    plan->setMembers(program.artifact->tables(), barrier.group(),
                     program.ranks);
    program.plans.push_back(std::move(plan));
    instruction.plan = program.plans.back().get();
    own(barrier.channel(), instruction.plan->localCount);
  }

  void copy(Instruction &instruction, const artifact::Copy &copy) {
    instruction.opcode = Opcode::copy;
    addSlice(instruction, copy.source(), /*written=*/false);
    addSlice(instruction, copy.destination(), /*written=*/true);
    uint64_t destination = buffer(copy.destination())->size();
    instruction.value =
        int64_t(std::min(buffer(copy.source())->size(), destination));
  }

  /// Whether a command never waits or branches, so that a lock may be held
  /// across it. A branch that reads a variable is a sequence of its own.
  static bool isStraight(Opcode opcode) {
    switch (opcode) {
    case Opcode::launch:
    case Opcode::copy:
    case Opcode::setRegister:
    case Opcode::addRegister:
    case Opcode::loadRegister:
      return true;
    default:
      return false;
    }
  }

  void findUpdates() {
    std::vector<bool> isTarget(program.code.size() + 1);
    for (const Instruction &instruction : program.code)
      if (instruction.opcode == Opcode::jump ||
          instruction.opcode == Opcode::branchUnless ||
          instruction.opcode == Opcode::branchGreaterEqual)
        isTarget[instruction.b] = true;
    Instruction *first = nullptr, *last = nullptr;
    auto close = [&] {
      if (first) {
        first->flags |= Instruction::locksVariables;
        last->flags |= Instruction::unlocksVariables;
      }
      first = last = nullptr;
    };
    for (uint32_t i = 0; i < program.code.size(); ++i) {
      Instruction &instruction = program.code[i];
      bool straight = isStraight(instruction.opcode);
      if (!straight || isTarget[i])
        close();
      if (!(instruction.flags & Instruction::sharedVariable))
        continue;
      first = first ? first : &instruction;
      last = &instruction;
      if (!straight)
        close();
    }
  }

  void findShareableWork() {
    for (const Instruction &instruction : program.code)
      program.hasShareableWork |=
          (instruction.flags & Instruction::parallel) ||
          (instruction.opcode == Opcode::start && instruction.plan->tiles > 1);
  }

  void findUsedScalars() {
    const auto *scalars = program.artifact->tables().scalars();
    if (!scalars)
      return;
    for (uint32_t i = 0; i < scalars->size(); ++i) {
      uint64_t begin = scalars->Get(i)->offset();
      uint64_t end = begin + elementSize(scalars->Get(i)->type()->element());
      bool used =
          program.tables->buffers() &&
          std::any_of(program.tables->buffers()->begin(),
                      program.tables->buffers()->end(),
                      [&](const artifact::Buffer *slice) {
                        return slice->space() == artifact::Space::scalar &&
                               slice->offset() < end &&
                               begin < slice->offset() + slice->size();
                      });
      if (used)
        program.usedScalars.push_back(i);
    }
  }

  Program &program;
  const Module &module;
  bool sharesVariables;
  /// Kernels of the launches decoded so far.
  std::vector<KernelHandle> kernels;
  uint32_t index = 0;
  uint32_t openOnce = 0;
};

Expected<std::unique_ptr<Program>>
Program::decode(const Artifact &artifact, const artifact::Program &tables,
                const RankRange &here, const Module &module,
                const std::vector<Injection> &injections,
                bool sharesVariables) {
  auto program = std::make_unique<Program>();
  program->artifact = &artifact;
  program->tables = &tables;
  program->ranks = here;
  if (Status status =
          ProgramDecoder(*program, module, sharesVariables).decode();
      !status.ok())
    return status.withContext(fmt::format("program '{}'", program->name()));
  markFaults(*program, injections);
  return program;
}

std::string_view Program::kernelName(uint32_t command) const {
  const artifact::Launch *launch =
      tables->commands()->Get(command)->body_as_Launch();
  return artifact->tables()
      .kernels()
      ->Get(launch->kernel())
      ->symbol()
      ->string_view();
}

std::string Program::place(uint32_t command) const {
  std::string_view where = location(command);
  return fmt::format("{}{}program '{}': {}", where, where.empty() ? "" : ": ",
                     name(), describe(command));
}

std::string Program::place(uint32_t command, int32_t replica) const {
  std::string_view where = location(command);
  return fmt::format("{}{} in command {} of program '{}', replica {}", where,
                     where.empty() ? "" : ":", command, name(), replica);
}

std::string Program::describe(uint32_t command) const {
  const Instruction &instruction = code[command];
  switch (instruction.opcode) {
  case Opcode::launch:
    return fmt::format("launch '{}'", kernelName(command));
  case Opcode::start: {
    std::string kind = instruction.plan->properties().name;
    if (instruction.plan->reduction != artifact::Reduction::none)
      kind += std::string(" ") +
              artifact::EnumNameReduction(instruction.plan->reduction);
    return fmt::format("start {} channel {}", kind, instruction.a);
  }
  case Opcode::wait:
  case Opcode::barrier:
  case Opcode::once:
    return fmt::format("{} channel {}", opcodeName(instruction.opcode),
                       instruction.a);
  default:
    return std::string(opcodeName(instruction.opcode));
  }
}

} // namespace lockstep::runtime
