//===- main.cpp - lockstep-run: trains a compiled step --------------------===//

#include "runtime/artifact/Artifact.h"
#include "runtime/executor/Session.h"
#include "tools/lockstep-run/Compile.h"
#include "tools/lockstep-run/HandInputs.h"
#include "tools/lockstep-run/Hang.h"
#include "tools/lockstep-run/Options.h"
#include "tools/lockstep-run/Signals.h"
#include "tools/lockstep-run/Training.h"

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>

using namespace lockstep::run;
using namespace lockstep::runtime;

namespace {

Expected<std::shared_ptr<const Artifact>> openArtifact(const Options &options) {
  std::string path = options.model;
  if (needsCompilation(options)) {
    Expected<std::string> compiled = compileModel(options);
    if (!compiled)
      return compiled.status();
    path = *compiled;
  } else if (!options.optimization.empty()) {
    return invalidArgument(fmt::format("expected an .mlir for -O{}, found the artifact '{}'", options.optimization, path));
  }
  Expected<std::shared_ptr<const Artifact>> artifact = Artifact::open(path);
  if (!artifact)
    return artifact.status();
  unsigned replicas = (*artifact)->tables().replicas();
  if (options.replicas && *options.replicas != replicas)
    return invalidArgument(fmt::format("'{}': compiled for {} replicas, found --replicas={} (compile "
                                       "it again, or give the .mlir)",
                                       path, replicas, *options.replicas));
  return artifact;
}

SessionOptions sessionOptions(const Options &options, HangHandler &hang) {
  SessionOptions result;
  result.workers = options.threads;
  result.target = options.target;
  result.deadline = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(options.deadlineSeconds));
  result.injections = options.injections;
  result.onInjection = [](const std::string &fault) { printNote("injected: " + fault); };
  result.onDeadline = [&hang](const DeadlineReport &report) { hang.onDeadline(report); };
  result.checkRaces = options.checkRaces;
  result.traceFile = options.trace;
  return result;
}

/// One step by hand. Like training, it may not come back from a missed deadline.
int runByHand(const Options &options, Session &session, HangHandler &hang) {
  Status status = runOnce(options, session);
  hang.runReturned();
  if (!status.ok())
    printError(status.message());
  if (status.code() == StatusCode::deadline) {
    std::fflush(nullptr);
    _exit(exitDeadline);
  }
  return status.ok() ? exitSuccess : exitError;
}

int fail(const Status &status) {
  printError(status.message());
  return exitError;
}

} // namespace

int main(int argc, char **argv) {
  std::variant<Options, int> parsed = parseOptions(argc, argv);
  if (const int *status = std::get_if<int>(&parsed))
    return *status;
  const Options &options = std::get<Options>(parsed);

  Expected<std::shared_ptr<const Artifact>> artifact = openArtifact(options);
  if (!artifact)
    return fail(artifact.status());
  HangHandler hang(options.report);
  Expected<std::unique_ptr<Session>> session = Session::create(*artifact, sessionOptions(options, hang));
  if (!session)
    return fail(session.status().withContext("'" + options.model + "'"));
  if (!options.inputs.empty())
    return runByHand(options, **session, hang);
  Expected<std::unique_ptr<Training>> training = Training::create(options, **session);
  if (!training)
    return fail(training.status());

  catchStopSignals();
  Status status = (*training)->run();
  hang.runReturned();
  if (!status.ok()) {
    // After a missed deadline the rest of the message is the report, which has been printed.
    bool reported = status.code() == StatusCode::deadline;
    printError(reported ? status.message().substr(0, status.message().find('\n')) : status.message());
    (*training)->salvage();
  }
  if (!options.trace.empty()) {
    if (Status written = (*session)->writeTrace(); !written.ok())
      printError(written.message());
  }
  if (status.code() == StatusCode::deadline) {
    // Threads may still be inside kernels that use the memory of the session: nothing is destroyed.
    std::fflush(nullptr);
    _exit(exitDeadline);
  }
  if (!status.ok())
    return exitError;
  (*training)->printSummary();
  return stopSignal() ? 128 + stopSignal() : exitSuccess;
}
