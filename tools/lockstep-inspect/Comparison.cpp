//===- Comparison.cpp -----------------------------------------------------===//

#include "tools/lockstep-inspect/Comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace lockstep::inspect {

using runtime::Expected;
using runtime::SimulatedEvent;

namespace {

using Kind = TraceEvent::Kind;

/// What is compared: a kind, and a command or, of waits, a channel.
using Key = std::pair<Kind, uint32_t>;

/// Whether a track that executes `next` behind `last` has begun a new step. A
/// jump back in a loop is none.
bool beginsStep(const ProgramInfo &program, uint32_t last, uint32_t next) {
  return next <= last &&
         std::none_of(program.loops.begin(), program.loops.end(),
                      [&](const LoopInfo &loop) {
                        return next >= loop.commands.first &&
                               last <= loop.commands.last;
                      });
}

/// The events of one track by steps. A wait names the command that started what
/// it waits for, so that it begins no step.
std::vector<TraceTrack> divideSteps(const ProgramInfo &program,
                                    const TraceTrack &track) {
  std::vector<TraceTrack> steps;
  std::optional<uint32_t> last;
  for (const TraceEvent &event : track) {
    bool isWait = event.kind == Kind::wait;
    if (steps.empty() ||
        (!isWait && last && beginsStep(program, *last, event.command)))
      steps.emplace_back();
    if (!isWait)
      last = event.command;
    steps.back().push_back(event);
  }
  return steps;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half]
                           : (values[half - 1] + values[half]) / 2;
}

std::optional<double> medianOf(const std::vector<double> &values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

/// The times of one step.
struct StepTimes {
  std::map<Key, CommandTimes> commands;
  double seconds = 0, compute = 0, waits = 0;
  /// Absent if that of a collective is.
  std::optional<double> transfers;
};

/// Adds up the events of all replicas in one step.
class StepCollector {
public:
  StepCollector(const ProgramInfo &program, std::vector<TraceTrack> tracks,
                const TraceTrack &link)
      : program(program), tracks(std::move(tracks)), link(link) {}

  StepTimes run() {
    addTotals();
    addKernelsAndWaits();
    if (link.empty())
      addTransfersByWaits();
    else
      addTransfersOfLink();
    result.transfers = 0;
    for (const auto &[key, times] : result.commands)
      if (key.first == Kind::collective) {
        if (times.step && result.transfers)
          *result.transfers += *times.step;
        else
          result.transfers.reset();
      }
    return std::move(result);
  }

private:
  bool isStart(uint32_t command) const {
    return program.commands[command].op == "start";
  }

  void addTotals() {
    double begin = INFINITY, end = -INFINITY;
    for (const TraceTrack &track : tracks) {
      double compute = 0, waits = 0;
      for (const TraceEvent &event : track) {
        begin = std::min(begin, event.begin);
        end = std::max(end, event.end);
        if (event.kind == Kind::kernel)
          compute += event.end - event.begin;
        if (event.kind == Kind::wait)
          waits += event.end - event.begin;
      }
      result.compute = std::max(result.compute, compute);
      result.waits = std::max(result.waits, waits);
    }
    result.seconds = std::max(0.0, end - begin);
  }

  void addKernelsAndWaits() {
    struct Sum {
      double seconds = 0;
      size_t count = 0, tracks = 0;
    };
    std::map<Key, Sum> sums;
    for (const TraceTrack &track : tracks) {
      std::map<Key, Sum> own;
      for (const TraceEvent &event : track) {
        if (event.kind == Kind::collective)
          continue;
        uint32_t of = event.kind == Kind::wait
                          ? *program.commands[event.command].channel
                          : event.command;
        Sum &sum = own[{event.kind, of}];
        sum.seconds += event.end - event.begin;
        ++sum.count;
      }
      for (const auto &[key, sum] : own) {
        sums[key].seconds += sum.seconds;
        sums[key].count += sum.count;
        ++sums[key].tracks;
      }
    }
    for (const auto &[key, sum] : sums) {
      // What replicas of one process execute once is the work of one of them.
      size_t replicas = key.first == Kind::wait ? tracks.size() : sum.tracks;
      result.commands[key] = {sum.seconds / double(sum.count),
                              sum.seconds / double(replicas),
                              double(sum.count) / double(replicas)};
    }
  }

  void addTransfersOfLink() {
    for (const TraceEvent &event : link) {
      if (!isStart(event.command))
        continue;
      result.commands[{Kind::collective, event.command}].add(event.end -
                                                             event.begin);
    }
  }

  /// A collective proceeds from its last start to the end of the last wait for
  /// it. If no replica has to wait, its end is not known.
  void addTransfersByWaits() {
    struct Execution {
      double lastStart = -INFINITY, lastWait = -INFINITY;
    };
    std::map<uint32_t, std::vector<Execution>> executions;
    auto executionOf = [&](uint32_t command, size_t number) -> Execution & {
      auto &all = executions[command];
      all.resize(std::max(all.size(), number + 1));
      return all[number];
    };
    for (const TraceTrack &track : tracks) {
      // Of each channel, the command that has started it last, and how often.
      std::map<uint32_t, uint32_t> starts;
      std::map<uint32_t, size_t> counts;
      for (const TraceEvent &event : track) {
        if (event.kind == Kind::kernel)
          continue;
        uint32_t channel = *program.commands[event.command].channel;
        if (event.kind == Kind::collective) {
          starts[channel] = event.command;
          Execution &execution =
              executionOf(event.command, counts[event.command]++);
          execution.lastStart = std::max(execution.lastStart, event.begin);
        } else if (auto start = starts.find(channel); start != starts.end()) {
          Execution &execution =
              executionOf(start->second, counts[start->second] - 1);
          execution.lastWait = std::max(execution.lastWait, event.end);
        }
      }
    }
    for (const auto &[command, all] : executions) {
      CommandTimes times;
      for (const Execution &execution : all)
        if (execution.lastWait > execution.lastStart)
          times.add(execution.lastWait - execution.lastStart);
      if (times.count < double(all.size()))
        times.step.reset();
      times.count = double(all.size());
      result.commands[{Kind::collective, command}] = times;
    }
  }

  const ProgramInfo &program;
  const std::vector<TraceTrack> tracks;
  const TraceTrack &link;
  StepTimes result;
};

class ProgramComparer {
public:
  ProgramComparer(const ProgramInfo &program, const ProgramTrace &trace)
      : program(program), schedule(program.simulated), trace(trace) {}

  ProgramComparison run() {
    std::vector<std::vector<TraceTrack>> tracks;
    size_t count = SIZE_MAX;
    for (const TraceTrack &track : trace.replicas) {
      tracks.push_back(divideSteps(program, track));
      count = std::min(count, tracks.back().size());
    }
    for (size_t step = 0; step < count; ++step) {
      std::vector<TraceTrack> of;
      for (const std::vector<TraceTrack> &track : tracks)
        of.push_back(track[step]);
      steps.push_back(StepCollector(program, of, trace.link).run());
    }
    result.program = program.name;
    result.topology = schedule.topology;
    result.steps = count;
    result.tracks = tracks.size();
    addCommands();
    addTotals();
    return std::move(result);
  }

private:
  std::map<Key, CommandTimes> predict() const {
    std::map<Key, CommandTimes> predicted;
    for (const SimulatedEvent &event : schedule.result.events) {
      const CommandInfo &command = program.commands[event.command];
      Key key = {Kind::kernel, event.command};
      if (event.kind == SimulatedEvent::Kind::wait)
        key = {Kind::wait, *command.channel};
      else if (event.kind == SimulatedEvent::Kind::collective)
        key.first = Kind::collective;
      if (key.first == Kind::collective && command.op != "start")
        continue;
      predicted[key].add(event.end - event.begin);
    }
    return predicted;
  }

  void addCommands() {
    std::map<Key, CommandTimes> predicted = predict();
    std::map<Key, ComparedCommand> rows;
    for (const auto &[key, times] : predicted)
      rows[key].predicted = times;
    for (const StepTimes &step : steps)
      for (const auto &[key, times] : step.commands)
        rows[key];
    for (auto &[key, row] : rows) {
      describe(key, row);
      row.measured = measure(key);
      result.commands.push_back(std::move(row));
    }
    auto rank = [](const ComparedCommand &row) {
      std::optional<double> difference = row.difference();
      // Traces have a resolution of a nanosecond.
      double differs =
          difference ? std::floor(std::abs(*difference) * 1e8) : -1;
      return std::tuple(-differs, row.command, row.kind);
    };
    std::sort(result.commands.begin(), result.commands.end(),
              [&](const ComparedCommand &a, const ComparedCommand &b) {
                return rank(a) < rank(b);
              });
  }

  /// The medians of one execution, over the steps that have it, and of a step;
  /// the mean number of executions.
  CommandTimes measure(const Key &key) const {
    std::vector<double> executions, totals;
    double count = 0;
    for (const StepTimes &step : steps) {
      auto found = step.commands.find(key);
      if (found == step.commands.end()) {
        totals.push_back(0);
        continue;
      }
      count += found->second.count;
      if (found->second.seconds)
        executions.push_back(*found->second.seconds);
      if (found->second.step)
        totals.push_back(*found->second.step);
    }
    return {medianOf(executions), medianOf(totals),
            count / double(steps.size())};
  }

  void describe(const Key &key, ComparedCommand &row) const {
    auto [kind, index] = key;
    if (kind == Kind::wait) {
      row.kind = "wait";
      row.name = fmt::format("wait channel {}", index);
      index = findStart(index);
      row.line = program.commands[index].line;
      row.command = index;
      return;
    }
    const CommandInfo &command = program.commands[index];
    row.command = index;
    row.line = command.line;
    if (kind == Kind::collective) {
      row.kind = "transfer";
      for (const CollectiveInfo &collective : program.collectives)
        if (collective.start == index)
          row.name = fmt::format(
              "{}{} channel {}", collective.kind,
              collective.reduction.empty() ? "" : " " + collective.reduction,
              collective.channel);
      return;
    }
    row.kind = command.op == "copy" ? "copy" : "kernel";
    row.name = command.op;
  }

  /// The first command of a channel.
  uint32_t findStart(uint32_t channel) const {
    for (uint32_t i = 0; i < program.commands.size(); ++i)
      if (program.commands[i].channel == channel)
        return i;
    return 0;
  }

  void addTotals() {
    auto measured = [&](auto value) {
      std::vector<double> values;
      for (const StepTimes &step : steps)
        values.push_back(value(step));
      return medianOf(values);
    };
    const runtime::SimulationResult &simulated = schedule.result;
    double transfers = 0;
    for (const auto &row : result.commands)
      if (row.kind == "transfer")
        transfers += row.predicted.step.value_or(0);
    std::vector<double> known;
    for (const StepTimes &step : steps)
      if (step.transfers)
        known.push_back(*step.transfers);
    result.totals = {
        {"step", simulated.seconds,
         measured([](const StepTimes &step) { return step.seconds; })},
        {"kernels", simulated.compute,
         measured([](const StepTimes &step) { return step.compute; })},
        {"communication", transfers, medianOf(known)},
        {"waits", simulated.exposed,
         measured([](const StepTimes &step) { return step.waits; })}};
  }

  const ProgramInfo &program;
  const SimulatedSchedule &schedule;
  const ProgramTrace &trace;
  std::vector<StepTimes> steps;
  ProgramComparison result;
};

} // namespace

Expected<std::vector<ProgramComparison>> compare(const Inspection &inspection,
                                                 const RunTrace &trace) {
  std::vector<ProgramComparison> comparisons;
  for (size_t i = 0; i < trace.programs.size(); ++i) {
    const ProgramInfo &program = inspection.programs[i];
    if (trace.programs[i].replicas.empty())
      continue;
    if (!program.simulated.isValid())
      return runtime::unsupported(
          fmt::format("program '{}' is not simulated: {}", program.name,
                      program.simulated.refusal));
    ProgramComparison comparison =
        ProgramComparer(program, trace.programs[i]).run();
    comparison.isSimulated = trace.isSimulated;
    // The symbols of kernels are in the tables of the artifact.
    for (ComparedCommand &row : comparison.commands)
      if (auto kernel = program.commands[row.command].kernel;
          kernel && row.kind == "kernel")
        row.name = inspection.kernels[*kernel].symbol;
    comparisons.push_back(std::move(comparison));
  }
  if (comparisons.empty())
    return runtime::invalidArgument("expected a trace with steps of replicas");
  return comparisons;
}

} // namespace lockstep::inspect
