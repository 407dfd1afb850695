//===- GpuCode.cpp - what the code for GPUs needs of a GPU ----------------===//

#include "tools/lockstep-inspect/GpuCode.h"

#include "runtime/artifact/GpuSymbols.h"
#include "tools/support/Process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

namespace lockstep::inspect {

namespace fs = std::filesystem;
using runtime::Artifact;
using runtime::Expected;
using runtime::Status;

namespace {

/// What multiprocessors of a target have.
struct Multiprocessor {
  int64_t threads = 2048, blocks = 32, registers = 65536, sharedBytes = 0;
};

/// From the table "Technical Specifications per Compute Capability" of the CUDA
/// C++ Programming Guide.
Multiprocessor lookupMultiprocessor(std::string_view target) {
  return {.sharedBytes = (target == "sm_80" ? 164 : 228) << 10};
}

/// The fraction of the threads of a multiprocessor that blocks of this kind can
/// occupy at the same time.
double computeOccupancy(const Multiprocessor &gpu, int64_t threads,
                        int64_t registers, int64_t sharedBytes) {
  constexpr int64_t warp = 32, registerUnit = 256, reservedBytes = 1024;
  if (threads <= 0 || registers < 0 || sharedBytes < 0)
    return 0;
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

/// The lines of a text.
std::vector<std::string> splitLines(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

std::optional<uint64_t> parseNumber(std::string_view text) {
  uint64_t number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// `NAME[SIZE]` in a declaration of PTX.
struct ArrayName {
  std::string_view name;
  uint64_t size = 0;
};

std::optional<ArrayName> parseArray(std::string_view line) {
  size_t bracket = line.find('[');
  if (bracket == std::string_view::npos)
    return std::nullopt;
  size_t space = line.substr(0, bracket).find_last_of(" \t");
  auto size = parseNumber(line.substr(bracket + 1));
  if (space == std::string_view::npos || !size)
    return std::nullopt;
  return ArrayName{line.substr(space + 1, bracket - space - 1), *size};
}

/// The blocks and threads of each launch, of the bytes that PTX lists; those
/// that are zero at the end are left out. None if it lists something else.
std::optional<std::vector<std::pair<int64_t, int64_t>>>
parseLaunches(std::string_view line, uint64_t size) {
  constexpr uint64_t pairBytes = 16;
  size_t open = line.find('{');
  // A launch has a block, so that one of its bytes is in the list.
  if (open == std::string_view::npos || size > pairBytes * line.size())
    return std::nullopt;
  std::vector<uint8_t> bytes(size, 0);
  size_t i = 0;
  for (std::string_view left = line.substr(open + 1); i < size;) {
    std::optional<uint64_t> byte = parseNumber(
        left.substr(std::min(left.find_first_not_of(' '), left.size())));
    if (!byte || *byte > UINT8_MAX)
      return std::nullopt;
    bytes[i++] = static_cast<uint8_t>(*byte);
    size_t comma = left.find(',');
    if (comma == std::string_view::npos)
      break;
    left.remove_prefix(comma + 1);
  }
  std::vector<std::pair<int64_t, int64_t>> launches(size / pairBytes);
  for (size_t k = 0; k < launches.size(); ++k) {
    std::memcpy(&launches[k].first, &bytes[pairBytes * k], 8);
    std::memcpy(&launches[k].second, &bytes[pairBytes * k + 8], 8);
  }
  return launches;
}

/// Calls `body` for the identifiers of a line.
template <typename Body> void forWords(std::string_view line, Body body) {
  auto isPart = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
  };
  for (size_t i = 0; i < line.size();) {
    size_t begin = i;
    while (i < line.size() && isPart(line[i]))
      ++i;
    if (i > begin)
      body(line.substr(begin, i - begin));
    else
      ++i;
  }
}

/// The launches of all kernels in a PTX module, as the compiler has written it.
/// Error: it has not.
Expected<std::vector<GpuLaunchInfo>> parseModule(const std::string &text) {
  std::vector<GpuLaunchInfo> launches;
  std::map<std::string, uint64_t, std::less<>> sharedBytes;
  // Of each function, the shared memory that it names.
  std::map<std::string, std::map<std::string, uint64_t>> used;
  std::string function;
  for (const std::string &line : splitLines(text)) {
    std::optional<ArrayName> array;
    if (size_t at = line.find(runtime::gpuLaunchesSuffix);
        at != std::string::npos && line.find(".global") != std::string::npos) {
      array = parseArray(line);
      auto grids = array ? parseLaunches(line, array->size) : std::nullopt;
      if (!grids)
        return runtime::corrupted(
            fmt::format("expected the launches of a kernel in PTX, found '{}'",
                        line.substr(0, 80)));
      std::string symbol(array->name.substr(
          0, array->name.size() - runtime::gpuLaunchesSuffix.size()));
      for (uint32_t k = 0; k < grids->size(); ++k)
        if (auto [blocks, threads] = (*grids)[k]; blocks > 0)
          launches.push_back(
              {runtime::gpuPhaseSymbol(symbol, k), blocks, threads, 0, {}, {}});
    } else if (line.find(".shared") != std::string::npos &&
               (array = parseArray(line)) && line.ends_with("];")) {
      sharedBytes[std::string(array->name)] = array->size;
    } else if (size_t entry = line.find(".entry ");
               entry != std::string::npos) {
      function = line.substr(entry + 7, line.find('(') - entry - 7);
    } else if (line.find("$shared") != std::string::npos) {
      forWords(line, [&](std::string_view word) {
        if (auto found = sharedBytes.find(word); found != sharedBytes.end())
          used[function][found->first] = found->second;
      });
    }
  }
  for (GpuLaunchInfo &launch : launches)
    for (const auto &[name, bytes] : used[launch.function])
      launch.sharedBytes += bytes;
  return launches;
}

/// What `ptxas -v` has printed, by functions.
std::map<std::string, AssemblyInfo> parseReport(const std::string &text) {
  auto after = [](std::string_view line, std::string_view mark) {
    size_t at = line.find(mark);
    return at == std::string_view::npos ? std::optional<std::string_view>()
                                        : line.substr(at + mark.size());
  };
  std::map<std::string, AssemblyInfo> found;
  AssemblyInfo *current = nullptr;
  for (const std::string &line : splitLines(text)) {
    if (auto name = after(line, "Compiling entry function '"))
      current = &found[std::string(name->substr(0, name->find('\'')))];
    if (!current)
      continue;
    if (auto used = after(line, "Used "))
      current->registers = uint32_t(parseNumber(*used).value_or(0));
    if (auto frame = after(line, "bytes stack frame, "))
      current->spilledBytes = uint32_t(parseNumber(*frame).value_or(0));
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
    GpuCodeInfo code{target, {}};
    LOCKSTEP_RETURN_IF_ERROR(parseModule(module).moveTo(code.launches));
    if (assembler) {
      auto report = assemble(*assembler, target, module);
      if (!report)
        return report.status().withContext("--ptxas");
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
  bool isAssembled = std::any_of(
      code.launches.begin(), code.launches.end(),
      [](const GpuLaunchInfo &launch) { return launch.assembly.has_value(); });
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
    else if (isAssembled)
      row.insert(row.end(), {"-", "-", "-"});
    table.add(row);
  }
  return table;
}

} // namespace lockstep::inspect
