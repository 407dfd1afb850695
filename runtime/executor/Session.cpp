//===- Session.cpp --------------------------------------------------------===//

#include "runtime/executor/Session.h"

#include "runtime/device/cpu/CpuBinary.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/RaceChecker.h"
#include "runtime/executor/Trace.h"
#include "runtime/support/Checked.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

namespace lockstep::runtime {

static TensorInfo tensorInfo(const artifact::TensorType *type, uint64_t bytes) {
  TensorInfo info;
  info.element = type->element();
  if (type->shape())
    info.shape.assign(type->shape()->begin(), type->shape()->end());
  info.bytes = staticBytes(info.element, info.shape).value_or(bytes);
  return info;
}

class Session::Impl {
public:
  Status initialize(std::shared_ptr<const Artifact> given, SessionOptions givenOptions);

  Status parseInjections();
  Status allocateMemory();
  void initializeVariables();
  void describe();
  Status loadPrograms();
  /// Errors of a run that can be seen before it begins.
  Status checkReady(ProgramId program);
  const artifact::Buffer *outputBuffer(ProgramId program, unsigned output) const;
  static void abandon(std::unique_ptr<Impl> impl);

  std::shared_ptr<const Artifact> artifact;
  SessionOptions options;
  std::vector<Injection> injections;
  CpuBinary binary;
  SessionMemory memory;
  std::vector<VariableInfo> variables;
  std::vector<ScalarInfo> scalars;
  std::vector<bool> scalarIsSet;
  std::vector<ProgramInfo> programInfos;
  std::unordered_map<std::string_view, unsigned> variableIndex, scalarIndex, programIndex;

  std::vector<std::unique_ptr<Program>> programs;
  std::vector<std::vector<std::byte *>> inputs;
  /// Of programs that load batches: those of each replica.
  std::vector<std::vector<std::vector<std::byte *>>> batches;
  /// What such a program reads before it has loaded one.
  Memory noBatch;
  std::unique_ptr<Trace> trace;
  std::unique_ptr<RaceChecker> races;
  std::vector<std::unique_ptr<ProgramState>> states;
  uint64_t runs = 0;
  bool memoryFailed = false;
  /// Destroyed before everything above, which its threads may look at until they are joined.
  std::unique_ptr<Executor> executor;
};

Status Session::Impl::initialize(std::shared_ptr<const Artifact> given,
                                 SessionOptions givenOptions) {
  artifact = std::move(given);
  options = std::move(givenOptions);
  if (options.deadline <= std::chrono::nanoseconds(0))
    return invalidArgument("expected a deadline above 0");
  constexpr unsigned mostWorkers = 4096;
  if (options.workers > mostWorkers)
    return invalidArgument(fmt::format("expected at most {} workers, found {}", mostWorkers,
                                       options.workers));
  LOCKSTEP_RETURN_IF_ERROR(parseInjections());
  Expected<CpuBinary> loaded = CpuBinary::load(*artifact, options.target);
  if (!loaded)
    return loaded.status();
  binary = std::move(*loaded);
  LOCKSTEP_RETURN_IF_ERROR(allocateMemory());
  initializeVariables();
  LOCKSTEP_RETURN_IF_ERROR(loadPrograms());
  describe();

  Executor::Options executorOptions;
  executorOptions.workers = options.workers ? options.workers : availableCpus();
  if (options.checkRaces)
    executorOptions.workers = 1;
  executorOptions.deadline = options.deadline;
  executorOptions.clock = options.clock ? options.clock : &Clock::system();
  executorOptions.injections = injections;
  executorOptions.onInjection = options.onInjection;
  executorOptions.onDeadline = options.onDeadline;
  executorOptions.brokenRule = options.checkRaces ? options.brokenRule : BrokenRule::none;
  executor = std::make_unique<Executor>(std::move(executorOptions));
  if (!options.traceFile.empty()) {
    trace = std::make_unique<Trace>(artifact->tables().replicas());
    executor->observe(trace.get());
  }
  if (options.checkRaces) {
    races = std::make_unique<RaceChecker>(options.brokenRule);
    executor->observe(races.get());
  }
  return Status::success();
}

Status Session::Impl::parseInjections() {
  for (const std::string &text : options.injections) {
    Expected<Injection> injection = Injection::parse(text);
    if (!injection)
      return injection.status();
    if (injection->replica >= artifact->tables().replicas())
      return invalidArgument(fmt::format("injection '{}': replica {} does not exist among {}", text,
                                         injection->replica, artifact->tables().replicas()));
    injections.push_back(std::move(*injection));
  }
  return Status::success();
}

Status Session::Impl::allocateMemory() {
  const artifact::Artifact &tables = artifact->tables();
  constexpr uint64_t pageSize = 4096;
  memory.replicaVariableStride = alignUp(tables.replica_variable_size(), pageSize);
  std::pair<Memory *, uint64_t> parts[] = {
      {&memory.variables, tables.variable_size()},
      {&memory.replicaVariables, memory.replicaVariableStride * tables.replicas()},
      {&memory.scalars, tables.scalar_size()}};
  for (auto &[part, size] : parts) {
    Expected<Memory> allocated = Memory::allocate(size);
    if (!allocated)
      return allocated.status();
    *part = std::move(*allocated);
  }
  return Status::success();
}

void Session::Impl::initializeVariables() {
  const artifact::Artifact &tables = artifact->tables();
  if (tables.variables())
    for (const artifact::Variable *variable : *tables.variables()) {
      if (variable->initial() < 0)
        continue;
      std::span<const std::byte> value = artifact->segment(uint32_t(variable->initial()));
      bool perReplica = variable->space() == artifact::Space::replica_variable;
      for (uint32_t i = 0; i < (perReplica ? tables.replicas() : 1) && !value.empty(); ++i) {
        std::byte *base = perReplica
                              ? memory.replicaVariables.data() + i * memory.replicaVariableStride
                              : memory.variables.data();
        std::memcpy(base + variable->offset(), value.data(), value.size());
      }
    }
  if (tables.scalars())
    for (const artifact::Scalar *scalar : *tables.scalars())
      if (scalar->default_value() && scalar->default_value()->size())
        std::memcpy(memory.scalars.data() + scalar->offset(), scalar->default_value()->data(),
                    scalar->default_value()->size());
}

Status Session::Impl::loadPrograms() {
  const auto *tables = artifact->tables().programs();
  for (uint32_t i = 0; tables && i < tables->size(); ++i) {
    Expected<std::unique_ptr<Program>> program =
        Program::decode(*artifact, *tables->Get(i), binary, injections);
    if (!program)
      return program.status();
    programs.push_back(std::move(*program));
    inputs.emplace_back(artifact->tables().replicas(), nullptr);
    batches.emplace_back(artifact->tables().replicas());
  }
  uint64_t largest = 0;
  for (const std::unique_ptr<Program> &program : programs)
    largest = std::max(largest, program->loadsBatches ? program->tables->input_size() : 0);
  Expected<Memory> allocated = Memory::allocate(largest);
  if (!allocated)
    return allocated.status();
  noBatch = std::move(*allocated);
  states.resize(programs.size());
  return Status::success();
}

void Session::Impl::describe() {
  const artifact::Artifact &tables = artifact->tables();
  for (uint32_t i = 0; tables.variables() && i < tables.variables()->size(); ++i) {
    const artifact::Variable *variable = tables.variables()->Get(i);
    variables.push_back({variable->name()->str(), tensorInfo(variable->type(), 0),
                         variable->space() == artifact::Space::replica_variable,
                         variable->synchronization(), variable->aggregation(),
                         variable->initial() >= 0});
    variableIndex.emplace(variable->name()->string_view(), i);
  }
  for (uint32_t i = 0; tables.scalars() && i < tables.scalars()->size(); ++i) {
    const artifact::Scalar *scalar = tables.scalars()->Get(i);
    bool hasDefault = scalar->default_value() && scalar->default_value()->size() > 0;
    scalars.push_back({scalar->name()->str(), tensorInfo(scalar->type(), 0), hasDefault});
    scalarIsSet.push_back(hasDefault);
    scalarIndex.emplace(scalar->name()->string_view(), i);
  }
  for (uint32_t i = 0; i < programs.size(); ++i) {
    const artifact::Program &program = *programs[i]->tables;
    ProgramInfo info{program.name()->str(), program.role()->str(), program.input_size(), programs[i]->loadsBatches, {}, {}};
    if (program.inputs())
      for (const artifact::Binding *input : *program.inputs())
        info.inputs.push_back(
            {input->name()->str(), tensorInfo(input->type(), 0), input->offset()});
    if (program.outputs())
      for (const artifact::Output *output : *program.outputs()) {
        const artifact::Buffer *buffer = program.buffers()->Get(output->buffer());
        bool perReplica = buffer->space() == artifact::Space::replica ||
                          buffer->space() == artifact::Space::replica_variable ||
                          buffer->space() == artifact::Space::rank;
        info.outputs.push_back({output->name()->str(), output->kind(),
                                tensorInfo(buffer->type(), buffer->size()), perReplica});
      }
    programInfos.push_back(std::move(info));
    programIndex.emplace(program.name()->string_view(), i);
  }
}

Status Session::Impl::checkReady(ProgramId program) {
  if (program >= programs.size())
    return invalidArgument(fmt::format("program {} does not exist among {}", program,
                                       programs.size()));
  if (programs[program]->loadsBatches) {
    for (uint32_t i = 0; i < batches[program].size(); ++i)
      if (batches[program][i].size() != batches[program][0].size())
        return invalidArgument(fmt::format("program '{}': replica {} has {} batches, but replica 0 has {}", programInfos[program].name, i,
                                           batches[program][i].size(), batches[program][0].size()));
  } else if (programInfos[program].inputSize)
    for (uint32_t i = 0; i < inputs[program].size(); ++i)
      if (!inputs[program][i])
        return invalidArgument(fmt::format("program '{}': replica {} has no input bound",
                                           programInfos[program].name, i));
  for (uint32_t index : programs[program]->usedScalars)
    if (!scalarIsSet[index])
      return invalidArgument(fmt::format("program '{}': scalar '{}' is not set and has no default",
                                         programInfos[program].name, scalars[index].name));
  return Status::success();
}

/// Keeps what hanging kernels may still use until the process exits. Never destroyed.
void Session::Impl::abandon(std::unique_ptr<Impl> impl) {
  static std::mutex mutex;
  static auto *abandoned = new std::vector<std::unique_ptr<Impl>>;
  std::lock_guard<std::mutex> lock(mutex);
  abandoned->push_back(std::move(impl));
}

const artifact::Buffer *Session::Impl::outputBuffer(ProgramId program, unsigned output) const {
  if (program >= programs.size() || output >= programInfos[program].outputs.size())
    return nullptr;
  const artifact::Program &tables = *programs[program]->tables;
  return tables.buffers()->Get(tables.outputs()->Get(output)->buffer());
}

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

Session::Session(std::unique_ptr<Impl> given) : impl(std::move(given)) {}

Session::~Session() {
  if (!impl->options.traceFile.empty())
    (void)writeTrace();
  // A thread that is inside of a kernel cannot be joined, and its memory cannot be freed.
  if (impl->executor->failed() && !impl->executor->leaveOrAbandon())
    Impl::abandon(std::move(impl));
}

Expected<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Artifact> artifact,
                                                   SessionOptions options) {
  auto impl = std::make_unique<Impl>();
  if (Status status = impl->initialize(std::move(artifact), std::move(options)); !status.ok())
    return status;
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

const Artifact &Session::artifact() const { return *impl->artifact; }
unsigned Session::replicas() const { return impl->artifact->tables().replicas(); }
unsigned Session::workers() const { return impl->executor->workers(); }
std::string_view Session::target() const { return impl->binary.target(); }
std::span<const VariableInfo> Session::variables() const { return impl->variables; }
std::span<const ScalarInfo> Session::scalars() const { return impl->scalars; }
std::span<const ProgramInfo> Session::programs() const { return impl->programInfos; }
unsigned Session::idleWorkers() const { return impl->executor->idleWorkers(); }
bool Session::poisoned() const { return impl->memoryFailed || impl->executor->failed(); }
bool Session::variablesIntact() const {
  return !impl->executor->failed() || !impl->executor->variablesTouched();
}
const DeadlineReport &Session::deadlineReport() const { return impl->executor->deadlineReport(); }
uint64_t Session::completedRuns() const { return impl->runs; }

std::span<std::byte> Session::variable(std::string_view name, unsigned replica) {
  auto it = impl->variableIndex.find(name);
  if (it == impl->variableIndex.end())
    return {};
  const VariableInfo &info = impl->variables[it->second];
  if (info.perReplica && replica >= replicas())
    return {};
  std::byte *base = info.perReplica ? impl->memory.replicaVariables.data() +
                                          replica * impl->memory.replicaVariableStride
                                    : impl->memory.variables.data();
  uint64_t offset = impl->artifact->tables().variables()->Get(it->second)->offset();
  return {base + offset, info.type.bytes};
}

Status Session::setScalar(std::string_view name, std::span<const std::byte> bytes) {
  auto it = impl->scalarIndex.find(name);
  if (it == impl->scalarIndex.end())
    return invalidArgument(fmt::format("there is no scalar '{}'", name));
  const ScalarInfo &info = impl->scalars[it->second];
  if (bytes.size() != info.type.bytes)
    return invalidArgument(fmt::format("scalar '{}' is of {}: expected {} bytes, found {}", name,
                                       typeName(info.type), info.type.bytes, bytes.size()));
  uint64_t offset = impl->artifact->tables().scalars()->Get(it->second)->offset();
  if (!bytes.empty())
    std::memcpy(impl->memory.scalars.data() + offset, bytes.data(), bytes.size());
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
  return invalidArgument(fmt::format("there is no program '{}': the artifact has {}", name,
                                     known.empty() ? "none" : known));
}

Status Session::bindInput(ProgramId program, unsigned replica, const std::byte *base) {
  if (program >= impl->programs.size() || replica >= replicas())
    return invalidArgument(
        fmt::format("program {} or replica {} does not exist", program, replica));
  if (reinterpret_cast<uintptr_t>(base) % inputAlignment != 0)
    return invalidArgument(fmt::format("expected input aligned to {} bytes, found address {}",
                                       inputAlignment, static_cast<const void *>(base)));
  // Nobody writes to inputs: the verifier refuses a program that tries to.
  auto *address = const_cast<std::byte *>(base);
  impl->inputs[program][replica] = address;
  if (impl->states[program])
    impl->states[program]->replicas[replica].bases[size_t(artifact::Space::input)] = address;
  return Status::success();
}

Status Session::bindBatches(ProgramId program, unsigned replica, std::vector<const std::byte *> batches) {
  if (program >= impl->programs.size() || replica >= replicas())
    return invalidArgument(fmt::format("program {} or replica {} does not exist", program, replica));
  if (!impl->programs[program]->loadsBatches)
    return invalidArgument(fmt::format("program '{}' loads no batches", impl->programInfos[program].name));
  std::vector<std::byte *> &bound = impl->batches[program][replica];
  bound.clear();
  for (const std::byte *base : batches) {
    if (reinterpret_cast<uintptr_t>(base) % inputAlignment != 0)
      return invalidArgument(fmt::format("expected a batch aligned to {} bytes, found address {}", inputAlignment, static_cast<const void *>(base)));
    // Nobody writes to inputs: the verifier refuses a program that tries to.
    bound.push_back(const_cast<std::byte *>(base));
  }
  if (auto it = impl->scalarIndex.find("num_batches"); it != impl->scalarIndex.end()) {
    auto count = int64_t(bound.size());
    LOCKSTEP_RETURN_IF_ERROR(setScalar("num_batches", std::as_bytes(std::span(&count, 1))));
  }
  return Status::success();
}

Status Session::run(ProgramId program) {
  LOCKSTEP_RETURN_IF_ERROR(impl->checkReady(program));
  if (!impl->states[program]) {
    Expected<std::unique_ptr<ProgramState>> state =
        ProgramState::create(*impl->programs[program], impl->memory, impl->executor->workers(),
                             impl->executor->tiles());
    if (!state) {
      impl->memoryFailed = true;
      return state.status();
    }
    for (uint32_t i = 0; i < replicas(); ++i)
      (*state)->replicas[i].bases[size_t(artifact::Space::input)] = impl->inputs[program][i];
    impl->states[program] = std::move(*state);
  }
  if (impl->programs[program]->loadsBatches)
    for (uint32_t i = 0; i < replicas(); ++i) {
      Replica &replica = impl->states[program]->replicas[i];
      replica.batches = impl->batches[program][i];
      replica.loaded = 0;
      // What is read before a batch has been loaded is memory of the session.
      replica.bases[size_t(artifact::Space::input)] = impl->noBatch.data();
    }
  LOCKSTEP_RETURN_IF_ERROR(impl->executor->run(*impl->states[program]));
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
  std::vector<int64_t> shape = impl->programInfos[program].outputs[output].type.shape;
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
  std::optional<uint64_t> bytes =
      staticBytes(buffer->type()->element(), outputShape(program, output, replica));
  if (!bytes || *bytes > buffer->size())
    return {};
  return {impl->states[program]->address(replica, buffer), *bytes};
}

std::span<const std::byte> Session::output(ProgramId program, std::string_view name,
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
    return invalidArgument("no trace was asked for when the session was created");
  return impl->trace->write(impl->options.traceFile);
}

} // namespace lockstep::runtime
