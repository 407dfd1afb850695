//===- CommandInterpreter.cpp ---------------------------------------------===//

#include "runtime/executor/CommandInterpreter.h"

#include "runtime/executor/CommandGuard.h"
#include "runtime/executor/KernelLauncher.h"
#include "runtime/executor/ScalarValue.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace lockstep::runtime {
namespace {

/// `observed`, `networked` and `queued` are constants, so that a run without
/// observers, without other executors, or on a device that executes commands
/// synchronously has no overhead for them.
template <bool observed, bool networked, bool queued> class Interpreter {
public:
  Interpreter(const Execution &execution, Replica &replica, uint32_t worker,
              Status &error)
      : execution(execution), program(execution.state.program),
        replica(replica), worker(worker), error(error),
        guard(execution, replica), device(execution, replica),
        launcher(execution, replica, worker, device) {}

  Outcome run() {
    resume();
    uint32_t pc = replica.pc;
    for (;;) {
      const Instruction &instruction = program.code[pc];
      // A command that has waited for its device continues.
      if (!isResumed()) {
        replica.note(pc);
        if constexpr (queued)
          device.begin(pc);
        if (CommandGuard::isNeeded(instruction)) {
          if (Outcome outcome = guard.prepare(instruction, pc, error);
              outcome != proceed)
            return leave(pc, outcome);
        }
        if constexpr (observed)
          if (!observe(
                  [&](Observer &o) { return o.commandBegins(replica, pc); }))
            return leave(pc, Outcome::failed);
      }
      if constexpr (queued)
        if (Outcome outcome = fetch(instruction, pc); outcome != proceed)
          return leave(pc, outcome);
      switch (instruction.opcode) {
      case Opcode::launch:
        if (guard.hasFault()) [[unlikely]] {
          if (Outcome outcome = launcher.launchWith(guard.takeFault(),
                                                    instruction, pc, error);
              outcome != proceed)
            return leave(pc, outcome);
        } else if (!launcher.launch(instruction)) {
          return leave(pc, Outcome::stopped);
        }
        // Process messages between kernels, since other executors may wait for
        // the result.
        if (networked && !poll())
          return leave(pc, Outcome::failed);
        break;
      case Opcode::start:
        if (!start(instruction, pc))
          return leave(pc, Outcome::failed);
        break;
      case Opcode::wait:
        if (!waitForOwn(instruction, pc))
          return leave(pc + 1, Outcome::blocked);
        break;
      case Opcode::barrier:
        if (!start(instruction, pc))
          return leave(pc, Outcome::failed);
        if (!waitForOwn(instruction, pc))
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
        if constexpr (queued)
          device.section(instruction.a).end(device.queue());
        execution.state.rendezvous->complete(instruction.a);
        notify();
        break;
      case Opcode::jump:
      case Opcode::branchUnless:
      case Opcode::branchGreaterEqual:
        if (taken(instruction)) {
          // A loop without a wait must also detect an abort of the run.
          if (instruction.b <= pc &&
              (execution.stop.load(std::memory_order_relaxed) ||
               (networked && execution.network->isAborted())))
            return leave(pc, Outcome::stopped);
          if (Outcome outcome = conclude(instruction, pc); outcome != proceed)
            return leave(pc, outcome);
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
            loadInteger(instruction.element, scalar(instruction));
        break;
      case Opcode::copy:
        copy(instruction, pc);
        break;
      case Opcode::next:
        if (!loadBatch(pc))
          return leave(pc, Outcome::failed);
        break;
      case Opcode::ret:
        if (observed && !end(pc))
          return leave(pc, Outcome::failed);
        return leave(pc, Outcome::finished);
      }
      if (Outcome outcome = conclude(instruction, pc); outcome != proceed)
        return leave(pc, outcome);
      ++pc;
    }
  }

private:
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

  /// Completes a command. Observers inspect its results before other replicas
  /// can overwrite them.
  Outcome conclude(const Instruction &instruction, uint32_t pc) {
    if constexpr (queued)
      if ((execution.awaitsCommands ||
           (instruction.flags & Instruction::unlocksVariables)) &&
          !device.await())
        return Outcome::stopped;
    if (observed && !end(pc))
      return Outcome::failed;
    if (instruction.flags & Instruction::unlocksVariables)
      guard.unlockVariables();
    return proceed;
  }

  bool end(uint32_t pc) {
    return observe([&](Observer &o) { return o.commandEnds(replica, pc); });
  }

  /// Clears the instance that the replica was blocked on, which the scheduler
  /// has seen complete.
  void resume() {
    uint64_t blocked = replica.blocked.load(std::memory_order_relaxed);
    if (blocked == Replica::notBlocked)
      return;
    replica.blocked.store(Replica::notBlocked, std::memory_order_relaxed);
    if constexpr (queued)
      if (blocked == Replica::onDevice) {
        device.resume();
        return;
      }
    passes(uint32_t(blocked >> 32));
  }

  bool isResumed() const {
    if constexpr (queued)
      return device.isResumed();
    return false;
  }

  /// The replica knows that an instance is complete.
  void passes(uint32_t channel) {
    if constexpr (queued)
      device.pass(channel);
    if constexpr (observed)
      for (Observer *observer : execution.observers)
        observer->passes(replica, channel);
  }

  /// Blocks the replica until the host has the data from the device that it
  /// needs to execute a command.
  Outcome fetch(const Instruction &instruction, uint32_t pc) {
    if (device.fetch(instruction))
      return proceed;
    // Wait here, since another session must not change a variable meanwhile.
    if (guard.holdsVariables())
      return device.await() ? proceed : Outcome::stopped;
    replica.note(pc | Replica::blocks);
    replica.blocked.store(Replica::onDevice, std::memory_order_relaxed);
    return Outcome::blocked;
  }

  /// Address of the integer that a command reads.
  const std::byte *scalar(const Instruction &instruction) const {
    if constexpr (queued)
      return device.scalar();
    return address(instruction, 0);
  }

  void notify() {
    if (execution.hasOtherWorkers)
      execution.events.notify();
  }

  std::byte *address(const Instruction &instruction, uint32_t operand) const {
    return program.addresses[instruction.firstAddress + operand].in(
        replica.bases.data());
  }

  /// Processes messages of other executors; false on an error.
  bool poll() {
    if (!execution.network->hasMail())
      return true;
    error = execution.state.transport->poll(worker);
    return error.ok();
  }

  bool condition(const Instruction &instruction) const {
    return loadInteger(artifact::ElementType::i1, scalar(instruction)) != 0;
  }

  void copy(const Instruction &instruction, uint32_t pc) {
    uint64_t bytes = uint64_t(instruction.value);
    if (instruction.flags & Instruction::dynamic)
      for (const DynamicSlice &slice : program.dynamicSlices[pc])
        bytes = std::min(bytes, *dynamicBytes(slice, replica.registers.data()));
    std::byte *from = address(instruction, 0), *to = address(instruction, 1);
    if (from == to || !bytes)
      return;
    if constexpr (queued)
      device.copy(to, from, bytes);
    else
      std::memcpy(to, from, bytes);
  }

  bool loadBatch(uint32_t pc) {
    if (replica.loaded == replica.batches.size()) {
      error = {StatusCode::outOfRange,
               fmt::format("{}: asks for batch {} of {} [E_OUT_OF_RANGE]",
                           program.place(pc, replica.rank), replica.loaded + 1,
                           replica.batches.size())};
      return false;
    }
    execution.state.loadInput(replica, replica.batches[replica.loaded++]);
    return true;
  }

  bool taken(const Instruction &instruction) const {
    switch (instruction.opcode) {
    case Opcode::branchUnless:
      return !condition(instruction);
    case Opcode::branchGreaterEqual:
      return replica.registers[instruction.a] >=
             replica.registers[instruction.c];
    default:
      return true;
    }
  }

  bool willBeLast(uint32_t channel) const {
    return execution.state.rendezvous->willBeLast(channel);
  }

  /// Starts a collective or arrives at a barrier; false on an error.
  bool start(const Instruction &instruction, uint32_t pc) {
    if (!instruction.plan->isMember(uint32_t(replica.rank)))
      return true;
    if constexpr (observed)
      if (!observe([&](Observer &o) {
            return o.arrives(replica, pc, willBeLast(instruction.a));
          }))
        return false;
    uint32_t epoch = replica.startNext(instruction.a);
    Arrival arrival{replica.index, worker, replica.registers.data()};
    if (Status status =
            execution.state.transport->start(*instruction.plan, arrival);
        !status.ok()) {
      error = status.withContext(fmt::format(
          "{}: {}", program.place(pc, replica.rank), program.describe(pc)));
      return false;
    }
    if (execution.hasOtherWorkers &&
        execution.state.rendezvous->isComplete(instruction.a, epoch))
      execution.events.notify();
    return true;
  }

  /// True if the instance is complete; else marks the replica as blocked on it.
  bool wait(uint32_t channel, uint32_t epoch, uint32_t pc) {
    if (execution.state.rendezvous->isComplete(channel, epoch)) {
      passes(channel);
      return true;
    }
    if constexpr (observed) {
      if (execution.brokenRule == MemoryRule::waitReturnsEarly)
        return true;
      for (Observer *observer : execution.observers)
        observer->blocks(replica, channel);
    }
    replica.note(pc | Replica::blocks);
    replica.blocked.store(uint64_t(channel) << 32 | epoch,
                          std::memory_order_relaxed);
    return false;
  }

  /// As `wait`, for the instance that the replica has started last; non-members
  /// continue.
  bool waitForOwn(const Instruction &instruction, uint32_t pc) {
    return !instruction.plan->isMember(uint32_t(replica.rank)) ||
           wait(instruction.a,
                replica.started[instruction.a].load(std::memory_order_relaxed),
                pc);
  }

  enum class Entry { execute, skip, block, fail };

  /// The last replica to arrive executes the section; the others skip it when
  /// it is complete.
  Entry enterOnce(const Instruction &instruction, uint32_t pc) {
    Rendezvous &rendezvous = *execution.state.rendezvous;
    uint32_t channel = instruction.a;
    bool early = observed && execution.brokenRule == MemoryRule::onceRunsEarly;
    bool first = rendezvous.isEmpty(channel);
    if constexpr (observed)
      if (!observe([&](Observer &o) {
            return o.arrives(replica, pc, early ? first : willBeLast(channel));
          }))
        return Entry::fail;
    uint32_t epoch = replica.startNext(channel);
    if constexpr (queued)
      device.section(channel).arrive(device.queue(), replica.index);
    bool last = rendezvous.arrive(channel);
    if (early ? first : last) {
      if constexpr (queued)
        device.section(channel).begin(device.queue());
      return Entry::execute;
    }
    return wait(channel, epoch, pc) ? Entry::skip : Entry::block;
  }

  const Execution &execution;
  const Program &program;
  Replica &replica;
  uint32_t worker;
  Status &error;
  CommandGuard guard;
  typename KernelLauncher<queued>::Device device;
  KernelLauncher<queued> launcher;
};

} // namespace

Outcome execute(const Execution &execution, Replica &replica, uint32_t worker,
                Status &error) {
  auto run = [&]<bool observed, bool networked, bool queued> {
    return Interpreter<observed, networked, queued>(execution, replica, worker,
                                                    error)
        .run();
  };
  bool isObserved = !execution.observers.empty();
  if (execution.state.queued)
    return execution.network ? run.operator()<true, true, true>()
                             : run.operator()<true, false, true>();
  if (execution.network)
    return isObserved ? run.operator()<true, true, false>()
                      : run.operator()<false, true, false>();
  return isObserved ? run.operator()<true, false, false>()
                    : run.operator()<false, false, false>();
}

} // namespace lockstep::runtime
