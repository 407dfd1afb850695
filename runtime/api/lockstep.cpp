//===- lockstep.cpp - the C API -------------------------------------------===//

#include "runtime/api/lockstep.h"

#include "runtime/artifact/VariableUse.h"
#include "runtime/executor/Cluster.h"
#include "runtime/transport/TransportFactory.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

using namespace lockstep;
using namespace lockstep::runtime;

struct lockstep_session {
  std::unique_ptr<Cluster> cluster;
  /// By program: how it uses variables.
  std::vector<VariableUse> uses;
  /// Variables without a value, and the replicas that have none; empty for one
  /// that replicas share.
  std::map<std::string, std::set<uint32_t>, std::less<>> unset;
};

namespace {

thread_local std::string lastError;

lockstep_status report(const Status &status) {
  if (!status.ok())
    lastError = status.message();
  return static_cast<lockstep_status>(status.code());
}

/// The runtime itself throws nothing, but the standard library throws when
/// memory runs out.
template <typename Body> lockstep_status guarded(Body body) noexcept {
  try {
    return report(body());
  } catch (const std::exception &exception) {
    try {
      lastError = exception.what();
    } catch (...) {
      // Out of memory for the message too.
      lastError.clear();
    }
    return LOCKSTEP_SYSTEM;
  }
}

void describe(lockstep_tensor &info, const std::string &name,
              const TensorInfo &type, bool perReplica) {
  info.name = name.c_str();
  info.element = static_cast<lockstep_element>(type.element);
  info.shape = type.shape.data();
  info.rank = type.shape.size();
  info.bytes = type.bytes;
  info.per_replica = perReplica;
}

Status missing(const char *what, size_t index) {
  return invalidArgument(fmt::format("{} {} does not exist", what, index));
}

const ProgramInfo *programInfo(const lockstep_session *session,
                               uint32_t program) {
  auto programs = session->cluster->programs();
  return program < programs.size() ? &programs[program] : nullptr;
}

Expected<VariableValue> findVariable(lockstep_session *session,
                                     const char *name, uint32_t replica,
                                     size_t bytes) {
  std::optional<VariableValue> variable =
      session->cluster->variable(name, replica);
  if (!variable)
    return invalidArgument(
        fmt::format("there is no variable '{}' of replica {}", name, replica));
  if (variable->size() != bytes)
    return invalidArgument(
        fmt::format("variable '{}': expected {} bytes, found {}", name,
                    variable->size(), bytes));
  return *variable;
}

/// Error: the program reads variables that have no value.
Status checkValues(const lockstep_session &session, const VariableUse &use) {
  std::string missing;
  if (session.unset.empty())
    return Status::success();
  for (const VariableInfo &variable : session.cluster->variables()) {
    auto found = session.unset.find(variable.name);
    if (found == session.unset.end() || !use.read.contains(variable.name))
      continue;
    missing +=
        fmt::format("\n  '{}' ({})", variable.name, typeName(variable.type));
    if (variable.perReplica)
      missing += fmt::format(" of replica {}", *found->second.begin());
  }
  if (missing.empty())
    return Status::success();
  return invalidArgument("expected values of these variables, which the "
                         "program reads, and which have no initial value:" +
                         missing);
}

lockstep_options defaultOptions() {
  lockstep_options options{};
  options.struct_size = sizeof(options);
  options.deadline_seconds = 60;
  options.executors = 1;
  options.record_runs = 1;
  return options;
}

/// The options of a program, which may have been compiled against a version
/// with fewer or more of them.
Expected<lockstep_options> knownOptions(const lockstep_options &given) {
  size_t size = given.struct_size;
  if (size < sizeof(size))
    return invalidArgument("options were not set up by lockstep_options_init");
  lockstep_options options = defaultOptions();
  std::memcpy(&options, &given, std::min(size, sizeof(options)));
  auto *bytes = reinterpret_cast<const std::byte *>(&given);
  for (size_t i = sizeof(options); i < size; ++i)
    if (bytes[i] != std::byte(0))
      return unsupported(fmt::format(
          "expected options of {} bytes, found {} with one set at byte {}, "
          "which this version of the library does not know",
          sizeof(options), size, i));
  return options;
}

std::function<void(const DeadlineReport &)>
reporter(lockstep_report_function function, void *context) {
  if (!function)
    return {};
  return [function, context](const DeadlineReport &report) {
    function(context, report.text.c_str(), report.json.c_str());
  };
}

} // namespace

const char *lockstep_last_error(void) { return lastError.c_str(); }

lockstep_status lockstep_options_init(lockstep_options *options,
                                      size_t struct_size) {
  return guarded([&]() -> Status {
    if (struct_size < sizeof(options->struct_size))
      return invalidArgument(
          fmt::format("expected options of at least {} bytes, found {}",
                      sizeof(options->struct_size), struct_size));
    lockstep_options values = defaultOptions();
    values.struct_size = struct_size;
    std::memset(options, 0, struct_size);
    std::memcpy(options, &values, std::min(struct_size, sizeof(values)));
    return Status::success();
  });
}

lockstep_status lockstep_session_open(const char *path,
                                      const lockstep_options *options,
                                      lockstep_session **session) {
  return guarded([&]() -> Status {
    *session = nullptr;
    ClusterOptions clusterOptions;
    SessionOptions &sessionOptions = clusterOptions.session;
    Expected<lockstep_options> known =
        options ? knownOptions(*options) : defaultOptions();
    if (!known)
      return known.status();
    constexpr double longest = 1e9;
    if (!(known->deadline_seconds > 0 && known->deadline_seconds <= longest))
      return invalidArgument(
          fmt::format("expected a deadline above 0 and up to {} s, found {}",
                      longest, known->deadline_seconds));
    sessionOptions.workers = known->workers;
    sessionOptions.deadline =
        std::chrono::nanoseconds(int64_t(known->deadline_seconds * 1e9));
    sessionOptions.target = known->target ? known->target : "";
    sessionOptions.device = known->device ? known->device : "";
    LOCKSTEP_RETURN_IF_ERROR(
        openTransport(known->transport ? known->transport : "")
            .moveTo(sessionOptions.transport));
    if (uint32_t count = sessionOptions.transport->place().count; count > 1)
      return unsupported(fmt::format(
          "expected a transport that has all executors in this process, found "
          "'{}', which connects {} processes",
          sessionOptions.transport->name(), count));
    if (known->executors == 0)
      return invalidArgument("expected at least 1 executor, found 0");
    sessionOptions.traceFile = known->trace_file ? known->trace_file : "";
    sessionOptions.checkRaces = known->check_races != 0;
    sessionOptions.checkFinite = known->check_finite != 0;
    sessionOptions.shadowVariables = known->shadow_variables != 0;
    sessionOptions.checkMirrored = known->check_mirrored;
    sessionOptions.recordRuns = known->record_runs != 0;
    sessionOptions.flushSubnormals = known->flush_subnormals != 0;
    sessionOptions.onDeadline =
        reporter(known->on_deadline, known->report_context);
    sessionOptions.onLongWait =
        reporter(known->on_long_wait, known->report_context);
    clusterOptions.executors = known->executors;
    auto trustedKeys = findTrustedKeys(
        known->trusted_keys ? std::optional<std::string>(known->trusted_keys)
                            : std::nullopt,
        "trusted_keys");
    if (!trustedKeys)
      return trustedKeys.status();
    Expected<std::shared_ptr<const Artifact>> artifact =
        Artifact::open(path, {.trustedKeys = std::move(*trustedKeys)});
    if (!artifact)
      return artifact.status();
    const artifact::Artifact &tables = (*artifact)->tables();
    Expected<std::unique_ptr<Cluster>> created =
        Cluster::create(std::move(*artifact), std::move(clusterOptions));
    if (!created)
      return created.status();
    auto opened = std::make_unique<lockstep_session>(std::move(*created));
    for (const ProgramInfo &program : opened->cluster->programs())
      opened->uses.push_back(variableUse(tables, program.name));
    for (const VariableInfo &variable : opened->cluster->variables())
      if (!variable.hasInitial) {
        std::set<uint32_t> &replicas = opened->unset[variable.name];
        for (uint32_t r = 0; variable.perReplica && r < tables.replicas(); ++r)
          replicas.insert(r);
      }
    *session = opened.release();
    return Status::success();
  });
}

void lockstep_session_close(lockstep_session *session) { delete session; }

uint32_t lockstep_replicas(const lockstep_session *session) {
  return session->cluster->replicas();
}

size_t lockstep_variable_count(const lockstep_session *session) {
  return session->cluster->variables().size();
}

lockstep_status lockstep_variable_info(const lockstep_session *session,
                                       size_t index, lockstep_tensor *info) {
  return guarded([&]() -> Status {
    auto variables = session->cluster->variables();
    if (index >= variables.size())
      return missing("variable", index);
    describe(*info, variables[index].name, variables[index].type,
             variables[index].perReplica);
    return Status::success();
  });
}

lockstep_status lockstep_variable_get(lockstep_session *session,
                                      const char *name, uint32_t replica,
                                      void *data, size_t bytes) {
  return guarded([&]() -> Status {
    auto variable = findVariable(session, name, replica, bytes);
    if (!variable)
      return variable.status();
    variable->read({static_cast<std::byte *>(data), bytes});
    return Status::success();
  });
}

lockstep_status lockstep_variable_set(lockstep_session *session,
                                      const char *name, uint32_t replica,
                                      const void *data, size_t bytes) {
  return guarded([&]() -> Status {
    auto variable = findVariable(session, name, replica, bytes);
    if (!variable)
      return variable.status();
    variable->write({static_cast<const std::byte *>(data), bytes});
    if (auto found = session->unset.find(name); found != session->unset.end()) {
      found->second.erase(replica);
      if (found->second.empty())
        session->unset.erase(found);
    }
    return Status::success();
  });
}

lockstep_status lockstep_scalar_set(lockstep_session *session, const char *name,
                                    const void *data, size_t bytes) {
  return guarded([&] {
    return session->cluster->setScalar(
        name, {static_cast<const std::byte *>(data), bytes});
  });
}

lockstep_status lockstep_program_find(const lockstep_session *session,
                                      const char *name, uint32_t *program) {
  return guarded([&]() -> Status {
    Expected<ProgramId> found = session->cluster->findProgram(name);
    if (found)
      *program = *found;
    return found.status();
  });
}

size_t lockstep_input_count(const lockstep_session *session, uint32_t program) {
  const ProgramInfo *info = programInfo(session, program);
  return info ? info->inputs.size() : 0;
}

lockstep_status lockstep_input_info(const lockstep_session *session,
                                    uint32_t program, size_t index,
                                    lockstep_tensor *info, size_t *offset) {
  return guarded([&]() -> Status {
    const ProgramInfo *owner = programInfo(session, program);
    if (!owner || index >= owner->inputs.size())
      return missing("input", index);
    describe(*info, owner->inputs[index].name, owner->inputs[index].type, true);
    *offset = owner->inputs[index].offset;
    return Status::success();
  });
}

size_t lockstep_input_size(const lockstep_session *session, uint32_t program) {
  const ProgramInfo *info = programInfo(session, program);
  return info ? info->inputSize : 0;
}

lockstep_status lockstep_input_bind(lockstep_session *session, uint32_t program,
                                    uint32_t replica, const void *data) {
  return guarded([&] {
    return session->cluster->bindInput(program, replica,
                                       static_cast<const std::byte *>(data));
  });
}

lockstep_status lockstep_input_announce(lockstep_session *session,
                                        uint32_t program, uint32_t replica,
                                        const void *data) {
  return guarded([&] {
    return session->cluster->announceInput(
        program, replica, static_cast<const std::byte *>(data));
  });
}

lockstep_status lockstep_batches_bind(lockstep_session *session,
                                      uint32_t program, uint32_t replica,
                                      const void *const *batches,
                                      size_t count) {
  return guarded([&] {
    std::vector<const std::byte *> bases;
    for (size_t i = 0; i < count; ++i)
      bases.push_back(static_cast<const std::byte *>(batches[i]));
    return session->cluster->bindBatches(program, replica, std::move(bases));
  });
}

lockstep_status lockstep_run(lockstep_session *session, uint32_t program) {
  return guarded([&]() -> Status {
    const VariableUse *use =
        program < session->uses.size() ? &session->uses[program] : nullptr;
    if (use)
      LOCKSTEP_RETURN_IF_ERROR(checkValues(*session, *use));
    LOCKSTEP_RETURN_IF_ERROR(session->cluster->run(program));
    if (use && !session->unset.empty())
      for (const std::string &variable : use->written)
        session->unset.erase(variable);
    return Status::success();
  });
}

lockstep_status lockstep_constant_output_get(const lockstep_session *session,
                                             uint32_t program, const char *name,
                                             const char **json) {
  return guarded([&]() -> Status {
    const ProgramInfo *owner = programInfo(session, program);
    if (!owner)
      return missing("program", program);
    for (const auto &[known, value] : owner->constantOutputs)
      if (known == name) {
        *json = value.c_str();
        return Status::success();
      }
    return invalidArgument(fmt::format(
        "program '{}' has no constant output '{}'", owner->name, name));
  });
}

size_t lockstep_output_count(const lockstep_session *session,
                             uint32_t program) {
  const ProgramInfo *info = programInfo(session, program);
  return info ? info->outputs.size() : 0;
}

lockstep_status lockstep_output_info(const lockstep_session *session,
                                     uint32_t program, size_t index,
                                     lockstep_tensor *info) {
  return guarded([&]() -> Status {
    const ProgramInfo *owner = programInfo(session, program);
    if (!owner || index >= owner->outputs.size())
      return missing("output", index);
    describe(*info, owner->outputs[index].name, owner->outputs[index].type,
             owner->outputs[index].perReplica);
    return Status::success();
  });
}

lockstep_status lockstep_output_get(const lockstep_session *session,
                                    uint32_t program, size_t index,
                                    uint32_t replica, const void **data,
                                    size_t *bytes) {
  return guarded([&]() -> Status {
    const ProgramInfo *owner = programInfo(session, program);
    if (!owner || index >= owner->outputs.size() ||
        replica >= session->cluster->replicas())
      return missing("output or replica of output", index);
    std::span<const std::byte> value = session->cluster->output(
        program, static_cast<unsigned>(index), replica);
    if (!value.data())
      return invalidArgument(
          fmt::format("output '{}' has no value before its program has run",
                      owner->outputs[index].name));
    *data = value.data();
    *bytes = value.size();
    return Status::success();
  });
}

lockstep_status lockstep_interrupt(lockstep_session *session) {
  return guarded([&] {
    session->cluster->abort(
        {StatusCode::interrupted, "the run was aborted by lockstep_interrupt"});
    return Status::success();
  });
}

int lockstep_variables_intact(const lockstep_session *session) {
  return session->cluster->variablesIntact();
}

const char *lockstep_deadline_report(const lockstep_session *session) {
  return session->cluster->deadlineReport().json.c_str();
}
