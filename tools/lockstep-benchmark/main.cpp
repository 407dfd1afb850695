//===- main.cpp - lockstep-benchmark: measures this machine ---------------===//

#include "runtime/checkpoint/AtomicFile.h"
#include "tools/lockstep-benchmark/Calibration.h"
#include "tools/support/Numbers.h"
#include "tools/support/OutOfMemory.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>

using namespace lockstep::tools;
using lockstep::runtime::AtomicFile;
using lockstep::runtime::Expected;
using lockstep::runtime::Status;

namespace {

/// As in lockstep-run.
enum ExitStatus : int { exitSuccess = 0, exitError = 1, exitUsage = 2 };

int fail(const std::string &message, ExitStatus status = exitError) {
  fmt::print(stderr, "lockstep-benchmark: error: {}\n", message);
  return status;
}

Status calibrate(const CalibrationOptions &options, AtomicFile &output) {
  Expected<Calibration> found = Calibration::measure(options);
  if (!found)
    return found.status();
  std::string json = found->toJson(), text = found->toText();
  LOCKSTEP_RETURN_IF_ERROR(
      output.write(std::as_bytes(std::span(json.data(), json.size()))));
  LOCKSTEP_RETURN_IF_ERROR(output.commit());
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
      std::fflush(stdout) != 0)
    return lockstep::runtime::systemError("cannot write the result");
  return Status::success();
}

} // namespace

int main(int argc, char **argv) {
  endWhenOutOfMemory("lockstep-benchmark");
  CalibrationOptions options;
  std::string output;
  bool calibrates = false;
  CLI::App app("Measures this machine, and writes a topology with which the "
               "compiler and lockstep-simulate estimate the time of steps.",
               "lockstep-benchmark");
  app.add_option("artifacts", options.artifacts,
                 "compiled steps whose kernels are measured (.lockstep)")
      ->required();
  app.add_flag("--calibrate", calibrates,
               "measure kernels, collectives, memory and steps")
      ->required();
  app.add_option("-o", output, "topology to write (JSON)")
      ->type_name("FILE")
      ->required();
  app.add_option("--replicas", options.replicas,
                 "numbers of replicas whose collectives are measured "
                 "(default: 2,4,8)")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->check(CLI::Range(uint32_t(2), uint32_t(1024)));
  app.add_option("--device", options.placement.device,
                 "where programs are executed: cpu, or the name of a plugin "
                 "(default: LOCKSTEP_DEVICE of the environment, else cpu)")
      ->type_name("DEVICE");
  app.add_flag("--separate", options.placement.isSeparate,
               "measure the collectives of replicas that have an executor, and "
               "a device, of their own");
  app.add_option("--transport", options.placement.transport,
                 "with --separate, how executors reach each other (default: "
                 "LOCKSTEP_TRANSPORT of the environment, else threads)")
      ->type_name("NAME");
  app.add_option("--name", options.name,
                 "name of the topology (default: calibrated)")
      ->type_name("NAME");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return app.exit(error);
    return fail(describeUsageError(error.what()), exitUsage);
  }
  if (options.name.empty())
    return fail("--name: expected a text that is not empty (see --help)",
                exitUsage);
  if (!options.placement.transport.empty() && !options.placement.isSeparate)
    return fail("--transport: expected --separate, too (see --help)",
                exitUsage);
  // An output that cannot be written should not cost a measurement.
  Expected<AtomicFile> file = AtomicFile::create(output);
  if (!file)
    return fail(file.status().message());
  Status status = calibrate(options, *file);
  return status.ok() ? exitSuccess : fail(status.message());
}
