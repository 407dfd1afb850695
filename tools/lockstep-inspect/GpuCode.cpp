//===- GpuCode.cpp - what the code for GPUs needs of a GPU ----------------===//

#include "tools/lockstep-inspect/GpuCode.h"

#include "runtime/artifact/GpuSymbols.h"
#include "tools/support/Process.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

namespace lockstep::inspect {

namespace fs = std::filesystem;
using runtime::Artifact;
using runtime::Expected;
using runtime::Status;

namespace {

/// From the table "Technical Specifications per Compute Capability" of the CUDA
/// C++ Programming Guide.
Multiprocessor lookupMultiprocessor(std::string_view target) {
  return {.sharedBytes = (target == "sm_80" ? 164 : 228) << 10};
}

/// The lines of a text.
std::vector<std::string> splitLines(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

/// The blocks and threads of each launch, of the bytes that PTX lists; those
/// that are zero at the end are left out.
std::vector<std::pair<int64_t, int64_t>> parseLaunches(const std::string &list,
                                                       size_t size) {
  std::vector<uint8_t> bytes(size, 0);
  std::istringstream stream(list);
  size_t i = 0;
  for (std::string byte; std::getline(stream, byte, ',') && i < size;)
    bytes[i++] = static_cast<uint8_t>(std::strtoul(byte.c_str(), nullptr, 10));
  std::vector<std::pair<int64_t, int64_t>> launches(size / 16);
  for (size_t k = 0; k < launches.size(); ++k) {
    std::memcpy(&launches[k].first, &bytes[16 * k], 8);
    std::memcpy(&launches[k].second, &bytes[16 * k + 8], 8);
  }
  return launches;
}

/// The launches of all kernels in a PTX module, as the compiler has written it.
std::vector<GpuLaunchInfo> parseModule(const std::string &text) {
  static const std::regex array(
      R"(\.visible \.global .*\.b8 (\S+)\$launches\[(\d+)\] = \{(.*)\};)");
  static const std::regex shared(R"(\.shared .*\.b8 (\S+)\[(\d+)\];)");
  static const std::regex entry(R"(\.visible \.entry (\S+)\()");
  static const std::regex word(R"([\w$]+)");
  std::vector<GpuLaunchInfo> launches;
  std::map<std::string, uint64_t> sharedBytes;
  // Of each function, the shared memory that it names.
  std::map<std::string, std::map<std::string, uint64_t>> used;
  std::string function;
  for (const std::string &line : splitLines(text)) {
    std::smatch match;
    if (line.find("$launches[") != std::string::npos &&
        std::regex_search(line, match, array)) {
      auto grids = parseLaunches(match[3], std::stoul(match[2]));
      for (uint32_t k = 0; k < grids.size(); ++k)
        if (grids[k].first > 0)
          launches.push_back({runtime::gpuPhaseSymbol(match[1].str(), k),
                              grids[k].first,
                              grids[k].second,
                              0,
                              {},
                              {}});
    } else if (line.find(".shared") != std::string::npos &&
               std::regex_search(line, match, shared)) {
      sharedBytes[match[1]] = std::stoull(match[2]);
    } else if (line.find(".entry") != std::string::npos &&
               std::regex_search(line, match, entry)) {
      function = match[1];
    } else if (line.find("$shared") != std::string::npos) {
      for (std::sregex_iterator i(line.begin(), line.end(), word), end;
           i != end; ++i)
        if (auto found = sharedBytes.find(i->str()); found != sharedBytes.end())
          used[function][found->first] = found->second;
    }
  }
  for (GpuLaunchInfo &launch : launches)
    for (const auto &[name, bytes] : used[launch.function])
      launch.sharedBytes += bytes;
  return launches;
}

/// What `ptxas -v` has printed, by functions.
std::map<std::string, AssemblyInfo> parseReport(const std::string &text) {
  static const std::regex compiling("Compiling entry function '(.*)' for");
  static const std::regex registers(R"(Used (\d+) registers)");
  static const std::regex spilled(R"((\d+) bytes spill stores)");
  std::map<std::string, AssemblyInfo> found;
  AssemblyInfo *current = nullptr;
  for (const std::string &line : splitLines(text)) {
    std::smatch match;
    if (std::regex_search(line, match, compiling))
      current = &found[match[1]];
    if (current && std::regex_search(line, match, registers))
      current->registers = static_cast<uint32_t>(std::stoul(match[1]));
    if (current && std::regex_search(line, match, spilled))
      current->spilledBytes = static_cast<uint32_t>(std::stoul(match[1]));
  }
  return found;
}

/// A folder for temporary files, which is removed at the end.
struct TemporaryFolder {
  std::string path;

  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
};

std::string readFile(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// What ptxas says of the functions of a module.
Expected<std::map<std::string, AssemblyInfo>>
assemble(const std::string &assembler, const std::string &target,
         const std::string &module) {
  std::error_code error;
  std::string pattern =
      (fs::temp_directory_path(error) / "lockstep-inspect-XXXXXX").string();
  if (error || !mkdtemp(pattern.data()))
    return runtime::systemError(
        fmt::format("cannot create a folder for temporary files: {}",
                    error ? error.message() : std::strerror(errno)));
  TemporaryFolder folder{pattern};
  std::string source = pattern + "/module.ptx", report = pattern + "/report";
  std::ofstream file(source, std::ios::binary);
  file << module;
  file.close();
  if (!file)
    return runtime::systemError(fmt::format("cannot write '{}'", source));
  Status status = tools::runProgram(
      {assembler, "-v", "-arch=" + target, source, "-o", "/dev/null"}, report);
  std::string text = readFile(report);
  if (!status.ok())
    return runtime::invalidArgument(status.message() +
                                    (text.empty() ? "" : ": " + text));
  return parseReport(text);
}

} // namespace

double computeOccupancy(const Multiprocessor &gpu, int64_t threads,
                        int64_t registers, int64_t sharedBytes) {
  constexpr int64_t warp = 32, registerUnit = 256, reservedBytes = 1024;
  auto roundUp = [](int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
  };
  int64_t warps = roundUp(threads, warp) / warp;
  int64_t blocks = std::min(
      {gpu.blocks, gpu.threads / (warps * warp),
       gpu.registers / std::max<int64_t>(
                           warps * roundUp(registers * warp, registerUnit), 1),
       gpu.sharedBytes / (sharedBytes + reservedBytes)});
  return static_cast<double>(blocks * warps * warp) /
         static_cast<double>(gpu.threads);
}

Expected<std::vector<GpuCodeInfo>>
inspectGpuCode(const Artifact &artifact,
               const std::optional<std::string> &assembler) {
  std::vector<GpuCodeInfo> result;
  const auto *binaries = artifact.tables().binaries();
  if (!binaries)
    return result;
  for (const auto *binary : *binaries) {
    std::string target = binary->target()->str();
    if (!target.starts_with("sm_"))
      continue;
    std::span<const std::byte> bytes = artifact.segment(binary->segment());
    std::string module(reinterpret_cast<const char *>(bytes.data()),
                       bytes.size());
    GpuCodeInfo code{target, parseModule(module)};
    if (assembler) {
      auto report = assemble(*assembler, target, module);
      if (!report)
        return report.status();
      Multiprocessor gpu = lookupMultiprocessor(target);
      for (GpuLaunchInfo &launch : code.launches)
        if (auto found = report->find(launch.function);
            found != report->end()) {
          launch.assembly = found->second;
          launch.occupancy =
              computeOccupancy(gpu, launch.threads, found->second.registers,
                               static_cast<int64_t>(launch.sharedBytes));
        }
    }
    result.push_back(std::move(code));
  }
  return result;
}

tools::Table tableOf(const GpuCodeInfo &code) {
  bool isAssembled = !code.launches.empty() && code.launches[0].assembly;
  std::vector<std::string> columns = {"grid", ">blocks", ">threads",
                                      ">shared memory"};
  if (isAssembled)
    columns.insert(columns.end(), {">registers", ">spilled", ">occupancy"});
  tools::Table table(columns);
  for (const GpuLaunchInfo &launch : code.launches) {
    std::vector<std::string> row = {launch.function,
                                    fmt::format("{}", launch.blocks),
                                    fmt::format("{}", launch.threads),
                                    tools::bytesText(launch.sharedBytes)};
    if (launch.assembly)
      row.insert(row.end(),
                 {fmt::format("{}", launch.assembly->registers),
                  tools::bytesText(launch.assembly->spilledBytes),
                  tools::percentText(launch.occupancy.value_or(0), 1)});
    table.add(row);
  }
  return table;
}

} // namespace lockstep::inspect
