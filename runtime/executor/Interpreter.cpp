//===- Interpreter.cpp ----------------------------------------------------===//

#include "runtime/executor/Interpreter.h"

#include <cstring>

#include <fmt/format.h>

namespace lockstep::runtime {
namespace {

template <typename T> int64_t loadAs(const std::byte *address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return static_cast<int64_t>(value);
}

int64_t loadInteger(artifact::ElementType element, const std::byte *address) {
  using artifact::ElementType;
  switch (element) {
  case ElementType::i1:
    return loadAs<uint8_t>(address) != 0;
  case ElementType::i8:
    return loadAs<int8_t>(address);
  case ElementType::i16:
    return loadAs<int16_t>(address);
  case ElementType::i32:
    return loadAs<int32_t>(address);
  case ElementType::u8:
    return loadAs<uint8_t>(address);
  case ElementType::u16:
    return loadAs<uint16_t>(address);
  case ElementType::u32:
    return loadAs<uint32_t>(address);
  default:
    return loadAs<int64_t>(address);
  }
}

/// `observed` is a constant, so that a run which nobody observes pays nothing for it.
template <bool observed> class Interpreter {
public:
  Interpreter(const Execution &execution, Replica &replica, uint32_t worker, Status &error)
      : execution(execution), program(execution.state.program), replica(replica), worker(worker),
        error(error) {}

  Outcome run() {
    resume();
    uint32_t pc = replica.pc;
    for (;;) {
      const Instruction &instruction = program.code[pc];
      replica.note(pc);
      if (instruction.flags & slowFlags) {
        if (Outcome outcome = prepare(instruction, pc); outcome != goOn)
          return leave(pc, outcome);
      }
      if constexpr (observed)
        if (!observe([&](Observer &o) { return o.commandBegins(replica, pc); }))
          return leave(pc, Outcome::failed);
      switch (instruction.opcode) {
      case Opcode::launch:
        launch(instruction, pc);
        break;
      case Opcode::start:
        if (!start(instruction, pc))
          return leave(pc, Outcome::failed);
        break;
      case Opcode::wait:
        if (!waitForOwn(instruction))
          return leave(pc + 1, Outcome::blocked);
        break;
      case Opcode::barrier:
        if (!start(instruction, pc))
          return leave(pc, Outcome::failed);
        if (!waitForOwn(instruction))
          return leave(pc + 1, Outcome::blocked);
        break;
      case Opcode::once:
        switch (enterOnce(instruction, pc)) {
        case Entry::execute:
          break;
        case Entry::skip:
          pc = instruction.b + 1;
          continue;
        case Entry::block:
          return leave(instruction.b + 1, Outcome::blocked);
        case Entry::fail:
          return leave(pc, Outcome::failed);
        }
        break;
      case Opcode::endOnce:
        if constexpr (observed)
          for (Observer *observer : execution.observers)
            observer->sectionEnds(replica, instruction.a);
        execution.state.rendezvous->complete(instruction.a);
        notify();
        break;
      case Opcode::jump:
      case Opcode::branchUnless:
      case Opcode::branchGreaterEqual:
        if (taken(instruction)) {
          // A loop without a wait in it still has to notice that the run was given up.
          if (instruction.b <= pc && execution.stop.load(std::memory_order_relaxed))
            return leave(pc, Outcome::stopped);
          if constexpr (observed)
            end(pc);
          pc = instruction.b;
          continue;
        }
        break;
      case Opcode::setRegister:
        replica.registers[instruction.a] = instruction.value;
        break;
      case Opcode::addRegister:
        replica.registers[instruction.a] =
            int64_t(uint64_t(replica.registers[instruction.a]) +
                    uint64_t(replica.registers[instruction.b]));
        break;
      case Opcode::loadRegister:
        replica.registers[instruction.a] =
            loadInteger(instruction.element, address(instruction, 0));
        break;
      case Opcode::copy:
        copy(instruction, pc);
        break;
      case Opcode::next:
        if (!loadBatch(pc))
          return leave(pc, Outcome::failed);
        break;
      case Opcode::ret:
        if constexpr (observed)
          end(pc);
        return leave(pc, Outcome::finished);
      }
      if constexpr (observed)
        end(pc);
      ++pc;
    }
  }

private:
  static constexpr uint8_t slowFlags =
      Instruction::dynamic | Instruction::injected | Instruction::writesVariable;
  /// Not an outcome: the command can be executed.
  static constexpr Outcome goOn = Outcome(0xff);

  Outcome leave(uint32_t pc, Outcome outcome) {
    replica.pc = pc;
    return outcome;
  }

  template <typename Call> bool observe(Call call) {
    for (Observer *observer : execution.observers)
      if (Status status = call(*observer); !status.ok()) {
        error = std::move(status);
        return false;
      }
    return true;
  }

  void end(uint32_t pc) {
    for (Observer *observer : execution.observers)
      observer->commandEnds(replica, pc);
  }

  /// Clears the instance that the replica was blocked on, which the scheduler has seen complete.
  void resume() {
    uint64_t blocked = replica.blocked.load(std::memory_order_relaxed);
    if (blocked == Replica::notBlocked)
      return;
    replica.blocked.store(Replica::notBlocked, std::memory_order_relaxed);
    if constexpr (observed)
      for (Observer *observer : execution.observers)
        observer->passes(replica, uint32_t(blocked >> 32));
  }

  void notify() {
    if (execution.hasOtherWorkers)
      execution.events.notify();
  }

  std::byte *address(const Instruction &instruction, uint32_t operand) const {
    return program.slices[instruction.firstSlice + operand].in(replica.bases.data());
  }

  /// The rare things that have to be seen to before a command.
  Outcome prepare(const Instruction &instruction, uint32_t pc) {
    if (instruction.flags & Instruction::injected)
      for (const Injection &injection : execution.injections)
        if (acts(injection, instruction, pc)) {
          if (execution.onInjection)
            execution.onInjection(injection.text);
          return Outcome::paused;
        }
    if (instruction.flags & Instruction::writesVariable)
      execution.variablesTouched.store(true, std::memory_order_relaxed);
    if (instruction.flags & Instruction::dynamic)
      for (const DynamicSlice &slice : program.dynamicSlices[pc])
        if (!dynamicBytes(slice, replica.registers.data())) {
          error = breaksBound(slice, pc);
          return Outcome::failed;
        }
    return goOn;
  }

  bool acts(const Injection &injection, const Instruction &instruction, uint32_t pc) const {
    if (injection.replica != replica.index ||
        (!injection.program.empty() && injection.program != program.name()))
      return false;
    if (injection.channel == Injection::anywhere)
      return injection.command == pc;
    return injection.channel == instruction.a && program.channelCommands[instruction.a] == pc;
  }

  std::string place(uint32_t pc) const {
    std::string_view location = program.location(pc);
    return fmt::format("{}{} in command {} of program '{}', replica {}", location,
                       location.empty() ? "" : ":", pc, program.name(), replica.index);
  }

  Status breaksBound(const DynamicSlice &slice, uint32_t pc) const {
    std::vector<int64_t> dimensions;
    for (uint32_t index : slice.registers)
      dimensions.push_back(replica.registers[index]);
    return {StatusCode::outOfRange,
            fmt::format("{}: {}: dynamic dimensions [{}] of buffer {} break its bound of {} bytes",
                        place(pc), program.describe(pc), fmt::join(dimensions, ", "), slice.buffer,
                        slice.bound)};
  }

  void launch(const Instruction &instruction, uint32_t pc) {
    void **pointers = replica.pointers.data();
    std::byte *const *bases = replica.bases.data();
    const Slice *slices = program.slices.data() + instruction.firstSlice;
    for (uint32_t i = 0; i < instruction.sliceCount; ++i)
      pointers[i] = slices[i].in(bases);
    int64_t *scalars = replica.scalars.data();
    for (uint32_t i = 0; i < instruction.scalarCount; ++i)
      scalars[i] = replica.registers[program.scalarRegisters[instruction.firstScalar + i]];
    if (instruction.a == 1)
      return instruction.kernel(pointers, scalars, 0);
    if ((instruction.flags & Instruction::parallel) && execution.hasOtherWorkers)
      return launchShared(instruction, pointers, scalars);
    for (uint32_t tile = 0; tile < instruction.a; ++tile) {
      instruction.kernel(pointers, scalars, tile);
      replica.note(pc);
    }
  }

  void launchShared(const Instruction &instruction, void *const *pointers, const int64_t *scalars) {
    struct Arguments {
      KernelFunction kernel;
      void *const *pointers;
      const int64_t *scalars;
    } arguments{instruction.kernel, pointers, scalars};
    execution.tiles.runTiles(
        worker, instruction.a,
        [](void *context, int64_t tile, uint32_t) {
          const Arguments &a = *static_cast<const Arguments *>(context);
          a.kernel(a.pointers, a.scalars, tile);
        },
        &arguments);
  }

  void copy(const Instruction &instruction, uint32_t pc) {
    uint64_t bytes = uint64_t(instruction.value);
    if (instruction.flags & Instruction::dynamic)
      for (const DynamicSlice &slice : program.dynamicSlices[pc])
        bytes = std::min(bytes, *dynamicBytes(slice, replica.registers.data()));
    std::byte *from = address(instruction, 0), *to = address(instruction, 1);
    if (from != to && bytes)
      std::memcpy(to, from, bytes);
  }

  bool loadBatch(uint32_t pc) {
    if (replica.loaded == replica.batches.size()) {
      error = {StatusCode::outOfRange, fmt::format("{}: asks for batch {} of {} [E_OUT_OF_RANGE]", place(pc), replica.loaded + 1,
                                                   replica.batches.size())};
      return false;
    }
    replica.bases[size_t(artifact::Space::input)] = replica.batches[replica.loaded++];
    return true;
  }

  bool taken(const Instruction &instruction) const {
    switch (instruction.opcode) {
    case Opcode::branchUnless:
      return loadInteger(artifact::ElementType::i1, address(instruction, 0)) == 0;
    case Opcode::branchGreaterEqual:
      return replica.registers[instruction.a] >= replica.registers[instruction.c];
    default:
      return true;
    }
  }

  bool willBeLast(uint32_t channel) const {
    return execution.state.rendezvous->willBeLast(channel);
  }

  /// Starts a collective or arrives at a barrier; false on an error.
  bool start(const Instruction &instruction, uint32_t pc) {
    if (!instruction.plan->isMember(replica.index))
      return true;
    if constexpr (observed)
      if (!observe([&](Observer &o) {
            return o.arrives(replica, pc, willBeLast(instruction.a));
          }))
        return false;
    uint32_t epoch = replica.startNext(instruction.a);
    Arrival arrival{replica.index, worker, replica.registers.data()};
    if (Status status = execution.state.transport->start(*instruction.plan, arrival);
        !status.ok()) {
      error = status.withContext(fmt::format("{}: {}", place(pc), program.describe(pc)));
      return false;
    }
    if (execution.hasOtherWorkers && execution.state.transport->test(instruction.a, epoch))
      execution.events.notify();
    return true;
  }

  /// True if the instance is complete; else marks the replica as blocked on it.
  bool wait(uint32_t channel, uint32_t epoch) {
    if (execution.state.transport->test(channel, epoch)) {
      if constexpr (observed)
        for (Observer *observer : execution.observers)
          observer->passes(replica, channel);
      return true;
    }
    if constexpr (observed) {
      if (execution.brokenRule == BrokenRule::waitReturnsEarly)
        return true;
      for (Observer *observer : execution.observers)
        observer->blocks(replica, channel);
    }
    replica.blocked.store(uint64_t(channel) << 32 | epoch, std::memory_order_relaxed);
    return false;
  }

  /// The same for the instance that the replica has started last; others than members go on.
  bool waitForOwn(const Instruction &instruction) {
    return !instruction.plan->isMember(replica.index) ||
           wait(instruction.a, replica.started[instruction.a].load(std::memory_order_relaxed));
  }

  enum class Entry { execute, skip, block, fail };

  /// The last replica to arrive executes the section; the others skip it when it is complete.
  Entry enterOnce(const Instruction &instruction, uint32_t pc) {
    Rendezvous &rendezvous = *execution.state.rendezvous;
    uint32_t channel = instruction.a;
    bool early = observed && execution.brokenRule == BrokenRule::onceRunsEarly;
    bool first = rendezvous.isEmpty(channel);
    if constexpr (observed)
      if (!observe([&](Observer &o) {
            return o.arrives(replica, pc, early ? first : willBeLast(channel));
          }))
        return Entry::fail;
    uint32_t epoch = replica.startNext(channel);
    bool last = rendezvous.arrive(channel);
    if (early ? first : last)
      return Entry::execute;
    return wait(channel, epoch) ? Entry::skip : Entry::block;
  }

  const Execution &execution;
  const Program &program;
  Replica &replica;
  uint32_t worker;
  Status &error;
};

} // namespace

Outcome execute(const Execution &execution, Replica &replica, uint32_t worker, Status &error) {
  if (execution.observers.empty())
    return Interpreter<false>(execution, replica, worker, error).run();
  return Interpreter<true>(execution, replica, worker, error).run();
}

} // namespace lockstep::runtime
