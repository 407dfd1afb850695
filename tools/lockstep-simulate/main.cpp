//===- main.cpp - lockstep-simulate: the time of a step at any scale ------===//

#include "tools/lockstep-simulate/SimulationText.h"

#include "runtime/simulator/StoredTopology.h"
#include "tools/support/Numbers.h"
#include "tools/support/OutOfMemory.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

using namespace lockstep::tools;
using lockstep::runtime::Artifact;
using lockstep::runtime::KernelProfile;
using lockstep::runtime::SimulationOptions;
using lockstep::runtime::Status;
using lockstep::runtime::Topology;

namespace {

/// As in lockstep-run. A simulated failure is a result, not an error.
enum ExitStatus : int { exitSuccess = 0, exitError = 1, exitUsage = 2 };

/// Of seconds and factors: such times are printed without exponents.
constexpr double largest = 1e9;

int fail(const std::string &message, ExitStatus status = exitError) {
  fmt::print(stderr, "lockstep-simulate: error: {}\n", message);
  return status;
}

/// The topology of the option, or else the one that the artifact's schedule was
/// made for.
lockstep::runtime::Expected<Topology>
chooseTopology(const Artifact &artifact, const std::string &option) {
  return option.empty() ? lockstep::runtime::storedTopology(artifact)
                        : Topology::load(option);
}

} // namespace

int main(int argc, char **argv) {
  endWhenOutOfMemory("lockstep-simulate");
  std::string file, topologyName, profileFile, trace, format = "text";
  SimulationOptions options;
  uint32_t failing = 0;

  CLI::App app("Simulates a program of an artifact: the time of a step for any "
               "number of replicas, from the cost model of a topology.",
               "lockstep-simulate");
  app.add_option("artifact", file, "artifact (.lockstep)")->required();
  app.add_option("--topology", topologyName,
                 "preset or JSON file (default: what the artifact's schedule "
                 "was made for)")
      ->type_name("PRESET|FILE");
  app.add_option("--profile", profileFile,
                 "take the times of kernels from a trace of lockstep-run")
      ->type_name("TRACE");
  app.add_option("--replicas", options.replicas,
                 "number of replicas (default: the artifact's)")
      ->type_name("N")
      ->check([](const std::string &text) {
        return checkNumber(text, 1, 1'000'000);
      });
  app.add_option("--program", options.program,
                 "program (default: 'step', or the only one)")
      ->type_name("NAME");
  app.add_option("--skew", options.delay,
                 "seconds by which one replica begins later")
      ->type_name("SECONDS")
      ->check([](const std::string &text) {
        return checkReal(text, /*mayBeZero=*/true, largest);
      });
  app.add_option("--slow", options.slowdown,
                 "how many times as long the kernels of one replica take")
      ->type_name("FACTOR")
      ->check([](const std::string &text) {
        return checkReal(text, /*mayBeZero=*/false, largest);
      });
  app.add_option("--streams", options.streams,
                 "how many collectives the link carries at once (default: as "
                 "the topology says)")
      ->type_name("N")
      ->check([](const std::string &text) {
        return checkNumber(text, 1, lockstep::runtime::kMaxStreams);
      });
  CLI::Option *fails =
      app.add_option("--fail", failing,
                     "one replica stops before it starts this channel")
          ->type_name("CHANNEL");
  app.add_option("--format", format, "text (default) or json")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("--trace", trace, "write a timeline for Perfetto and Chrome")
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return app.exit(error);
    return fail(describeUsageError(error.what()), exitUsage);
  }
  if (*fails)
    options.failingChannel = failing;

  auto artifact = Artifact::open(file, {.allowUnproven = true});
  if (!artifact)
    return fail(artifact.status().message());
  auto topology = chooseTopology(**artifact, topologyName);
  if (!topology)
    return fail(topology.status().message());
  std::optional<KernelProfile> profile;
  if (!profileFile.empty()) {
    auto read = KernelProfile::read(profileFile, **artifact);
    if (!read)
      return fail(read.status().message());
    profile = std::move(*read);
    options.profile = &*profile;
  }
  auto result = simulate(**artifact, *topology, options);
  if (!result)
    return fail(result.status().message());
  if (!trace.empty())
    if (Status status = writeSimulatedTrace(trace, **artifact, *result);
        !status.ok())
      return fail(status.message());
  std::string text = format == "json" ? toJson(*result, topology->name)
                                      : toText(*result, topology->name);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
      std::fflush(stdout) != 0)
    return fail(
        fmt::format("cannot write the result: {}", std::strerror(errno)));
  return exitSuccess;
}
