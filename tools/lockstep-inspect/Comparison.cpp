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
using Key = StepTimes::Key;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half]
                           : (values[half - 1] + values[half]) / 2;
}

std::optional<double> medianOf(const std::vector<double> &values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

class ProgramComparer {
public:
  ProgramComparer(const ProgramInfo &program, const ProgramTrace &trace)
      : program(program), schedule(program.simulated), trace(trace) {}

  ProgramComparison run() {
    std::vector<std::vector<TraceTrack>> tracks;
    size_t count = SIZE_MAX;
    for (const ReplicaTrack &track : trace.replicas) {
      tracks.push_back(divideSteps(program, track.events));
      count = std::min(count, tracks.back().size());
    }
    for (size_t step = 0; step < count; ++step) {
      std::vector<ReplicaTrack> of;
      for (size_t i = 0; i < tracks.size(); ++i)
        of.push_back({tracks[i][step], trace.replicas[i].replicas});
      steps.push_back(collectStep(program, of,
                                  trace.collectives.empty()
                                      ? trace.link
                                      : collectivesOf(step, tracks)));
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
  /// What devices have exchanged in a step: from the first one that begins a
  /// collective to the last one that ends it. `tracks` are the steps of
  /// replicas; the executors may begin a step at different times.
  TraceTrack
  collectivesOf(size_t step,
                const std::vector<std::vector<TraceTrack>> &tracks) const {
    auto beginOf = [&](size_t number, int64_t process) {
      double begin = INFINITY;
      for (size_t i = 0; i < tracks.size(); ++i)
        if (trace.replicas[i].process == process && number < tracks[i].size())
          begin = std::min(begin, tracks[i][number].front().begin);
      return begin;
    };
    std::map<uint32_t, TraceTrack> executions;
    for (const ReplicaTrack &track : trace.collectives) {
      double begin = beginOf(step, track.process),
             end = beginOf(step + 1, track.process);
      std::map<uint32_t, size_t> counts;
      for (const TraceEvent &event : track.events) {
        if (event.begin < begin || event.begin >= end)
          continue;
        TraceTrack &all = executions[event.command];
        size_t number = counts[event.command]++;
        if (number == all.size())
          all.push_back(event);
        all[number].begin = std::min(all[number].begin, event.begin);
        all[number].end = std::max(all[number].end, event.end);
      }
    }
    TraceTrack found;
    for (const auto &[command, all] : executions)
      found.insert(found.end(), all.begin(), all.end());
    return found;
  }

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
