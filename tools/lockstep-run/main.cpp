//===- main.cpp - lockstep-run: trains a compiled step --------------------===//

#include "runtime/artifact/Artifact.h"

#include "runtime/checkpoint/AtomicFile.h"
#include "runtime/device/Device.h"
#include "runtime/executor/Cluster.h"
#include "runtime/executor/Coordinator.h"
#include "runtime/executor/Injection.h"
#include "runtime/training/Messages.h"
#include "runtime/training/Signals.h"
#include "runtime/training/SingleStep.h"
#include "runtime/training/Training.h"
#include "runtime/transport/TransportFactory.h"
#include "tools/lockstep-run/Hang.h"
#include "tools/lockstep-run/Options.h"
#include "tools/support/Compile.h"
#include "tools/support/OutOfMemory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <set>
#include <unistd.h>

using namespace lockstep::training;
using namespace lockstep::runtime;

namespace {

/// The target to compile for: that of the device which is to execute the
/// artifact, unless it is given. Error: the device cannot be used.
Expected<std::string> findTarget(const Options &options) {
  if (!options.target.empty())
    return options.target;
  SignalsBlocked inItsThreads;
  std::shared_ptr<Device> device;
  if (Status status = openDevice(options.device).moveTo(device); !status.ok())
    return status.withContext("'" + options.model + "'");
  return device->compilerTarget();
}

std::vector<std::string> compilerFlags(const Options &options,
                                       const std::string &target) {
  std::vector<std::string> flags = {
      fmt::format("--replicas={}", *options.replicas)};
  if (!target.empty())
    flags.push_back("--target=" + target);
  if (!options.optimization.empty())
    flags.push_back("-O" + options.optimization);
  return flags;
}

Expected<std::shared_ptr<const Artifact>> openArtifact(const Options &options,
                                                       FileWatch &files) {
  std::string path = options.model;
  auto trustedKeys = findTrustedKeys(options.trust, "--trust");
  if (!trustedKeys)
    return trustedKeys.status();
  if (lockstep::tools::needsCompilation(path)) {
    if (*trustedKeys)
      return untrusted(fmt::format("expected a signed artifact for {}, found "
                                   "'{}', whose artifact nobody has signed",
                                   options.trust ? "--trust" : "LOCKSTEP_TRUST",
                                   path));
    if (!options.replicas)
      return invalidArgument(
          fmt::format("expected --replicas=N to compile '{}' for", path));
    std::string target;
    LOCKSTEP_RETURN_IF_ERROR(findTarget(options).moveTo(target));
    LOCKSTEP_RETURN_IF_ERROR(
        lockstep::tools::compileModel(path, compilerFlags(options, target))
            .moveTo(path));
  } else if (!options.optimization.empty()) {
    return invalidArgument(
        fmt::format("expected an .mlir for -O{}, found the artifact '{}'",
                    options.optimization, path));
  }
  FileWatch::Scope scope(files, "reading '" + path + "'");
  Expected<std::shared_ptr<const Artifact>> artifact =
      Artifact::open(path, {.trustedKeys = std::move(*trustedKeys)});
  if (!artifact)
    return artifact.status();
  unsigned replicas = (*artifact)->tables().replicas();
  if (options.replicas && *options.replicas != replicas)
    return invalidArgument(fmt::format(
        "'{}': compiled for {} replicas, found --replicas={} (compile "
        "it again, or give the .mlir)",
        path, replicas, *options.replicas));
  return artifact;
}

FileWatch watchFiles(const Options &options) {
  SignalsBlocked inItsThread;
  return FileWatch(options.deadline());
}

/// The faults that executors have reported as effective. Thread-safe.
class InjectedFaults {
public:
  void add(const std::string &fault) {
    printOwnNote("injected: " + fault);
    std::lock_guard<std::mutex> lock(mutex);
    seen.insert(fault);
  }
  /// Notes faults that never took effect, so that a successful run is not
  /// misleading; of several processes, each those of its own replicas.
  void printMissing(const std::vector<std::string> &faults,
                    const Cluster &cluster) {
    std::lock_guard<std::mutex> lock(mutex);
    for (const std::string &fault : faults)
      if (!seen.contains(fault) &&
          (cluster.isWhole() ||
           isHere(cluster, Injection::parse(fault)->replica)))
        printOwnNote(fmt::format(
            "never injected: {}, because the run has ended before", fault));
  }

private:
  static bool isHere(const Cluster &cluster, unsigned rank) {
    return std::ranges::any_of(
        cluster.executors(), [&](const ExecutorInfo &executor) {
          return executor.isHere && rank >= executor.firstRank &&
                 rank - executor.firstRank < executor.ranks;
        });
  }

  std::mutex mutex;
  std::set<std::string> seen;
};

/// Each process has a file of its own: "out.json", "out.process1.json".
std::string fileOfProcess(const std::string &file, const ProcessPlace &place) {
  std::filesystem::path path(file), extension = path.extension();
  std::error_code ignored;
  if (file.empty() || place.index == 0 ||
      std::filesystem::is_other(path, ignored))
    return file;
  return path.replace_extension(fmt::format("process{}", place.index))
             .string() +
         extension.string();
}

SessionOptions sessionOptions(const Options &options,
                              std::shared_ptr<TransportFactory> transport,
                              HangHandler &hang, InjectedFaults &faults) {
  SessionOptions session;
  session.transport = std::move(transport);
  session.workers = options.threads;
  session.target = options.target;
  session.deadline = options.deadline();
  session.injections = options.injections;
  session.onInjection = [&faults](const std::string &fault) {
    faults.add(fault);
  };
  session.onDeadline = [&hang](const DeadlineReport &report) {
    hang.onDeadline(report);
  };
  session.onLongWait = [&hang](const DeadlineReport &report) {
    hang.onLongWait(report);
  };
  session.checkRaces = options.checkRaces;
  session.device = options.device;
  session.checkFinite = options.checkFinite;
  session.fillMemory = options.fillMemory;
  session.shadowVariables = options.shadowVariables;
  session.recordRuns = !options.noRecording;
  session.flushSubnormals = options.flushSubnormals;
  session.checkMirrored = options.checkMirrored;
  session.traceFile = fileOfProcess(options.trace, session.transport->place());
  return session;
}

/// Executes the steps: a cluster for synchronous replicas, or a coordinator for
/// asynchronous workers.
struct Engine {
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Coordinator> coordinator;

  static Expected<Engine>
  create(const std::shared_ptr<const Artifact> &artifact,
         const Options &options, std::shared_ptr<TransportFactory> transport,
         HangHandler &hang, InjectedFaults &faults) {
    SignalsBlocked inItsThreads;
    SessionOptions session =
        sessionOptions(options, std::move(transport), hang, faults);
    Engine engine;
    if (!options.workers) {
      Expected<std::unique_ptr<Cluster>> created =
          Cluster::create(artifact, {.session = std::move(session),
                                     .executors = options.executors});
      if (!created)
        return created.status();
      if (options.checkMirrored && (*created)->executors().size() == 1)
        return invalidArgument("expected several executors for "
                               "--check-mirrored, found 1 (see --help)");
      engine.cluster = std::move(*created);
      return engine;
    }
    CoordinatorOptions coordinatorOptions{.workers = *options.workers,
                                          .session = std::move(session)};
    // One of several that do the same is enough to be at fault.
    coordinatorOptions.adapt = [](unsigned worker, SessionOptions &session) {
      if (worker != 0)
        session.injections.clear();
    };
    Expected<std::unique_ptr<Coordinator>> created =
        Coordinator::create(artifact, std::move(coordinatorOptions));
    if (!created)
      return created.status().withContext(
          fmt::format("--workers={}", *options.workers));
    engine.coordinator = std::move(*created);
    return engine;
  }

  Cluster &anyCluster() const {
    return coordinator ? coordinator->lane() : *cluster;
  }
  /// Cancels steps that have not begun. Synchronous training checks for a
  /// signal before each step.
  void stop() const {
    if (coordinator)
      coordinator->cancel("a signal has asked to stop");
  }
  void abort(const Status &reason) const {
    coordinator ? coordinator->abort(reason) : cluster->abort(reason);
  }
  Status writeTrace() const {
    return coordinator ? coordinator->writeTrace() : cluster->writeTrace();
  }

  /// Prints the bytes sent to parameter servers and back, if there are any and
  /// all processes are known.
  void printServerTraffic() const {
    if (!anyCluster().isWhole())
      return;
    Cluster::ServerTraffic traffic =
        coordinator ? coordinator->serverTraffic() : cluster->serverTraffic();
    uint64_t runs =
        coordinator ? coordinator->completedRuns() : cluster->completedRuns();
    if (traffic.toServers + traffic.fromServers)
      printNote(fmt::format("replicas gave the servers {} bytes and got {} "
                            "bytes from them in {} runs",
                            traffic.toServers, traffic.fromServers, runs));
  }
};

/// Executes `run`, which signals can stop. After a second signal, as after a
/// missed deadline, it is not waited for.
template <typename Run>
Status untilSignals(const Options &options, const Engine &engine,
                    HangHandler &hang, Run run) {
  // Processes know of each other's signals one step later.
  double steps = engine.anyCluster().isWhole() ? 1 : 2;
  StopSignals signals(
      steps * options.deadlineSeconds, [&] { engine.stop(); },
      [&](int signal, const std::string &why) {
        hang.interrupted(128 + signal);
        engine.abort({StatusCode::interrupted, why});
      });
  Status status = signals.outcome(run());
  hang.runReturned();
  return status;
}

/// Whether threads may still be inside kernels that use the memory of the
/// cluster, so that nothing can be destroyed.
bool leavesKernels(const Status &status) {
  return status.code() == StatusCode::deadline ||
         status.code() == StatusCode::interrupted;
}

int exitStatus(const Status &status) {
  if (status.code() == StatusCode::deadline)
    return exitDeadline;
  // A signal may have interrupted another process.
  if (!status.ok() &&
      (status.code() != StatusCode::interrupted || !stopSignal()))
    return exitError;
  return stopSignal() ? 128 + stopSignal() : exitSuccess;
}

/// After a missed deadline the rest of the message is the report, which has
/// been printed.
void printFailure(const Status &status) {
  bool isReported = status.code() == StatusCode::deadline;
  printError(isReported
                 ? status.message().substr(0, status.message().find('\n'))
                 : status.message());
}

/// Ends this process's part in the run; returns the exit status.
int end(const Status &status, const Engine &engine,
        TransportFactory &transport) {
  // Other processes must not wait for this one.
  if (!status.ok() && !engine.anyCluster().isWhole())
    engine.abort(status);
  // The end may wait for other processes.
  std::fflush(nullptr);
  if (leavesKernels(status)) {
    transport.leave();
    _exit(exitStatus(status));
  }
  return exitStatus(status);
}

/// Executes one step on the arrays of `--inputs`.
Status runSingleStep(const Options &options, const Engine &engine,
                     HangHandler &hang, FileWatch &files) {
  Status status = untilSignals(options, engine, hang, [&] {
    return runOnce(options, *engine.cluster, files);
  });
  if (status.ok())
    engine.printServerTraffic();
  else
    printFailure(status);
  return status;
}

/// Prepares a training run. Error: after the report of a missed deadline.
Expected<std::unique_ptr<Training>> prepareTraining(const Options &options,
                                                    const Engine &engine,
                                                    FileWatch &files,
                                                    HangHandler &hang) {
  Expected<std::unique_ptr<Training>> training = Training::create(
      options, engine.anyCluster(), files, engine.coordinator.get());
  if (!training) {
    hang.runReturned();
    printFailure(training.status());
  }
  return training;
}

/// Its threads do not get signals.
Expected<std::shared_ptr<TransportFactory>>
openWithoutSignals(const std::string &transport) {
  SignalsBlocked inItsThreads;
  return openTransport(transport);
}

/// Checks that files for the end of a run can be written, before it begins.
/// Creates no files, since there may be nothing to write.
Status checkOutputs(const Options &options) {
  for (auto [name, path] : {std::pair("--trace", options.trace),
                            std::pair("--report", options.report)}) {
    std::error_code ignored;
    if (path.empty() || std::filesystem::is_other(path, ignored))
      continue;
    if (std::filesystem::is_directory(path, ignored))
      return invalidArgument(fmt::format(
          "{}: expected a file, found the folder '{}'", name, path));
    if (Expected<AtomicFile> file = AtomicFile::create(path); !file)
      return file.status().withContext(name);
  }
  return Status::success();
}

int fail(const Status &status) {
  printError(status.message());
  return exitError;
}

} // namespace

int main(int argc, char **argv) {
  lockstep::tools::endWhenOutOfMemory("lockstep-run");
  std::variant<Options, int> parsed = parseOptions(argc, argv);
  if (const int *status = std::get_if<int>(&parsed))
    return *status;
  const Options &options = std::get<Options>(parsed);

  if (Status status = checkOutputs(options); !status.ok())
    return fail(status);
  FileWatch files = watchFiles(options);
  if (!files.status().ok())
    return fail(files.status());
  Expected<std::shared_ptr<const Artifact>> artifact =
      openArtifact(options, files);
  if (!artifact)
    return fail(artifact.status());
  Expected<std::shared_ptr<TransportFactory>> transport =
      openWithoutSignals(options.transport);
  if (!transport)
    return fail(transport.status().withContext("'" + options.model + "'"));
  const ProcessPlace place = (*transport)->place();
  setProcess(place.index, place.count);
  HangHandler hang(fileOfProcess(options.report, place));
  InjectedFaults faults;
  Expected<Engine> engine =
      Engine::create(*artifact, options, *transport, hang, faults);
  if (!engine) {
    int status = fail(engine.status().withContext("'" + options.model + "'"));
    // Others may not be able to hear of it: mpirun ends them.
    if (place.count > 1)
      _exit(status);
    return status;
  }
  if (engine->cluster)
    files.setBeat([&] { engine->cluster->beat(); });
  if (Status same = compareOptions(options, engine->anyCluster()); !same.ok()) {
    hang.runReturned();
    printFailure(same);
    return end(same, *engine, **transport);
  }
  if (!options.inputs.empty()) {
    Status status = runSingleStep(options, *engine, hang, files);
    if (!leavesKernels(status))
      faults.printMissing(options.injections, engine->anyCluster());
    return end(status, *engine, **transport);
  }
  Expected<std::unique_ptr<Training>> training =
      prepareTraining(options, *engine, files, hang);
  if (!training)
    return end(training.status(), *engine, **transport);

  // While one asynchronous worker hangs, others may be inside of a step.
  if (!engine->coordinator)
    hang.setBeforeExit([&] {
      (*training)->saveAfterFailure();
      // The first process may still be saving.
      if (place.index != 0)
        (*transport)->leave();
    });
  Status status =
      untilSignals(options, *engine, hang, [&] { return (*training)->run(); });
  if (!status.ok()) {
    printFailure(status);
    (*training)->saveAfterFailure();
  }
  if (!options.trace.empty()) {
    if (Status written = engine->writeTrace(); !written.ok())
      printError(written.message());
  }
  if (status.ok() && place.index == 0) {
    (*training)->printSummary();
    engine->printServerTraffic();
  }
  if (!leavesKernels(status))
    faults.printMissing(options.injections, engine->anyCluster());
  return end(status, *engine, **transport);
}
