//===- TraceReader.cpp ----------------------------------------------------===//

#include "tools/lockstep-inspect/TraceReader.h"

#include "runtime/simulator/Simulator.h"
#include "runtime/support/JsonText.h"
#include "runtime/support/TraceFile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

namespace lockstep::inspect {

using nlohmann::json;
using runtime::Expected;
using runtime::invalidArgument;
using runtime::Status;

namespace {

constexpr const char *expectedTrace =
    "expected a trace of lockstep-run --trace or lockstep-simulate --trace";

/// The member of an object, or null.
const json &member(const json &object, const char *key) {
  static const json absent;
  auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : absent;
}

class TraceReader {
public:
  TraceReader(const runtime::Artifact &artifact, const Inspection &inspection)
      : artifact(artifact), inspection(inspection) {
    trace.programs.resize(inspection.programs.size());
  }

  Status read(const json &document) {
    const json &events = member(document, "traceEvents");
    if (!events.is_array())
      return invalidArgument(
          fmt::format("{}, found no array 'traceEvents'", expectedTrace));
    // The names of tracks may stand behind their events.
    for (const json &event : events) {
      if (member(event, "name") != "thread_name")
        continue;
      const json &args = member(event, "args"),
                 &replicas = member(args, "replicas");
      if (replicas.is_number_unsigned())
        replicaCounts[trackOf(event)] = replicas.get<uint64_t>();
      if (replicas == 0)
        return invalidArgument(
            fmt::format("{}, found a track of no replicas", expectedTrace));
      const json &name = member(args, "name");
      if (name.is_string() && runtime::isLinkLane(name.get<std::string>())) {
        linkTracks.insert(trackOf(event));
        trace.isSimulated = true;
      }
      if (name == runtime::collectivesTrack)
        collectiveTracks.insert(trackOf(event));
    }
    size_t count = 0;
    for (size_t i = 0; i < events.size(); ++i) {
      if (member(events[i], "ph") != "X")
        continue;
      ++count;
      if (Status status = add(events[i]); !status.ok())
        return status.withContext(fmt::format("event {}", i));
    }
    if (count == 0)
      return invalidArgument(
          fmt::format("{}, found no event of a command", expectedTrace));
    return Status::success();
  }

  RunTrace finish() {
    for (size_t i = 0; i < trace.programs.size(); ++i) {
      ProgramTrace &program = trace.programs[i];
      for (auto &[track, events] : tracks[i]) {
        if (linkTracks.contains(track)) {
          program.link.insert(program.link.end(), events.begin(), events.end());
          continue;
        }
        sort(events);
        if (collectiveTracks.contains(track)) {
          program.collectives.push_back({std::move(events), 1, track.first});
          continue;
        }
        program.replicas.push_back(
            {std::move(events),
             replicaCounts.try_emplace(track, 1).first->second, track.first});
      }
      sort(program.link);
    }
    return std::move(trace);
  }

private:
  static void sort(std::vector<TraceEvent> &events) {
    std::sort(events.begin(), events.end(),
              [](const TraceEvent &a, const TraceEvent &b) {
                return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
              });
  }

  /// Process and thread.
  using Track = std::pair<int64_t, int64_t>;

  static Track trackOf(const json &event) {
    auto number = [&](const char *key) {
      const json &value = member(event, key);
      return value.is_number_integer() ? value.get<int64_t>() : -1;
    };
    return {number("pid"), number("tid")};
  }

  Status add(const json &event) {
    const json &args = member(event, "args");
    const json &name = member(event, "name"), &category = member(event, "cat"),
               &begin = member(event, "ts"), &duration = member(event, "dur"),
               &program = member(args, "program"),
               &command = member(args, "command"),
               &location = member(args, "location");
    if (!name.is_string() || !category.is_string() || !begin.is_number() ||
        !duration.is_number() || duration.get<double>() < 0 ||
        !program.is_string() || !command.is_number_unsigned() ||
        !location.is_string())
      return invalidArgument(
          fmt::format("{}, found an event without name, category, time, or the "
                      "command of a program",
                      expectedTrace));
    TraceEvent result;
    if (category == "kernel" || category == "copy")
      result.kind = TraceEvent::Kind::kernel;
    else if (category == "collective")
      result.kind = TraceEvent::Kind::collective;
    else if (category == "wait")
      result.kind = TraceEvent::Kind::wait;
    else
      return invalidArgument(fmt::format(
          "category '{}': expected kernel, copy, collective or wait",
          category.get<std::string>()));
    size_t index = findProgram(program.get<std::string>());
    if (index == trace.programs.size())
      return invalidArgument(
          fmt::format("program '{}': expected one of those of the artifact, {}",
                      program.get<std::string>(), programNames()));
    if (Status status =
            check(index, command.get<uint64_t>(), result.kind,
                  name.get<std::string>(), location.get<std::string>());
        !status.ok())
      return status;
    result.command = command.get<uint32_t>();
    result.begin = begin.get<double>() * 1e-6;
    result.end = result.begin + duration.get<double>() * 1e-6;
    tracks[index][trackOf(event)].push_back(result);
    return Status::success();
  }

  size_t findProgram(const std::string &name) const {
    return std::find_if(inspection.programs.begin(), inspection.programs.end(),
                        [&](const ProgramInfo &program) {
                          return program.name == name;
                        }) -
           inspection.programs.begin();
  }

  std::string programNames() const {
    std::vector<std::string> names;
    for (const ProgramInfo &program : inspection.programs)
      names.push_back("'" + program.name + "'");
    return fmt::format("{}", fmt::join(names, ", "));
  }

  /// Whether command `index` of the artifact has the name and the line.
  Status check(size_t program, uint64_t index, TraceEvent::Kind kind,
               const std::string &name, const std::string &location) const {
    const ProgramInfo &info = inspection.programs[program];
    if (index >= info.commands.size())
      return invalidArgument(fmt::format(
          "program '{}': expected a command below {}, found {}: the trace is "
          "of another artifact",
          info.name, info.commands.size(), index));
    const CommandInfo &command = info.commands[index];
    std::string expected = nameOf(program, uint32_t(index));
    bool isSame = name == expected || name == "start " + expected;
    if (kind == TraceEvent::Kind::collective)
      isSame &= command.channel.has_value();
    if (kind == TraceEvent::Kind::wait) {
      std::string channel =
          command.channel ? fmt::format("channel {}", *command.channel) : "";
      isSame = command.channel && name.ends_with(" " + channel);
      expected = command.channel ? "wait " + channel : expected;
    }
    if (isSame && asJson(command.line) == asJson(location))
      return Status::success();
    auto at = [](const std::string &place) {
      return place.empty() ? "" : fmt::format(" ({})", place);
    };
    return invalidArgument(fmt::format(
        "command {} of program '{}': expected '{}'{} as in the artifact, found "
        "'{}'{}: the trace is of another artifact",
        index, info.name, expected, at(command.line), name, at(location)));
  }

  std::string nameOf(size_t program, uint32_t command) const {
    return runtime::simulatedName(artifact.tables(),
                                  *artifact.tables().programs()->Get(program),
                                  command);
  }

  /// Traces have no bytes that are not UTF-8.
  static std::string asJson(const std::string &text) {
    return runtime::jsonText(json(text));
  }

  const runtime::Artifact &artifact;
  const Inspection &inspection;
  std::set<Track> linkTracks, collectiveTracks;
  /// Of tracks that stand for several replicas, how many.
  std::map<Track, uint64_t> replicaCounts;
  /// Of each program, the events of each track.
  std::map<size_t, std::map<Track, TraceTrack>> tracks;
  RunTrace trace;
};

} // namespace

Expected<RunTrace> readTrace(const std::string &path,
                             const runtime::Artifact &artifact,
                             const Inspection &inspection) {
  std::string context = fmt::format("trace '{}'", path);
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return runtime::systemError(
        fmt::format("cannot open {}: {}", context, std::strerror(errno)));
  json document =
      json::parse(stream, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    return invalidArgument(
        fmt::format("{}: {}, found no JSON", context, expectedTrace));
  TraceReader reader(artifact, inspection);
  if (Status status = reader.read(document); !status.ok())
    return status.withContext(context);
  return reader.finish();
}

} // namespace lockstep::inspect
