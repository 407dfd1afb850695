//===- SessionSetup.cpp - makes a session of an artifact ------------------===//

#include "runtime/executor/SessionImpl.h"

#include "runtime/executor/Faults.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace lockstep::runtime {

static TensorInfo tensorInfo(const artifact::TensorType *type,
                             uint64_t bytes = 0) {
  TensorInfo info;
  info.element = type->element();
  if (type->shape())
    info.shape.assign(type->shape()->begin(), type->shape()->end());
  info.bytes = staticBytes(info.element, info.shape).value_or(bytes);
  return info;
}

VariableInfo describeVariable(const artifact::Variable &variable) {
  return {variable.name()->str(),
          tensorInfo(variable.type()),
          variable.space() == artifact::Space::replica_variable,
          variable.synchronization(),
          variable.aggregation(),
          variable.initial() >= 0};
}

Status Session::Impl::initialize(std::shared_ptr<const Artifact> given,
                                 SessionOptions givenOptions) {
  artifact = std::move(given);
  options = std::move(givenOptions);
  LOCKSTEP_RETURN_IF_ERROR(findRanks());
  if (options.deadline <= std::chrono::nanoseconds(0))
    return invalidArgument("expected a deadline above 0");
  constexpr unsigned mostWorkers = 4096;
  if (options.workers > mostWorkers)
    return invalidArgument(fmt::format("expected at most {} workers, found {}",
                                       mostWorkers, options.workers));
  LOCKSTEP_RETURN_IF_ERROR(parseInjections());
  LOCKSTEP_RETURN_IF_ERROR(
      openDevice(options.device, options.deviceIndex).moveTo(memory.device));
  if (options.flushSubnormals && !memory.device->isHost())
    return unsupported(fmt::format("device '{}' keeps subnormal floats",
                                   memory.device->kind()));
  memory.transport = options.transport;
  if (!memory.transport)
    LOCKSTEP_RETURN_IF_ERROR(openTransport("").moveTo(memory.transport));
  if (options.network && memory.transport->capabilities().acceptsDeviceMemory)
    memory.device->allocateForExchange();
  LOCKSTEP_RETURN_IF_ERROR(
      memory.device->loadModule(*artifact, options.target).moveTo(module));
  LOCKSTEP_RETURN_IF_ERROR(allocateMemory());
  LOCKSTEP_RETURN_IF_ERROR(initializeVariables());
  LOCKSTEP_RETURN_IF_ERROR(loadPrograms());
  describe();

  Executor::Options executorOptions;
  executorOptions.workers = options.workers ? options.workers : availableCpus();
  if (options.checkRaces)
    executorOptions.workers = 1;
  executorOptions.deadline =
      options.inCluster ? std::chrono::nanoseconds(0) : options.deadline;
  executorOptions.clock = options.clock ? options.clock : &Clock::system();
  executorOptions.injections = injections;
  executorOptions.onInjection = options.onInjection;
  executorOptions.onDeadline = options.onDeadline;
  executorOptions.onLongWait = options.onLongWait;
  executorOptions.network = options.network.get();
  executorOptions.clusters = options.clusters;
  executorOptions.recordRuns = recordsRuns();
  executorOptions.flushSubnormals = options.flushSubnormals;
  executorOptions.brokenRule =
      options.checkRaces ? options.brokenRule : MemoryRule::none;
  executor = std::make_unique<Executor>(std::move(executorOptions));
  LOCKSTEP_RETURN_IF_ERROR(executor->status());
  if (!options.traceFile.empty()) {
    trace = std::make_unique<Trace>(ranks.count);
    executor->observe(trace.get());
  }
  if (module->hasChecks()) {
    bounds = std::make_unique<BoundsChecker>(*module);
    executor->observe(bounds.get());
  }
  if (options.checkFinite) {
    finite = std::make_unique<FiniteChecker>(
        /*hasOthers=*/options.network != nullptr);
    executor->observe(finite.get());
  }
  if (options.checkRaces) {
    races = std::make_unique<RaceChecker>(options.brokenRule);
    executor->observe(races.get());
  }
  postFacts();
  return Status::success();
}

bool Session::Impl::recordsRuns() const {
  return options.recordRuns && memory.device->canRecord() &&
         injections.empty() && options.traceFile.empty() &&
         !(options.checkFinite && options.network) && !options.checkRaces &&
         !module->hasChecks();
}

Status Session::Impl::findRanks() {
  std::vector<RoleInfo> roles = rolesOf(artifact->tables());
  auto found =
      std::find_if(roles.begin(), roles.end(), [&](const RoleInfo &known) {
        return known.name == options.role;
      });
  if (found == roles.end())
    return invalidArgument(
        fmt::format("the artifact has no role '{}'", options.role));
  role = *found;
  roleIndex = uint32_t(found - roles.begin());
  ranks = options.rankCount ? RankRange{options.firstRank, options.rankCount}
                            : role.ranks;
  if (!role.ranks.contains(ranks.first) ||
      ranks.count > role.ranks.end() - ranks.first)
    return invalidArgument(fmt::format(
        "role '{}' has {} ranks from {}, found {} from {}", role.name,
        role.ranks.count, role.ranks.first, ranks.count, ranks.first));
  if (!options.network)
    return Status::success();
  if (options.network->ownRanks() != ranks)
    return invalidArgument(fmt::format(
        "the network's executor {} has {} ranks from {}, the session {} from "
        "{}",
        options.network->self(), options.network->ownRanks().count,
        options.network->ownRanks().first, ranks.count, ranks.first));
  inbox = std::make_unique<NetworkInbox>(
      *options.network, artifact->tables().programs()
                            ? artifact->tables().programs()->size()
                            : 0);
  return Status::success();
}

/// Without a network, all members must be in this session.
Status Session::Impl::checkMembers() const {
  if (options.network)
    return Status::success();
  for (const std::unique_ptr<Program> &program : programs)
    for (const auto &plan : program->plans)
      if (!plan->isLocal())
        return invalidArgument(
            fmt::format("{}: it has ranks outside of this session ({} from {} "
                        "of role '{}'), which has no network",
                        program->place(program->channelCommands[plan->channel]),
                        ranks.count, ranks.first, role.name));
  return Status::success();
}

/// A collective accesses its operands and results until it is complete, which
/// is longer than any command holds the lock of shared variables.
Status Session::Impl::checkShared() const {
  for (const std::unique_ptr<Program> &program : programs)
    for (uint32_t i = 0; options.variables && i < program->code.size(); ++i) {
      const artifact::Start *start =
          program->tables->commands()->Get(i)->body_as_Start();
      if (!start)
        continue;
      for (const auto *buffers : {start->operands(), start->results()})
        for (uint32_t k = 0; buffers && k < buffers->size(); ++k)
          if (program->tables->buffers()->Get(buffers->Get(k))->space() ==
              artifact::Space::variable)
            return invalidArgument(fmt::format(
                "{}: it works on a variable itself, not on a copy, which "
                "several workers may change at any "
                "time: compile the step with --strategy=parameter_server",
                program->place(i)));
    }
  return Status::success();
}

Status Session::Impl::parseInjections() {
  for (const std::string &text : options.injections) {
    Expected<Injection> injection = Injection::parse(text);
    if (!injection)
      return injection.status();
    uint32_t total = 0;
    for (const RoleInfo &known : rolesOf(artifact->tables()))
      total = std::max(total, known.ranks.end());
    if (injection->replica >= total)
      return invalidArgument(
          fmt::format("injection '{}': replica {} does not exist among {}",
                      text, injection->replica, total));
    injections.push_back(std::move(*injection));
  }
  return Status::success();
}

Status Session::Impl::allocateMemory() {
  const artifact::Artifact &tables = artifact->tables();
  if (options.variables && options.shadowVariables)
    return invalidArgument("expected no shadowVariables with variables that "
                           "other sessions change at any time");
  if (options.variables && options.checkMirrored)
    return invalidArgument("expected no checkMirrored with variables that "
                           "other sessions change at any time");
  memory.variables = options.variables;
  if (!memory.variables) {
    Expected<std::shared_ptr<VariableMemory>> created =
        VariableMemory::create(memory.device, *artifact, roleIndex);
    if (!created)
      return created.status();
    memory.variables = std::move(*created);
  }
  LOCKSTEP_RETURN_IF_ERROR(
      HostCopy::create(memory.device, ranks.count, role.replicaVariableSize)
          .moveTo(memory.replicaVariables));
  LOCKSTEP_RETURN_IF_ERROR(
      HostCopy::createRecordable(memory.device, tables.scalar_size())
          .moveTo(memory.scalars));
  LOCKSTEP_RETURN_IF_ERROR(uploadConstants());
  if (options.shadowVariables) {
    LOCKSTEP_RETURN_IF_ERROR(
        Memory::allocate(role.variableSize).moveTo(memory.shadow));
    LOCKSTEP_RETURN_IF_ERROR(
        Arenas::allocate(ranks.count, role.replicaVariableSize)
            .moveTo(memory.replicaShadow));
  }
  return Status::success();
}

Status Session::Impl::uploadConstants() {
  int32_t segment = artifact->tables().constants();
  if (memory.device->isHost() || segment < 0)
    return Status::success();
  std::span<const std::byte> constants = artifact->segment(uint32_t(segment));
  LOCKSTEP_RETURN_IF_ERROR(
      memory.device->allocate(1, constants.size()).moveTo(memory.constants));
  return transfer(*memory.device, [&](Queue &queue) {
    queue.upload(memory.constants->block(0), constants.data(),
                 constants.size());
  });
}

/// Initializes the memories outside of `VariableMemory`.
Status Session::Impl::initializeVariables() {
  const artifact::Artifact &tables = artifact->tables();
  LOCKSTEP_RETURN_IF_ERROR(memory.replicaVariables->edit());
  LOCKSTEP_RETURN_IF_ERROR(memory.scalars->edit());
  if (tables.variables())
    for (const artifact::Variable *variable : *tables.variables()) {
      if (variable->initial() < 0 || variable->role() != roleIndex ||
          variable->space() != artifact::Space::replica_variable)
        continue;
      std::span<const std::byte> value =
          artifact->segment(uint32_t(variable->initial()));
      for (uint32_t i = 0; i < ranks.count && !value.empty(); ++i)
        std::memcpy(memory.replicaVariables->host(i).data() +
                        variable->offset(),
                    value.data(), value.size());
    }
  if (tables.scalars())
    for (const artifact::Scalar *scalar : *tables.scalars())
      if (scalar->default_value() && scalar->default_value()->size())
        std::memcpy(memory.scalars->host().data() + scalar->offset(),
                    scalar->default_value()->data(),
                    scalar->default_value()->size());
  return Status::success();
}

Status Session::Impl::loadPrograms() {
  const auto *tables = artifact->tables().programs();
  for (uint32_t i = 0; tables && i < tables->size(); ++i) {
    if (tables->Get(i)->role()->string_view() != role.name)
      continue;
    Expected<std::unique_ptr<Program>> program =
        Program::decode(*artifact, *tables->Get(i), ranks, *module, injections,
                        /*sharesVariables=*/options.variables != nullptr);
    if (!program)
      return program.status();
    programs.push_back(std::move(*program));
    inputs.emplace_back(ranks.count, nullptr);
    batches.emplace_back(ranks.count);
  }
  LOCKSTEP_RETURN_IF_ERROR(checkMembers());
  LOCKSTEP_RETURN_IF_ERROR(checkShared());
  LOCKSTEP_RETURN_IF_ERROR(checkFaults(injections, programs, ranks));
  uint64_t largest = 0;
  for (const std::unique_ptr<Program> &program : programs)
    largest = std::max(
        largest, program->loadsBatches ? program->tables->input_size() : 0);
  Expected<Memory> allocated = Memory::allocate(largest);
  if (!allocated)
    return allocated.status();
  noBatch = std::move(*allocated);
  states.resize(programs.size());
  return Status::success();
}

void Session::Impl::describe() {
  const artifact::Artifact &tables = artifact->tables();
  for (uint32_t i = 0; tables.variables() && i < tables.variables()->size();
       ++i) {
    const artifact::Variable *variable = tables.variables()->Get(i);
    if (variable->role() != roleIndex)
      continue;
    variableIndex.emplace(variable->name()->string_view(),
                          uint32_t(variables.size()));
    variableOffsets.push_back(variable->offset());
    variables.push_back(describeVariable(*variable));
  }
  for (uint32_t i = 0; tables.scalars() && i < tables.scalars()->size(); ++i) {
    const artifact::Scalar *scalar = tables.scalars()->Get(i);
    bool hasDefault =
        scalar->default_value() && scalar->default_value()->size() > 0;
    scalars.push_back(
        {scalar->name()->str(), tensorInfo(scalar->type()), hasDefault});
    scalarIsSet.push_back(hasDefault);
    scalarIndex.emplace(scalar->name()->string_view(), i);
  }
  for (uint32_t i = 0; i < programs.size(); ++i) {
    const artifact::Program &program = *programs[i]->tables;
    ProgramInfo info{program.name()->str(),
                     program.role()->str(),
                     program.input_size(),
                     programs[i]->loadsBatches,
                     {},
                     {},
                     {}};
    if (program.inputs())
      for (const artifact::Binding *input : *program.inputs())
        info.inputs.push_back(
            {input->name()->str(), tensorInfo(input->type()), input->offset()});
    if (program.outputs())
      for (const artifact::Output *output : *program.outputs()) {
        const artifact::Buffer *buffer =
            program.buffers()->Get(output->buffer());
        bool perReplica =
            buffer->space() == artifact::Space::replica ||
            buffer->space() == artifact::Space::replica_variable ||
            buffer->space() == artifact::Space::rank;
        info.outputs.push_back({output->name()->str(), output->kind(),
                                tensorInfo(buffer->type(), buffer->size()),
                                perReplica});
      }
    if (tables.constant_outputs())
      for (const artifact::ConstantOutput *output : *tables.constant_outputs())
        if (output->program()->string_view() == info.name)
          info.constantOutputs.emplace_back(output->name()->str(),
                                            output->value()->str());
    programInfos.push_back(std::move(info));
    programIndex.emplace(program.name()->string_view(), i);
  }
}

} // namespace lockstep::runtime
