//===- Session.cpp --------------------------------------------------------===//

#include "runtime/executor/Session.h"

#include "runtime/executor/SessionImpl.h"

#include <cstring>

#include <fmt/format.h>

namespace lockstep::runtime {

Status Session::Impl::checkReady(ProgramId program) {
  if (program >= programs.size())
    return invalidArgument(fmt::format("program {} does not exist among {}",
                                       program, programs.size()));
  if (programs[program]->loadsBatches) {
    for (uint32_t i = 0; i < batches[program].size(); ++i)
      if (batches[program][i].size() != batches[program][0].size())
        return invalidArgument(fmt::format(
            "program '{}': replica {} has {} batches, but replica {} has {}",
            programInfos[program].name, ranks.first + i,
            batches[program][i].size(), ranks.first,
            batches[program][0].size()));
  } else if (programInfos[program].inputSize)
    for (uint32_t i = 0; i < inputs[program].size(); ++i)
      if (!inputs[program][i])
        return invalidArgument(
            fmt::format("program '{}': replica {} has no input bound",
                        programInfos[program].name, ranks.first + i));
  for (uint32_t index : programs[program]->usedScalars)
    if (!scalarIsSet[index])
      return invalidArgument(
          fmt::format("program '{}': scalar '{}' is not set and has no default",
                      programInfos[program].name, scalars[index].name));
  return Status::success();
}

const artifact::Buffer *Session::Impl::outputBuffer(ProgramId program,
                                                    unsigned output) const {
  if (program >= programs.size() ||
      output >= programInfos[program].outputs.size())
    return nullptr;
  const artifact::Program &tables = *programs[program]->tables;
  return tables.buffers()->Get(tables.outputs()->Get(output)->buffer());
}

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

Session::Session(std::unique_ptr<Impl> given) : impl(std::move(given)) {}

Session::~Session() {
  if (impl->trace && !impl->options.inCluster)
    (void)writeTrace();
  // A thread that is inside of a kernel cannot be joined, and its memory cannot
  // be freed.
  bool isAbandoned =
      impl->executor->failed() && !impl->executor->leaveOrAbandon();
  if (!isAbandoned && impl->executor->failed() &&
      !ThreadTeam::becomesEmpty([this] { return impl->isDeviceBusy(); })) {
    impl->executor->abandon();
    isAbandoned = true;
  }
  if (isAbandoned) {
    keepUntilExit(std::move(impl));
    return;
  }
  // Workers access the states of programs, whose queues notify workers.
  impl->executor->join();
  impl->states.clear();
}

bool Session::Impl::isDeviceBusy() const {
  return std::ranges::any_of(states, [](const auto &state) {
    return state && state->queued &&
           (!state->queued->queues->isEndReached() ||
            state->queued->batches->isBusy());
  });
}

Expected<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Artifact> artifact,
                SessionOptions options) {
  auto impl = std::make_unique<Impl>();
  if (Status status = impl->initialize(std::move(artifact), std::move(options));
      !status.ok())
    return status;
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

const Artifact &Session::artifact() const { return *impl->artifact; }
unsigned Session::replicas() const { return impl->ranks.count; }
unsigned Session::workers() const { return impl->executor->workers(); }
std::string_view Session::target() const { return impl->module->target(); }
std::span<const VariableInfo> Session::variables() const {
  return impl->variables;
}
std::span<const ScalarInfo> Session::scalars() const { return impl->scalars; }
std::span<const ProgramInfo> Session::programs() const {
  return impl->programInfos;
}
unsigned Session::idleWorkers() const { return impl->executor->idleWorkers(); }
bool Session::poisoned() const {
  return impl->memoryFailed || impl->executor->failed();
}
bool Session::variablesIntact() const {
  return impl->options.shadowVariables || !impl->executor->failed() ||
         !impl->executor->variablesTouched();
}
bool Session::variablesRestored() const { return impl->variablesRestored(); }
const DeadlineReport &Session::deadlineReport() const {
  return impl->executor->deadlineReport();
}
uint64_t Session::completedRuns() const { return impl->runs; }

std::span<std::byte> Session::variable(std::string_view name,
                                       unsigned replica) {
  VariablePlace place = variablePlace(name, replica);
  // After a failure of the device, the host's bytes stay as they were.
  if (place.copy)
    (void)place.copy->edit();
  return place.bytes;
}

VariablePlace Session::variablePlace(std::string_view name, unsigned replica) {
  auto it = impl->variableIndex.find(name);
  if (it == impl->variableIndex.end())
    return {};
  const VariableInfo &info = impl->variables[it->second];
  if (info.perReplica && replica >= replicas())
    return {};
  const SessionMemory &memory = impl->memory;
  uint64_t offset = impl->variableOffsets[it->second];
  if (impl->variablesRestored()) {
    std::byte *base = info.perReplica ? memory.replicaShadow[replica].data()
                                      : memory.shadow.data();
    return {{base + offset, info.type.bytes}, nullptr};
  }
  HostCopy &copy =
      info.perReplica ? *memory.replicaVariables : memory.variables->copy();
  return {{copy.host(info.perReplica ? replica : 0).data() + offset,
           info.type.bytes},
          &copy};
}

Status Session::setScalar(std::string_view name,
                          std::span<const std::byte> bytes) {
  auto it = impl->scalarIndex.find(name);
  if (it == impl->scalarIndex.end())
    return invalidArgument(fmt::format("there is no scalar '{}'", name));
  const ScalarInfo &info = impl->scalars[it->second];
  if (bytes.size() != info.type.bytes)
    return invalidArgument(
        fmt::format("scalar '{}' is of {}: expected {} bytes, found {}", name,
                    typeName(info.type), info.type.bytes, bytes.size()));
  uint64_t offset =
      impl->artifact->tables().scalars()->Get(it->second)->offset();
  LOCKSTEP_RETURN_IF_ERROR(impl->memory.scalars->edit());
  if (!bytes.empty())
    std::memcpy(impl->memory.scalars->host().data() + offset, bytes.data(),
                bytes.size());
  impl->scalarIsSet[it->second] = true;
  return Status::success();
}

Expected<ProgramId> Session::findProgram(std::string_view name) const {
  auto it = impl->programIndex.find(name);
  if (it != impl->programIndex.end())
    return it->second;
  std::string known;
  for (const ProgramInfo &info : impl->programInfos)
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", info.name);
  return invalidArgument(
      fmt::format("there is no program '{}': the artifact has {}", name,
                  known.empty() ? "none" : known));
}

Status Session::bindInput(ProgramId program, unsigned replica,
                          const std::byte *base) {
  if (program >= impl->programs.size() || replica >= replicas())
    return invalidArgument(fmt::format(
        "program {} or replica {} does not exist", program, replica));
  if (reinterpret_cast<uintptr_t>(base) % inputAlignment != 0)
    return invalidArgument(
        fmt::format("expected input aligned to {} bytes, found address {}",
                    inputAlignment, static_cast<const void *>(base)));
  // The cast is safe: the verifier rejects programs that write to inputs.
  auto *address = const_cast<std::byte *>(base);
  impl->inputs[program][replica] = address;
  if (impl->states[program])
    impl->states[program]->bindInput(replica, address);
  return Status::success();
}

Status Session::announceInput(ProgramId program, unsigned replica,
                              const std::byte *base) {
  if (program >= impl->programs.size() || replica >= replicas())
    return invalidArgument(fmt::format(
        "program {} or replica {} does not exist", program, replica));
  if (impl->states[program])
    impl->states[program]->announceInput(replica, base);
  return Status::success();
}

Status Session::bindBatches(ProgramId program, unsigned replica,
                            std::vector<const std::byte *> batches) {
  if (program >= impl->programs.size() || replica >= replicas())
    return invalidArgument(fmt::format(
        "program {} or replica {} does not exist", program, replica));
  if (!impl->programs[program]->loadsBatches)
    return invalidArgument(fmt::format("program '{}' loads no batches",
                                       impl->programInfos[program].name));
  std::vector<std::byte *> &bound = impl->batches[program][replica];
  bound.clear();
  for (const std::byte *base : batches) {
    if (reinterpret_cast<uintptr_t>(base) % inputAlignment != 0)
      return invalidArgument(
          fmt::format("expected a batch aligned to {} bytes, found address {}",
                      inputAlignment, static_cast<const void *>(base)));
    // The cast is safe: the verifier rejects programs that write to inputs.
    bound.push_back(const_cast<std::byte *>(base));
  }
  if (auto it = impl->scalarIndex.find("num_batches");
      it != impl->scalarIndex.end()) {
    auto count = int64_t(bound.size());
    LOCKSTEP_RETURN_IF_ERROR(
        setScalar("num_batches", std::as_bytes(std::span(&count, 1))));
  }
  return Status::success();
}

Status Session::run(ProgramId program) {
  Status ready = prepare(program);
  // Other executors may have begun and wait for this one.
  if (!ready.ok() && impl->options.network)
    impl->options.network->abort(ready);
  LOCKSTEP_RETURN_IF_ERROR(ready);
  LOCKSTEP_RETURN_IF_ERROR(execute(program));
  commit();
  return Status::success();
}

RecordingInfo Session::recording(ProgramId program) const {
  const ProgramState *state =
      program < impl->states.size() ? impl->states[program].get() : nullptr;
  if (!state || !state->queued || !state->queued->recorded)
    return {};
  const RecordedRun &recorded = *state->queued->recorded;
  return {recorded.isRecorded(), recorded.obstacle(), recorded.omission()};
}

std::string Session::deviceNote() const {
  std::string note = impl->module->note();
  for (const std::unique_ptr<ProgramState> &state : impl->states)
    if (state && state->queued && !state->queued->batches->obstacle().empty()) {
      note += fmt::format("{}batches are not transferred ahead: {}",
                          note.empty() ? "" : "; ",
                          state->queued->batches->obstacle());
      break;
    }
  auto [withSubnormals, runs] = impl->executor->subnormalRuns();
  if (impl->memory.device->isHost() && withSubnormals > runs / 2)
    note += fmt::format(
        "{}{} of {} runs have computed with subnormal floats; a processor may "
        "take a hundred times as long for them (--flush-subnormals)",
        note.empty() ? "" : "; ", withSubnormals, runs);
  return note;
}

void Session::commit() { impl->executor->commit(); }

/// A copy of the variables, if the program is going to change them.
Status Session::Impl::keepShadow(const Program &program) {
  if (!options.shadowVariables || !program.writesVariables)
    return Status::success();
  LOCKSTEP_RETURN_IF_ERROR(memory.variables->copy().fetch());
  LOCKSTEP_RETURN_IF_ERROR(memory.replicaVariables->fetch());
  std::memcpy(memory.shadow.data(), memory.variables->data(),
              role.variableSize);
  for (uint32_t i = 0; i < ranks.count; ++i)
    std::ranges::copy(memory.replicaVariables->host(i),
                      memory.replicaShadow[i].begin());
  return Status::success();
}

Status Session::Impl::flushMemory(const ProgramState &state) const {
  LOCKSTEP_RETURN_IF_ERROR(memory.variables->copy().flush());
  LOCKSTEP_RETURN_IF_ERROR(memory.replicaVariables->flush());
  // What is recorded uploads the scalars, and other programs find that they
  // have not been flushed yet.
  return state.isRecorded() ? Status::success() : memory.scalars->flush();
}

/// Discards cached outputs that a run of the program changes.
void Session::Impl::forgetOutputs(ProgramId program) {
  std::erase_if(outputs, [&](const auto &known) {
    const auto &[owner, output, replica] = known.first;
    artifact::Space space = outputBuffer(owner, output)->space();
    return owner == program || space == artifact::Space::variable ||
           space == artifact::Space::replica_variable;
  });
}

Status Session::prepare(ProgramId program) {
  LOCKSTEP_RETURN_IF_ERROR(impl->checkReady(program));
  LOCKSTEP_RETURN_IF_ERROR(impl->checkAgreementIfPosted());
  if (!impl->states[program]) {
    Expected<std::unique_ptr<ProgramState>> state =
        ProgramState::create(*impl->programs[program], impl->memory,
                             impl->executor->workers(), impl->executor->tiles(),
                             impl->executor->workEvents(), impl->inbox.get());
    if (!state) {
      impl->memoryFailed = true;
      return state.status();
    }
    for (uint32_t i = 0; i < replicas(); ++i)
      (*state)->bindInput(i, impl->inputs[program][i]);
    impl->states[program] = std::move(*state);
  }
  if (impl->programs[program]->loadsBatches)
    for (uint32_t i = 0; i < replicas(); ++i) {
      Replica &replica = impl->states[program]->replicas[i];
      replica.batches = impl->batches[program][i];
      replica.loaded = 0;
      // Until a batch is loaded, inputs are memory of the session.
      impl->states[program]->bindInput(i, impl->noBatch.data());
    }
  // Copies of variables take time; they are made here, before the deadline of
  // the run begins.
  LOCKSTEP_RETURN_IF_ERROR(impl->keepShadow(*impl->programs[program]));
  LOCKSTEP_RETURN_IF_ERROR(impl->flushMemory(*impl->states[program]));
  return impl->executor->prepare();
}

Status Session::execute(ProgramId program) {
  LOCKSTEP_RETURN_IF_ERROR(impl->awaitAgreement());
  if (impl->options.fillMemory)
    LOCKSTEP_RETURN_IF_ERROR(impl->states[program]->fillMemory());
  impl->forgetOutputs(program);
  Status status = impl->executor->run(*impl->states[program]);
  if (impl->programs[program]->writesVariables) {
    impl->memory.variables->copy().noteProgramWrites();
    impl->memory.replicaVariables->noteProgramWrites();
  }
  LOCKSTEP_RETURN_IF_ERROR(status);
  LOCKSTEP_RETURN_IF_ERROR(impl->compareMirrored(*impl->programs[program]));
  ++impl->runs;
  return Status::success();
}

Status Session::run(std::string_view program) {
  Expected<ProgramId> id = findProgram(program);
  return id ? run(*id) : id.status();
}

std::vector<int64_t> Session::outputShape(ProgramId program, unsigned output,
                                          unsigned replica) const {
  const artifact::Buffer *buffer = impl->outputBuffer(program, output);
  if (!buffer)
    return {};
  std::vector<int64_t> shape =
      impl->programInfos[program].outputs[output].type.shape;
  if (!impl->states[program] || replica >= replicas())
    return shape;
  const Replica &state = impl->states[program]->replicas[replica];
  for (uint32_t i = 0; i < shape.size(); ++i)
    if (shape[i] < 0)
      shape[i] = state.registers[uint32_t(buffer->size_registers()->Get(i))];
  return shape;
}

std::span<const std::byte> Session::output(ProgramId program, unsigned output,
                                           unsigned replica) const {
  const artifact::Buffer *buffer = impl->outputBuffer(program, output);
  if (!buffer || !impl->states[program] || replica >= replicas())
    return {};
  std::optional<uint64_t> bytes = staticBytes(
      buffer->type()->element(), outputShape(program, output, replica));
  if (!bytes || *bytes > buffer->size())
    return {};
  if (!impl->states[program]->queued)
    return {impl->states[program]->address(replica, buffer), *bytes};
  std::vector<std::byte> &storage = impl->outputs[{program, output, replica}];
  if (!storage.empty())
    return storage;
  Expected<const std::byte *> read =
      impl->states[program]->read(replica, buffer, *bytes, storage);
  return read ? std::span(*read, *bytes) : std::span<const std::byte>();
}

std::span<const std::byte> Session::output(ProgramId program,
                                           std::string_view name,
                                           unsigned replica) const {
  if (program >= impl->programInfos.size())
    return {};
  const auto &outputs = impl->programInfos[program].outputs;
  for (unsigned i = 0; i < outputs.size(); ++i)
    if (outputs[i].name == name)
      return output(program, i, replica);
  return {};
}

Status Session::writeTrace() const {
  if (!impl->trace)
    return invalidArgument(
        "no trace was asked for when the session was created");
  TraceProcess process{"lockstep", impl->trace.get()};
  return writeTraces(impl->options.traceFile, std::span(&process, 1));
}

void Session::abort(const Status &status) { impl->executor->fail(status); }
uint64_t Session::progress() const { return impl->executor->progress(); }
uint64_t Session::waiting() const { return impl->executor->waiting(); }
std::optional<DeadlineReport>
Session::findAwaited(std::chrono::nanoseconds deadline) const {
  return impl->executor->findAwaited(deadline);
}
const ProgramState *Session::currentState() const {
  return impl->executor->currentState();
}
const Trace *Session::trace() const { return impl->trace.get(); }

} // namespace lockstep::runtime
