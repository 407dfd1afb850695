//===- Options.cpp - the command line of lockstep-run ---------------------===//

#include "tools/lockstep-run/Options.h"

#include "runtime/support/ProcessPlace.h"
#include "runtime/training/Messages.h"
#include "tools/support/Numbers.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace lockstep::training {

namespace {

void addOptions(CLI::App &app, Options &options) {
  app.add_option(
         "model", options.model,
         "artifact (.lockstep), or a captured step (.mlir) to compile first")
      ->required();

  app.add_option("--data", options.data,
                 "training data: an .npz file, or a folder of .npy files")
      ->type_name("PATH")
      ->group("Training");
  app.add_option("--eval-data", options.evalData,
                 "data to evaluate on, in the same form")
      ->type_name("PATH")
      ->group("Training");
  app.add_option(
         "--remainder", options.remainder,
         "examples of an epoch that do not fill a step: drop them (default), "
         "or distribute them over the replicas as one more step")
      ->type_name("drop|distribute")
      ->group("Training")
      ->check(CLI::IsMember({"drop", "distribute"}));
  app.add_option(
         "--global-batch", options.globalBatch,
         "examples of a step (default: as many as the replicas can take)")
      ->type_name("N")
      ->group("Training")
      ->check(tools::atLeast<uint64_t>(1));
  app.add_option("--init", options.init,
                 "initial values of the variables (safetensors)")
      ->type_name("FILE")
      ->group("Training");
  CLI::Option *epochs = app.add_option("--epochs", options.epochs,
                                       "train until this many epochs are done")
                            ->type_name("E")
                            ->group("Training")
                            ->check(tools::atLeast<uint64_t>(0));
  app.add_option("--steps", options.steps,
                 "train until this many steps are done")
      ->type_name("N")
      ->group("Training")
      ->excludes(epochs)
      ->check(tools::atLeast<uint64_t>(0));
  app.add_option(
         "--seed", options.seed,
         "seed of the order of the data and of the scalar 'seed' (default 0)")
      ->type_name("S")
      ->group("Training")
      ->check(tools::atLeast<uint64_t>(0));
  app.add_option("--set", options.scalars,
                 "value of a host scalar; may be repeated")
      ->type_name("NAME=VALUE")
      ->group("Training")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--eval-every", options.evalEvery,
                 "epochs between evaluations (default 1)")
      ->type_name("E")
      ->group("Training")
      ->check(tools::atLeast<uint64_t>(1));

  CLI::Option *inputs =
      app.add_option("--inputs", options.inputs,
                     "run one step or program on these arrays instead of "
                     "training, and print its results as JSON lines: "
                     "'x@0' is the input 'x' of replica 0, 'x' that of all; "
                     "batches of a program lie one after the other")
          ->type_name("FILE.npz")
          ->group("Training");
  for (const char *other : {"--data", "--eval-data", "--epochs", "--steps"})
    inputs->excludes(app.get_option(other));
  app.add_option("--program", options.program,
                 "program to run (default: step, or the only one)")
      ->type_name("NAME")
      ->group("Training");
  app.add_option("--metrics", options.metrics, "write metrics as JSON lines")
      ->type_name("FILE")
      ->group("Output");
  CLI::Option *save =
      app.add_option("--save", options.save,
                     "folder for checkpoints; one is written at the end")
          ->type_name("DIR")
          ->group("Output");
  app.add_option("--save-every", options.saveEvery, "steps between checkpoints")
      ->type_name("N")
      ->group("Output")
      ->check(tools::atLeast<uint64_t>(1))
      ->needs(save);
  app.add_option("--keep", options.keep,
                 "checkpoints that are kept: after each one, those with the "
                 "fewest steps are removed (default: all are kept)")
      ->type_name("N")
      ->group("Output")
      ->check(tools::atLeast<uint64_t>(1))
      ->needs(save);
  app.add_flag("--resume", options.resume,
               "go on from the latest checkpoint in the folder of --save, if "
               "there is one")
      ->group("Output")
      ->needs(save);

  // A single step on given inputs prints its results.
  for (const char *other : {"--metrics", "--save", "--save-every", "--keep",
                            "--resume", "--eval-every"})
    inputs->excludes(app.get_option(other));

  app.add_option(
         "--threads", options.threads,
         "worker threads of all executors together (default: one for each CPU)")
      ->type_name("W")
      ->group("Execution")
      ->check(tools::atLeast<unsigned>(1));
  app.add_option(
         "--executors", options.executors,
         "executors that the replicas are divided among, which share nothing "
         "but messages; parameter servers have their own (default: one in "
         "each process)")
      ->type_name("E")
      ->group("Execution")
      ->check(tools::atLeast<unsigned>(1));
  app.add_option("--device", options.device,
                 "where programs are executed: cpu, or the name of a plugin "
                 "(default: LOCKSTEP_DEVICE of the environment, else cpu)")
      ->type_name("DEVICE")
      ->group("Execution");
  app.add_option("--transport", options.transport,
                 "how executors reach each other: threads, or the name of a "
                 "plugin (default: LOCKSTEP_TRANSPORT of the environment, else "
                 "mpi for several processes of mpirun, else threads)")
      ->type_name("TRANSPORT")
      ->group("Execution");
  CLI::Option *workers =
      app.add_option("--workers", options.workers,
                     "workers that take steps on their own, with the same "
                     "parameter servers; for the strategy parameter_server")
          ->type_name("W")
          ->group("Execution")
          ->check(tools::atLeast<unsigned>(1));
  for (const char *other : {"--executors", "--inputs"})
    workers->excludes(app.get_option(other));
  app.add_option("--replicas", options.replicas,
                 "replicas to compile an .mlir for; checked for an artifact")
      ->type_name("N")
      ->group("Execution")
      ->check(tools::atLeast<unsigned>(1));
  app.add_option("--target", options.target,
                 "kernel target, for example x86-64-v3 (default: the best one "
                 "for the device)")
      ->type_name("T")
      ->group("Execution");
  app.add_option("--trust", options.trust,
                 "execute only artifacts that one of the Ed25519 public keys "
                 "in this PEM file has signed (default: LOCKSTEP_TRUST of the "
                 "environment names the file; any artifact if it is not set)")
      ->type_name("FILE")
      ->group("Execution");
  app.add_option("-O", options.optimization,
                 "optimization level when compiling an .mlir")
      ->type_name("0|2")
      ->group("Execution")
      ->check(CLI::IsMember({"0", "2"}));

  app.add_flag("--flush-subnormals", options.flushSubnormals,
               "replace subnormal floats by zero in all arithmetic: processors "
               "may take a hundred times as long for them")
      ->group("Execution");

  app.add_flag("--shadow-variables", options.shadowVariables,
               "keep a copy of the variables, so that the state before a step "
               "that fails can be saved")
      ->group("Diagnosis")
      ->excludes(workers);
  app.add_flag("--no-recording", options.noRecording,
               "on a GPU, enqueue each command of each step, instead of "
               "graphs of what has occurred before")
      ->group("Diagnosis");
  app.add_option("--check-mirrored", options.checkMirrored,
                 "compare the copies that executors have of mirrored variables "
                 "after every N steps")
      ->type_name("N")
      ->group("Diagnosis")
      ->excludes(workers)
      ->check(tools::atLeast<uint64_t>(1));
  app.add_option(
         "--deadline", options.deadlineSeconds,
         "give up after this many seconds without progress (default 60)")
      ->type_name("SECONDS")
      ->group("Diagnosis")
      ->check([](const std::string &text) {
        double value = 0;
        bool valid =
            CLI::detail::lexical_cast(text, value) && value > 0 && value <= 1e9;
        return valid ? std::string()
                     : "expected a number of seconds above 0, found '" + text +
                           "'";
      });
  app.add_option("--report", options.report,
                 "write the report of a missed deadline as JSON")
      ->type_name("FILE")
      ->group("Diagnosis");
  app.add_option("--trace", options.trace,
                 "write a trace for Perfetto or Chrome")
      ->type_name("FILE")
      ->group("Diagnosis");
  app.add_flag("--check-races", options.checkRaces,
               "check all accesses to shared memory (slow)")
      ->group("Diagnosis")
      ->excludes(workers);
  app.add_flag("--check-finite", options.checkFinite,
               "name the first kernel or collective that makes a NaN or an "
               "infinity (slow)")
      ->group("Diagnosis");
  app.add_flag("--fill-memory", options.fillMemory,
               "before each step, fill the memory of programs with what is no "
               "number: results must not change (slow)")
      ->group("Diagnosis");
  app.add_option(
         "--inject", options.injections,
         "inject a fault, for example pause:replica=2,channel=3, or "
         "return-early, hang or nan in the launch command=7; may be repeated")
      ->type_name("FAULT")
      ->group("Diagnosis")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

} // namespace

std::variant<Options, int> parseOptions(int argc, const char *const *argv) {
  Options options;
  CLI::App app("Trains a compiled step on data.", "lockstep-run");
  app.get_formatter()->column_width(28);
  // The last occurrence of an option counts, so that a script's options can be
  // overridden by appending.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  addOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return app.exit(error);
    printError(tools::describeUsageError(error.what()));
    return exitUsage;
  }
  if (!options.epochs && !options.steps && options.inputs.empty()) {
    printError("expected --epochs=E, --steps=N or --inputs=FILE.npz, found "
               "none (see --help)");
    return exitUsage;
  }
  if (options.transport.empty() && !std::getenv("LOCKSTEP_TRANSPORT") &&
      runtime::isOneOfSeveralProcesses())
    options.transport = "mpi";
  // A transport may connect executors of several processes.
  if (options.checkMirrored && options.executors <= 1 &&
      options.transport.empty() && !std::getenv("LOCKSTEP_TRANSPORT")) {
    printError("expected several executors for --check-mirrored, found 1 (see "
               "--help)");
    return exitUsage;
  }
  return options;
}

} // namespace lockstep::training
