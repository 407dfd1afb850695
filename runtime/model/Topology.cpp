//===- Topology.cpp -------------------------------------------------------===//

#include "runtime/model/Topology.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace lockstep::runtime {

using nlohmann::json;

namespace {

struct Preset {
  const char *name, *text;
};

/// The files in topologies/, by name.
constexpr Preset presetTable[] = {
#include "runtime/model/TopologyPresets.inc"
};

constexpr const char *algorithmNames[] = {"direct", "ring-or-tree"};

/// Reads the members of one JSON object, and remembers which ones it has read.
class ObjectReader {
public:
  /// `path` precedes the keys in messages: "", or "levels[0].".
  ObjectReader(const json &object, std::string path)
      : object(object), path(std::move(path)) {}

  Status fail(std::string_view key, std::string_view expected) const {
    auto found = object.find(std::string(key));
    return invalidArgument(
        fmt::format("'{}{}': expected {}, found {}", path, key, expected,
                    found == object.end() ? "nothing" : textOf(*found)));
  }

  /// A value in a message. Lists and objects are not printed: they may be
  /// nested deeply.
  static std::string textOf(const json &value) {
    if (value.is_structured())
      return fmt::format("an {}{}", value.is_array() ? "array" : "object",
                         value.empty() ? " without elements" : "");
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  /// As `readPositive`, if the key exists.
  Status readOptional(const char *key, double &value) {
    return object.contains(key) ? readPositive(key, value)
                                : (find(key), Status::success());
  }

  Status readPositive(const char *key, double &value) {
    const json *found = find(key);
    // With rates and times in this range, the time of no step is infinite.
    constexpr double least = 1e-30, most = 1e30;
    if (!found || !found->is_number() || !(found->get<double>() > 0) ||
        !std::isfinite(found->get<double>()))
      return fail(key, "a positive number");
    if (found->get<double>() < least || found->get<double>() > most)
      return fail(key, fmt::format("a number from {} to {}", least, most));
    value = found->get<double>();
    return Status::success();
  }

  Status readSize(const char *key, uint64_t &value) {
    const json *found = find(key);
    if (!found)
      return Status::success();
    if (!found->is_number_unsigned() || found->get<uint64_t>() == 0)
      return fail(key, "a positive integer");
    value = found->get<uint64_t>();
    return Status::success();
  }

  Status readText(const char *key, std::string &value) {
    const json *found = find(key);
    if (!found || !found->is_string() || found->get<std::string>().empty())
      return fail(key, "a text that is not empty");
    value = found->get<std::string>();
    return Status::success();
  }

  Status readBoolean(const char *key, bool &value) {
    const json *found = find(key);
    if (!found || !found->is_boolean())
      return fail(key, "true or false");
    value = found->get<bool>();
    return Status::success();
  }

  const json *find(const char *key) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      known.push_back(key);
    auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }

  /// Error: a key that was not read.
  Status checkKeys() const {
    for (const auto &[key, value] : object.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        return invalidArgument(
            fmt::format("'{}{}': expected one of the keys {}", path, key,
                        fmt::join(known, ", ")));
    return Status::success();
  }

private:
  const json &object;
  std::string path;
  std::vector<std::string> known;
};

} // namespace

/// The first error among the statuses, or success.
static Status firstError(std::initializer_list<Status> statuses) {
  for (const Status &status : statuses)
    if (!status.ok())
      return status;
  return Status::success();
}

static Status readCompute(ObjectReader &parent, ComputeRates &rates) {
  const json *object = parent.find("compute");
  if (!object || !object->is_object())
    return parent.fail("compute", "an object");
  ObjectReader reader(*object, "compute.");
  return firstError(
      {reader.readPositive("flops_per_second", rates.flopsPerSecond),
       reader.readPositive("bytes_per_second", rates.bytesPerSecond),
       reader.readPositive("launch_seconds", rates.launchSeconds),
       reader.checkKeys()});
}

/// Replicas that do not share the cores have a link.
static Status readStreams(ObjectReader &parent, uint64_t &streams) {
  if (Status read = parent.readSize("streams", streams); !read.ok())
    return read;
  return streams <= kMaxStreams
             ? Status::success()
             : parent.fail("streams",
                           fmt::format("an integer from 1 to {}", kMaxStreams));
}

/// These keys exist only where replicas share the cores; the last four have
/// defaults.
static Status readCores(ObjectReader &parent, Topology &topology) {
  Status status =
      parent.readBoolean("reduces_on_compute", topology.reducesOnCompute);
  if (!status.ok())
    return status;
  if (!topology.reducesOnCompute)
    return readStreams(parent, topology.streams);
  for (auto [key, value] : {std::pair{"cores", &topology.cores},
                            std::pair{"cache_bytes", &topology.cacheBytes}}) {
    if (!parent.find(key))
      return parent.fail(key, "a positive integer");
    if (Status read = parent.readSize(key, *value); !read.ok())
      return read;
  }
  return firstError(
      {parent.readOptional("cache_bytes_per_second",
                           topology.cacheBytesPerSecond),
       parent.readOptional("memory_bytes_per_second",
                           topology.memoryBytesPerSecond),
       parent.readOptional("rendezvous_seconds", topology.rendezvousSeconds),
       parent.readOptional("step_seconds", topology.stepSeconds)});
}

static Status readLevels(ObjectReader &parent,
                         std::vector<TopologyLevel> &levels) {
  const json *list = parent.find("levels");
  if (!list || !list->is_array() || list->empty())
    return parent.fail("levels", "a list that is not empty");
  for (size_t i = 0; i < list->size(); ++i) {
    if (!(*list)[i].is_object())
      return invalidArgument(
          fmt::format("'levels[{}]': expected an object, found {}", i,
                      ObjectReader::textOf((*list)[i])));
    ObjectReader reader((*list)[i], fmt::format("levels[{}].", i));
    TopologyLevel level;
    double bytesPerSecond = 0;
    Status status =
        firstError({reader.readText("name", level.name),
                    reader.readSize("size", level.size),
                    reader.readPositive("latency_seconds", level.link.latency),
                    reader.readPositive("bytes_per_second", bytesPerSecond),
                    reader.checkKeys()});
    if (!status.ok())
      return status;
    if (level.size == 0 && i + 1 < list->size())
      return reader.fail("size", "a positive integer in all levels but the "
                                 "last one");
    level.link.secondsPerByte = 1 / bytesPerSecond;
    levels.push_back(std::move(level));
  }
  return Status::success();
}

static Status readAlgorithm(ObjectReader &parent,
                            ExchangeAlgorithm &algorithm) {
  const json *name = parent.find("algorithm");
  const auto *found = std::find_if(
      std::begin(algorithmNames), std::end(algorithmNames),
      [&](const char *known) {
        return name && name->is_string() && name->get<std::string>() == known;
      });
  if (found == std::end(algorithmNames))
    return parent.fail(
        "algorithm", fmt::format("one of {}", fmt::join(algorithmNames, ", ")));
  algorithm = ExchangeAlgorithm(found - std::begin(algorithmNames));
  return Status::success();
}

Expected<Topology> Topology::parse(std::string_view text) {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return invalidArgument("expected a JSON object");
  ObjectReader reader(object, "");
  Topology topology;
  reader.find("sources");
  Status status = firstError(
      {reader.readText("name", topology.name),
       readCompute(reader, topology.compute), readCores(reader, topology),
       readAlgorithm(reader, topology.algorithm),
       readLevels(reader, topology.levels), reader.checkKeys()});
  if (!status.ok())
    return status;
  if (topology.algorithm == ExchangeAlgorithm::direct &&
      topology.levels.size() > 2)
    return invalidArgument(fmt::format(
        "'levels': expected at most 2 with the algorithm 'direct', on a host "
        "and between hosts, found {}",
        topology.levels.size()));
  return topology;
}

std::string Topology::toJson() const {
  json levelList = json::array();
  for (const TopologyLevel &level : levels) {
    json object = {{"name", level.name},
                   {"latency_seconds", level.link.latency},
                   {"bytes_per_second", 1 / level.link.secondsPerByte}};
    if (level.size)
      object["size"] = level.size;
    levelList.push_back(std::move(object));
  }
  json object = {{"name", name},
                 {"compute",
                  {{"flops_per_second", compute.flopsPerSecond},
                   {"bytes_per_second", compute.bytesPerSecond},
                   {"launch_seconds", compute.launchSeconds}}},
                 {"reduces_on_compute", reducesOnCompute},
                 {"algorithm", algorithmNames[size_t(algorithm)]},
                 {"levels", std::move(levelList)}};
  if (streams > 1)
    object["streams"] = streams;
  if (reducesOnCompute) {
    object["cores"] = cores;
    object["cache_bytes"] = cacheBytes;
    if (cacheBytesPerSecond > 0)
      object["cache_bytes_per_second"] = cacheBytesPerSecond;
    if (std::isfinite(memoryBytesPerSecond))
      object["memory_bytes_per_second"] = memoryBytesPerSecond;
    if (rendezvousSeconds > 0)
      object["rendezvous_seconds"] = rendezvousSeconds;
    if (stepSeconds > 0)
      object["step_seconds"] = stepSeconds;
  }
  return object.dump();
}

std::span<const char *const> Topology::presets() {
  static const std::vector<const char *> names = [] {
    std::vector<const char *> all;
    for (const Preset &preset : presetTable)
      all.push_back(preset.name);
    return all;
  }();
  return names;
}

Expected<Topology> Topology::preset(std::string_view name) {
  for (const Preset &preset : presetTable)
    if (preset.name == name)
      return parse(preset.text);
  return invalidArgument(fmt::format("topology '{}': expected one of {}", name,
                                     fmt::join(presets(), ", ")));
}

Expected<Topology> Topology::load(const std::string &nameOrPath) {
  for (const char *name : presets())
    if (nameOrPath == name)
      return preset(name);
  // Streams of the standard library throw if the path is that of a folder.
  std::FILE *file = std::fopen(nameOrPath.c_str(), "rb");
  std::string text;
  char part[4096];
  size_t count = 0;
  while (file && (count = std::fread(part, 1, sizeof(part), file)) > 0)
    text.append(part, count);
  int error = file && !std::ferror(file) ? 0 : errno;
  if (file)
    std::fclose(file);
  if (error)
    return systemError(fmt::format(
        "topology '{}': expected one of {}, or a file that can be read: {}",
        nameOrPath, fmt::join(presets(), ", "), std::strerror(error)));
  Expected<Topology> topology = parse(text);
  if (!topology)
    return topology.status().withContext(nameOrPath);
  return topology;
}

} // namespace lockstep::runtime
