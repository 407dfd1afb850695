//===- KernelProfile.cpp --------------------------------------------------===//

#include "runtime/simulator/KernelProfile.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>

namespace lockstep::runtime {

using nlohmann::json;

namespace {

/// The launches of a trace.
class LaunchReader {
public:
  /// Takes over the events of a file. False: it is no trace. An event is
  /// dropped as soon as it has been read: a trace may have millions.
  bool read(std::FILE *file) {
    auto visit = [this](int depth, json::parse_event_t kind, json &value) {
      constexpr int eventDepth = 2;
      if (kind != json::parse_event_t::object_end || depth != eventDepth)
        return true;
      isTrace &= add(value);
      return false;
    };
    json rest = json::parse(file, visit, /*allow_exceptions=*/false);
    return isTrace && rest.is_object() && rest.contains("traceEvents");
  }

  /// By symbol, the microseconds of each launch.
  std::map<std::string, std::vector<double>> launches;
  /// Processes and threads that have launched kernels.
  std::set<std::pair<int64_t, int64_t>> replicas;
  /// The microseconds of the shortest launch.
  double shortest = std::numeric_limits<double>::infinity();

private:
  /// False if an event has other fields than those of `TraceFile`.
  bool add(const json &event) {
    auto text = [&](const char *key) {
      auto found = event.find(key);
      return found != event.end() && found->is_string()
                 ? found->get<std::string>()
                 : std::string();
    };
    if (text("ph") != "X" || text("cat") != "kernel")
      return true;
    auto isNumber = [&](const char *key) {
      return event.contains(key) && event[key].is_number();
    };
    if (!isNumber("pid") || !isNumber("tid") || !isNumber("dur") ||
        !(event["dur"].get<double>() >= 0) ||
        !std::isfinite(event["dur"].get<double>()))
      return false;
    shortest = std::min(shortest, event["dur"].get<double>());
    launches[text("name")].push_back(event["dur"].get<double>());
    replicas.insert({event["pid"].get<int64_t>(), event["tid"].get<int64_t>()});
    return true;
  }

  bool isTrace = true;
};

} // namespace

double medianOf(std::vector<double> times) {
  auto middle = times.begin() + ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// The mean of the launches of one kernel. Steps have many kernels, and take as
/// long as the sum of their means. It leaves out launches that were interrupted
/// or whose data was not in memory yet: those longer than twice the median.
static double typicalOf(const std::vector<double> &times) {
  double longest = 2 * medianOf(times), sum = 0;
  size_t count = 0;
  for (double time : times)
    if (time <= longest) {
      sum += time;
      ++count;
    }
  return sum / double(count);
}

Expected<KernelProfile> KernelProfile::read(const std::string &path,
                                            const Artifact &artifact) {
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
      std::fopen(path.c_str(), "rb"), std::fclose);
  // A folder can be opened, but not be read.
  int first = file ? std::fgetc(file.get()) : EOF;
  if (!file || (first == EOF && std::ferror(file.get())))
    return systemError(
        fmt::format("cannot read trace '{}': {}", path, std::strerror(errno)));
  if (first != EOF)
    std::ungetc(first, file.get());
  LaunchReader reader;
  if (!reader.read(file.get()))
    return invalidArgument(
        fmt::format("'{}': expected a trace of lockstep-run --trace", path));
  KernelProfile profile;
  profile.replicas = std::max<uint64_t>(1, reader.replicas.size());
  // What the trace itself takes: each launch has one reading of the clock.
  constexpr double mostOfClock = 0.05;
  double ofClock = std::min(reader.shortest, mostOfClock);
  const auto *kernels = artifact.tables().kernels();
  bool isEmpty = true;
  for (uint32_t i = 0; kernels && i < kernels->size(); ++i) {
    auto found = reader.launches.find(kernels->Get(i)->symbol()->str());
    bool isKnown = found != reader.launches.end();
    isEmpty &= !isKnown;
    profile.seconds.push_back(
        isKnown ? std::optional((typicalOf(found->second) - ofClock) * 1e-6)
                : std::nullopt);
  }
  if (isEmpty)
    return invalidArgument(fmt::format(
        "'{}': expected a trace with kernels of this artifact, found {}", path,
        reader.launches.empty() ? "no kernels"
                                : fmt::format("others, such as '{}'",
                                              reader.launches.begin()->first)));
  return profile;
}

} // namespace lockstep::runtime
