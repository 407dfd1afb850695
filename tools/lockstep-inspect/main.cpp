//===- main.cpp - lockstep-inspect: shows what is in an artifact ----------===//

#include "tools/lockstep-inspect/Comparison.h"
#include "tools/lockstep-inspect/Sections.h"
#include "tools/support/Numbers.h"
#include "tools/support/OutOfMemory.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstring>

using namespace lockstep::inspect;
using lockstep::runtime::Artifact;
using lockstep::runtime::Status;
using lockstep::runtime::VerifyOptions;

namespace {

/// As in lockstep-run.
enum ExitStatus : int { exitSuccess = 0, exitError = 1, exitUsage = 2 };

int fail(const std::string &message, ExitStatus status = exitError) {
  fmt::print(stderr, "lockstep-inspect: error: {}\n", message);
  return status;
}

/// Writes to `path`, or to the standard output if it is "-".
Status write(const std::string &path, const std::string &text) {
  bool standard = path == "-";
  std::FILE *file = standard ? stdout : std::fopen(path.c_str(), "wb");
  if (!file)
    return lockstep::runtime::systemError(
        fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  written = (standard ? std::fflush(file) : std::fclose(file)) == 0 && written;
  if (!written)
    return lockstep::runtime::systemError(
        fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  return Status::success();
}

/// The code of the kernels for a target: a shared object, or the text of PTX.
/// Error: the artifact has none.
lockstep::runtime::Expected<std::string> readCode(const Artifact &artifact,
                                                  const std::string &target) {
  std::vector<std::string> names;
  if (const auto *binaries = artifact.tables().binaries())
    for (const auto *binary : *binaries) {
      if (binary->target()->string_view() == target) {
        std::span<const std::byte> code = artifact.segment(binary->segment());
        return std::string(reinterpret_cast<const char *>(code.data()),
                           code.size());
      }
      names.push_back("'" + binary->target()->str() + "'");
    }
  return lockstep::runtime::invalidArgument(fmt::format(
      "expected a target of the artifact ({}), found '{}'",
      names.empty() ? "it has none" : fmt::format("{}", fmt::join(names, ", ")),
      target));
}

} // namespace

int main(int argc, char **argv) {
  lockstep::tools::endWhenOutOfMemory("lockstep-inspect");
  std::string file, format = "text", output = "-";
  std::optional<std::string> trust, trace, code, assembler;
  std::vector<std::string> shown;
  std::map<std::string, Section> sections;
  for (auto [name, section] : sectionNames)
    sections[name] = section;

  CLI::App app("Shows what is in an artifact: its schedule, collectives, "
               "memory, kernels and remarks.",
               "lockstep-inspect");
  app.add_option("artifact", file, "artifact (.lockstep)")->required();
  app.add_option("--format", format, "text (default), json or html")
      ->check(CLI::IsMember({"text", "json", "html"}));
  app.add_option("--show", shown,
                 "sections of the text: summary, simulation, schedule, "
                 "collectives, memory, kernels, remarks (default: all)")
      ->type_name("SECTION,...")
      ->delimiter(',')
      ->check(CLI::IsMember(sections));
  app.add_option("--trust", trust,
                 "show only what one of the Ed25519 public keys in this PEM "
                 "file has signed")
      ->type_name("FILE");
  app.add_option("--compare", trace,
                 "print where this trace of lockstep-run or lockstep-simulate "
                 "and the simulation differ")
      ->type_name("TRACE");
  app.add_option("--code", code,
                 "write the code of the kernels for this target: a shared "
                 "object, or PTX")
      ->type_name("TARGET");
  app.add_option("--ptxas", assembler,
                 "NVIDIA's assembler, which says what registers the code for "
                 "GPUs needs")
      ->type_name("PROGRAM");
  app.add_option("-o", output, "file to write")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return app.exit(error);
    return fail(lockstep::tools::describeUsageError(error.what()), exitUsage);
  }

  if (trace && (format == "html" || !shown.empty()))
    return fail("--compare: expected --format=text or json and no --show",
                exitUsage);

  if (code && (format != "text" || !shown.empty() || trace))
    return fail("--code: expected no --format, --show and --compare",
                exitUsage);
  if (assembler && (code || trace))
    return fail("--ptxas: expected no --code and --compare", exitUsage);

  VerifyOptions options{.allowUnproven = true};
  if (trust) {
    auto keys = lockstep::runtime::readPublicKeys(*trust);
    if (!keys)
      return fail(keys.status().withContext("--trust").message());
    options.trustedKeys = std::move(*keys);
  }
  auto artifact = Artifact::open(file, options);
  if (!artifact)
    return fail(artifact.status().message());
  if (code) {
    auto bytes = readCode(**artifact, *code);
    if (!bytes)
      return fail(bytes.status().withContext("--code").message());
    Status status = write(output, *bytes);
    return status.ok() ? exitSuccess : fail(status.message());
  }
  Inspection inspection = inspect(**artifact, file);
  bool showsKernels = shown.empty() || std::find(shown.begin(), shown.end(),
                                                 "kernels") != shown.end();
  if (assembler && !showsKernels)
    return fail("--ptxas: expected --show=kernels", exitUsage);
  if (showsKernels && !trace) {
    auto gpuCode = inspectGpuCode(**artifact, assembler);
    if (!gpuCode)
      return fail(gpuCode.status().message());
    if (assembler && gpuCode->empty())
      return fail(
          "--ptxas: expected code for GPUs in the artifact, found none");
    inspection.gpuCode = std::move(*gpuCode);
  }
  std::string text;
  if (trace) {
    auto run = readTrace(*trace, **artifact, inspection);
    if (!run)
      return fail(run.status().message());
    auto comparisons = compare(inspection, *run);
    if (!comparisons)
      return fail(comparisons.status().message());
    text = format == "json" ? toJson(*comparisons, *trace)
                            : toText(*comparisons, *trace);
  } else if (format == "json") {
    text = toJson(inspection);
  } else if (format == "html") {
    text = toHtml(inspection);
  } else {
    std::set<Section> chosen;
    for (const auto &[name, section] : sections)
      if (shown.empty() ||
          std::find(shown.begin(), shown.end(), name) != shown.end())
        chosen.insert(section);
    text = toText(inspection, chosen);
  }
  if (Status status = write(output, text); !status.ok())
    return fail(status.message());
  return exitSuccess;
}
