//===- StepTimes.cpp ------------------------------------------------------===//

#include "tools/lockstep-inspect/StepTimes.h"

#include <algorithm>
#include <cmath>

namespace lockstep::inspect {

namespace {

using Kind = TraceEvent::Kind;
using Key = StepTimes::Key;

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

class StepCollector {
public:
  StepCollector(const ProgramInfo &program,
                const std::vector<ReplicaTrack> &tracks, const TraceTrack &link)
      : program(program), tracks(tracks), link(link) {}

  StepTimes run() {
    addTotals();
    addKernelsAndWaits();
    if (link.empty())
      addTransfersByWaits();
    else
      addTransfersOfLink();
    bool isKnown = false;
    result.transfers = 0;
    for (const auto &[key, times] : result.commands)
      if (key.first == Kind::collective) {
        isKnown = true;
        if (times.step && result.transfers)
          *result.transfers += *times.step;
        else
          result.transfers.reset();
      }
    if (!isKnown &&
        std::any_of(
            program.commands.begin(), program.commands.end(),
            [](const CommandInfo &command) { return command.op == "start"; }))
      result.transfers.reset();
    return std::move(result);
  }

private:
  bool isStart(uint32_t command) const {
    return program.commands[command].op == "start";
  }

  void addTotals() {
    double begin = INFINITY, end = -INFINITY;
    for (const ReplicaTrack &track : tracks) {
      double compute = 0, waits = 0;
      for (const TraceEvent &event : track.events) {
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
      /// Executions, and replicas that execute.
      double count = 0, replicas = 0;
    };
    std::map<Key, Sum> sums;
    double all = 0;
    for (const ReplicaTrack &track : tracks) {
      std::map<Key, Sum> own;
      for (const TraceEvent &event : track.events) {
        if (event.kind == Kind::collective)
          continue;
        uint32_t of = event.kind == Kind::wait
                          ? *program.commands[event.command].channel
                          : event.command;
        Sum &sum = own[{event.kind, of}];
        sum.seconds += event.end - event.begin;
        ++sum.count;
      }
      double replicas = double(track.replicas);
      all += replicas;
      for (const auto &[key, sum] : own) {
        sums[key].seconds += replicas * sum.seconds;
        sums[key].count += replicas * sum.count;
        sums[key].replicas += replicas;
      }
    }
    for (const auto &[key, sum] : sums) {
      // What replicas of one process execute once is the work of one of them.
      double replicas = key.first == Kind::wait ? all : sum.replicas;
      result.commands[key] = {sum.seconds / sum.count, sum.seconds / replicas,
                              sum.count / replicas};
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
    for (const ReplicaTrack &track : tracks) {
      // Of each channel, the command that has started it last, and how often.
      std::map<uint32_t, uint32_t> starts;
      std::map<uint32_t, size_t> counts;
      for (const TraceEvent &event : track.events) {
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
  const std::vector<ReplicaTrack> &tracks;
  const TraceTrack &link;
  StepTimes result;
};

} // namespace

// A wait names the command that starts what it waits for: it begins no step.
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

StepTimes collectStep(const ProgramInfo &program,
                      const std::vector<ReplicaTrack> &replicas,
                      const TraceTrack &link) {
  return StepCollector(program, replicas, link).run();
}

} // namespace lockstep::inspect
