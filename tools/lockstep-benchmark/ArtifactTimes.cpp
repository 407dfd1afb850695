//===- ArtifactTimes.cpp --------------------------------------------------===//

#include "tools/lockstep-benchmark/ArtifactTimes.h"

#include "runtime/executor/Session.h"
#include "runtime/support/Memory.h"
#include "tools/lockstep-benchmark/Timing.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <unistd.h>

namespace lockstep::tools {

using artifact::ElementType;
using runtime::Artifact;
using runtime::Expected;
using runtime::KernelProfile;
using runtime::Memory;
using runtime::ProgramId;
using runtime::ProgramInfo;
using runtime::Session;
using runtime::SessionOptions;
using runtime::Status;

namespace {

/// The path of an empty file, which is removed with the object.
class TemporaryFile {
public:
  TemporaryFile() {
    std::error_code error;
    path = (std::filesystem::temp_directory_path(error) /
            "lockstep-benchmark-XXXXXX")
               .string();
    int descriptor = error ? -1 : ::mkstemp(path.data());
    if (descriptor < 0)
      path.clear();
    else
      ::close(descriptor);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile() {
    if (!path.empty())
      ::unlink(path.c_str());
  }

  std::string path;
};

/// A session whose step can be run.
class Step {
public:
  Status open(std::shared_ptr<const Artifact> artifact,
              const SessionOptions &options) {
    Expected<std::unique_ptr<Session>> created =
        Session::create(std::move(artifact), options);
    if (!created)
      return created.status();
    session = std::move(*created);
    LOCKSTEP_RETURN_IF_ERROR(findStep());
    for (const runtime::VariableInfo &info : session->variables())
      if (!info.hasInitial)
        for (unsigned r = 0; r < (info.perReplica ? session->replicas() : 1);
             ++r)
          fill(info.type.element, session->variable(info.name, r));
    for (const runtime::ScalarInfo &info : session->scalars())
      if (!info.hasDefault)
        LOCKSTEP_RETURN_IF_ERROR(session->setScalar(
            info.name, std::vector<std::byte>(info.type.bytes)));
    return bindBatches();
  }

  Status run() { return session->run(program); }
  Status writeTrace() const { return session->writeTrace(); }

private:
  Status findStep() {
    std::span<const ProgramInfo> programs = session->programs();
    if (Expected<ProgramId> found = session->findProgram("step"))
      program = *found;
    else if (programs.size() != 1)
      return runtime::invalidArgument(fmt::format(
          "expected a program 'step', or only one, found {}", programs.size()));
    if (programs[program].loadsBatches)
      return runtime::unsupported(
          fmt::format("program '{}': expected a step of one batch, found one "
                      "that loads its batches",
                      programs[program].name));
    return Status::success();
  }

  Status bindBatches() {
    const ProgramInfo &info = session->programs()[program];
    for (unsigned r = 0; info.inputSize && r < session->replicas(); ++r) {
      Expected<Memory> batch = Memory::allocate(info.inputSize);
      if (!batch)
        return batch.status();
      for (const runtime::InputInfo &input : info.inputs)
        fill(input.type.element,
             {batch->data() + input.offset, size_t(input.type.bytes)});
      LOCKSTEP_RETURN_IF_ERROR(session->bindInput(program, r, batch->data()));
      batches.push_back(std::move(*batch));
    }
    return Status::success();
  }

  /// Numbers between -0.1 and 0.1. Other types than f32 keep their zeros.
  void fill(ElementType element, std::span<std::byte> bytes) {
    if (element != ElementType::f32)
      return;
    for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
      float value = (float(random() % 2001) - 1000) * 1e-4F;
      std::memcpy(bytes.data() + i, &value, sizeof(value));
    }
  }

  std::vector<Memory> batches;
  std::unique_ptr<Session> session;
  ProgramId program = 0;
  std::minstd_rand random;
};

} // namespace

/// How many steps are traced: about a second of them, and not more events than
/// fit well into memory.
static int tracedSteps(const Artifact &artifact, double stepSeconds,
                       double effort) {
  const double seconds = effort;
  constexpr double maxEvents = 400'000;
  double events = 1;
  for (const artifact::Program *program : *artifact.tables().programs())
    events += double(program->commands()->size()) *
              double(artifact.tables().replicas());
  return std::max(5, int(std::min(seconds / stepSeconds, maxEvents / events)));
}

static Expected<ArtifactTimes>
measure(const std::string &path, const std::string &device, double effort) {
  ArtifactTimes times;
  times.path = path;
  auto artifact = Artifact::open(path);
  if (!artifact)
    return artifact.status();
  times.artifact = *artifact;
  if (const auto *roles = times.artifact->tables().roles();
      roles && roles->size() > 1)
    return runtime::unsupported("expected an artifact of one role");
  const auto *kernels = times.artifact->tables().kernels();
  bool isCostKnown = false;
  for (uint32_t i = 0; kernels && i < kernels->size(); ++i)
    isCostKnown |= kernels->Get(i)->flops() > 0 || kernels->Get(i)->bytes() > 0;
  if (!isCostKnown)
    return runtime::invalidArgument("expected kernels with numbers of "
                                    "operations and bytes, found none");
  const double budget = effort;
  Step step;
  LOCKSTEP_RETURN_IF_ERROR(step.open(times.artifact, {.device = device}));
  Expected<double> seconds = secondsOf([&] { return step.run(); }, budget);
  if (!seconds)
    return seconds.status();
  times.stepSeconds = *seconds;

  TemporaryFile trace;
  if (trace.path.empty())
    return runtime::systemError(
        fmt::format("cannot make a temporary file: {}", std::strerror(errno)));
  {
    Step traced;
    LOCKSTEP_RETURN_IF_ERROR(traced.open(
        times.artifact, {.device = device, .traceFile = trace.path}));
    for (int i = tracedSteps(*times.artifact, *seconds, effort); i > 0; --i)
      LOCKSTEP_RETURN_IF_ERROR(traced.run());
    LOCKSTEP_RETURN_IF_ERROR(traced.writeTrace());
  }
  Expected<KernelProfile> profile =
      KernelProfile::read(trace.path, *times.artifact);
  if (!profile)
    return profile.status();
  times.kernels = std::move(*profile);
  return times;
}

Expected<ArtifactTimes> measureArtifact(const std::string &path,
                                        const std::string &device,
                                        double effort) {
  Expected<ArtifactTimes> times = measure(path, device, effort);
  // Errors of a file name it already.
  if (!times && times.status().message().find(path) == std::string::npos)
    return times.status().withContext(path);
  return times;
}

} // namespace lockstep::tools
