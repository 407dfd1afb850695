//===- main.cpp - lockstep-verify: shows proofs ---------------------------===//

#include "tools/lockstep-verify/Summary.h"
#include "tools/support/Compile.h"
#include "tools/support/Numbers.h"
#include "tools/support/OutOfMemory.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace lockstep::verify;
using lockstep::runtime::Artifact;
using lockstep::runtime::StatusCode;

namespace {

enum ExitStatus : int { exitProven = 0, exitUnproven = 1, exitError = 2 };

int fail(const std::string &message, ExitStatus status) {
  fmt::print(stderr, "lockstep-verify: error: {}\n", message);
  return status;
}

bool print(const std::string &text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

/// An empty file, until it goes out of scope.
class TemporaryFile {
public:
  TemporaryFile() {
    std::error_code error;
    name =
        (std::filesystem::temp_directory_path(error) / "lockstep-verify-XXXXXX")
            .string();
    descriptor = error ? -1 : mkstemp(name.data());
  }
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile() {
    if (!valid())
      return;
    close(descriptor);
    unlink(name.c_str());
  }
  bool valid() const { return descriptor >= 0; }
  const std::string &path() const { return name; }

private:
  std::string name;
  int descriptor = -1;
};

} // namespace

int main(int argc, char **argv) {
  lockstep::tools::endWhenOutOfMemory("lockstep-verify");
  std::string file, strategy, partitioner, optimization;
  int64_t replicas = 0, servers = 0;
  bool json = false;

  CLI::App app("Proves that the replicas of a program do not wait for each "
               "other forever, and shows how, or how they do.",
               "lockstep-verify");
  app.add_option("file", file, "program (.mlir) or artifact (.lockstep)")
      ->required();
  app.add_flag("--json", json, "print JSON");
  app.add_option("--replicas", replicas,
                 "number of replicas, for an .mlir that does not say it")
      ->check(lockstep::tools::atLeast<int64_t>(1));
  app.add_option("--strategy", strategy,
                 "kind of the strategy, for an .mlir that does not say it")
      ->type_name("KIND");
  app.add_option(
         "--servers", servers,
         "number of parameter servers, for an .mlir that does not say it")
      ->check(lockstep::tools::atLeast<int64_t>(1));
  app.add_option("--partitioner", partitioner,
                 "how variables are split over servers, for an .mlir that does "
                 "not say it")
      ->type_name("RULE");
  app.add_option("-O", optimization, "optimization level of an .mlir: 0 or 2")
      ->check(CLI::IsMember({"0", "2"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return app.exit(error);
    return fail(lockstep::tools::describeUsageError(error.what()), exitError);
  }

  std::string path = file;
  if (lockstep::tools::needsCompilation(file)) {
    // Programs without a proof are shown, too.
    std::vector<std::string> flags = {"--allow-unproven", "--find-examples"};
    if (replicas)
      flags.push_back(fmt::format("--replicas={}", replicas));
    if (!strategy.empty())
      flags.push_back("--strategy=" + strategy);
    if (servers)
      flags.push_back(fmt::format("--servers={}", servers));
    if (!partitioner.empty())
      flags.push_back("--partitioner=" + partitioner);
    if (!optimization.empty())
      flags.push_back("-O" + optimization);
    TemporaryFile errors;
    if (!errors.valid())
      return fail(
          fmt::format("cannot make a temporary file: {}", std::strerror(errno)),
          exitError);
    auto compiled = lockstep::tools::compileModel(
        file, flags, {"--errors=" + errors.path()});
    if (!compiled && compiled.status().code() == StatusCode::invalidArgument) {
      Refusal refusal =
          describeRefusal(file, errors.path(), compiled.status().message());
      if (json && !print(refusal.json))
        return fail("cannot write to the standard output", exitError);
      return fail(compiled.status().message(),
                  refusal.isVerdict ? exitUnproven : exitError);
    }
    if (!compiled)
      return fail(compiled.status().message(), exitError);
    path = *compiled;
  } else if (replicas || servers || !strategy.empty() || !partitioner.empty() ||
             !optimization.empty()) {
    return fail(fmt::format("expected an .mlir for options of the compiler, "
                            "found the artifact '{}'",
                            file),
                exitError);
  }
  auto artifact = Artifact::open(path, {.allowUnproven = true});
  if (!artifact)
    return fail(artifact.status().message(), exitError);
  auto programs = summarize((*artifact)->tables());
  if (!programs)
    return fail(programs.status().message(), exitError);
  std::string text = json ? toJson(*programs, file) : toText(*programs, file);
  if (!print(text))
    return fail("cannot write to the standard output", exitError);
  bool proven = std::all_of(
      programs->begin(), programs->end(),
      [](const ProgramSummary &program) { return program.isProven(); });
  return proven ? exitProven : exitUnproven;
}
