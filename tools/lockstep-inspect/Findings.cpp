//===- Findings.cpp - the simulated schedule in sentences -----------------===//

#include "tools/lockstep-inspect/Inspection.h"
#include "tools/support/Table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace lockstep::inspect {

using tools::bytesText;
using tools::percentText;
using tools::secondsText;

namespace {

/// Differences below this part of the step are not worth a sentence.
constexpr double negligible = 0.001;

std::string countNoun(uint64_t count, const char *noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

class Findings {
public:
  explicit Findings(const ProgramInfo &program)
      : program(program), schedule(program.simulated), result(schedule.result) {
  }

  std::vector<std::string> run() {
    describeTime();
    describeBuckets();
    describeExposed();
    describeCriticalPath();
    describeAlternatives();
    for (const std::string &place : result.assumptions)
      sentences.push_back(fmt::format(
          "Data decide at {}: the condition is taken as true and false in turn",
          place));
    return std::move(sentences);
  }

private:
  bool isNegligible(double seconds) const {
    return seconds <= negligible * result.seconds;
  }

  std::string at(double seconds) const {
    return tools::momentText(seconds, result.seconds);
  }

  void describeTime() {
    sentences.push_back(fmt::format(
        "'{}' takes {} with {} on '{}': {} in kernels, and {} waiting for "
        "collectives",
        program.name, secondsText(result.seconds),
        countNoun(result.replicas, "replica"), schedule.topology,
        secondsText(result.compute), secondsText(result.exposed)));
    double least = result.leastSeconds();
    if (least <= 0 || result.collectives == 0)
      return;
    sentences.push_back(fmt::format(
        "No order of these kernels and collectives takes less than {}, which "
        "is {} alone; this one takes {:.3f} times as long",
        secondsText(least),
        result.compute >= result.leastCommunication ? "the time of the kernels"
                                                    : "the time of the link",
        result.seconds / least));
  }

  void describeBuckets() {
    uint64_t tensors = 0, buckets = 0;
    for (const CollectiveInfo &collective : program.collectives) {
      tensors += collective.operands.size();
      buckets += collective.kind != "barrier";
    }
    if (buckets == 0) {
      sentences.push_back("The program has no collective");
      return;
    }
    sentences.push_back(fmt::format(
        "{} of {} in {}: the link is occupied for {}, and {} of it "
        "is hidden behind kernels",
        countNoun(tensors, "tensor"), bytesText(result.exchangedBytes),
        tensors == buckets ? countNoun(buckets, "collective")
                           : countNoun(buckets, "bucket"),
        secondsText(result.communication),
        percentText(result.hidden, result.communication)));
  }

  /// The collective that replicas wait for longest, and why.
  void describeExposed() {
    size_t worst = 0;
    for (size_t i = 1; i < schedule.exchanges.size(); ++i)
      if (schedule.exchanges[i].exposed > schedule.exchanges[worst].exposed)
        worst = i;
    if (schedule.exchanges.empty())
      return;
    const ExchangeTimes &exchange = schedule.exchanges[worst];
    if (exchange.exposed <= 0) {
      sentences.push_back(
          "No replica waits: each collective has ended before its result is "
          "needed");
      return;
    }
    const CollectiveInfo &collective = program.collectives[worst];
    sentences.push_back(
        fmt::format("The replicas wait longest for channel {} ({}, {}): {}{}{}",
                    collective.channel, operandsText(collective),
                    collective.line.empty() ? "no line" : collective.line,
                    secondsText(exchange.exposed),
                    exchange.executions > 1
                        ? fmt::format(" in {} executions", exchange.executions)
                        : "",
                    reasonOf(collective, exchange)));
  }

  std::string operandsText(const CollectiveInfo &collective) const {
    if (collective.operands.empty())
      return collective.kind;
    return fmt::format("{} of {}",
                       collective.operands.size() == 1
                           ? program.buffers[collective.operands[0].buffer].type
                           : countNoun(collective.operands.size(), "tensor"),
                       bytesText(collective.bytes));
  }

  std::string reasonOf(const CollectiveInfo &collective,
                       const ExchangeTimes &exchange) const {
    if (schedule.reducesOnCompute)
      return fmt::format(". On '{}', the cores that execute kernels also "
                         "reduce: nothing can be hidden",
                         schedule.topology);
    std::string operand = "It is";
    if (const OperandInfo *last = lastOperand(collective))
      operand = fmt::format(
          "Its last operand, {}{}{}, is", program.buffers[last->buffer].type,
          last->updates.empty() ? ""
                                : fmt::format(" for {}", last->updates.front()),
          lineText(program.commands[*last->ready].line));
    std::string text =
        fmt::format(". {} ready at {}", operand, at(exchange.start));
    if (exchange.behind)
      text += fmt::format(", but the link is occupied by channel {} until {}",
                          *exchange.behind, at(exchange.begin));
    text += fmt::format("; it takes {}",
                        secondsText(exchange.end - exchange.begin));
    return text + (exchange.needed <= exchange.start
                       ? ", and every kernel that is left needs its result"
                       : fmt::format(", and the kernels that do not need its "
                                     "result end at {}",
                                     at(exchange.needed)));
  }

  static std::string lineText(const std::string &line) {
    return line.empty() ? "" : fmt::format(" ({})", line);
  }

  const OperandInfo *lastOperand(const CollectiveInfo &collective) const {
    const OperandInfo *last = nullptr;
    for (const OperandInfo &operand : collective.operands)
      if (operand.ready && (!last || *operand.ready > *last->ready))
        last = &operand;
    return last;
  }

  void describeCriticalPath() {
    std::vector<std::string> parts;
    for (const CriticalLine &line : schedule.criticalLines)
      if (parts.size() < 3)
        parts.push_back(fmt::format(
            "{} ({}, {})",
            line.location.empty() ? "kernels without a line" : line.location,
            secondsText(line.seconds),
            percentText(line.seconds, result.seconds)));
    if (parts.empty())
      return;
    double kernels = 0;
    for (const CriticalLine &line : schedule.criticalLines)
      kernels += line.seconds;
    double others = result.seconds - kernels;
    sentences.push_back(fmt::format(
        "The critical path has {} of kernels{}; most of them are at {}",
        secondsText(kernels),
        isNegligible(others)
            ? ""
            : fmt::format(" and {} of collectives", secondsText(others)),
        fmt::join(parts, ", ")));
  }

  void describeAlternatives() {
    if (result.seconds <= 0)
      return;
    std::vector<std::string> parts;
    for (const Alternative &each : schedule.alternatives)
      if (!each.isTopology)
        parts.push_back(fmt::format(
            "{}: {}", each.name,
            isNegligible(std::abs(result.seconds - each.seconds))
                ? "no change"
                : fmt::format(
                      "{} ({} {})", secondsText(each.seconds),
                      percentText(std::abs(result.seconds - each.seconds),
                                  result.seconds),
                      each.seconds < result.seconds ? "less" : "more")));
    if (!parts.empty())
      sentences.push_back(
          fmt::format("What would help: {}", fmt::join(parts, "; ")));
    if (!schedule.reducesOnCompute && !isNegligible(result.exposed))
      sentences.push_back(fmt::format(
          "Another order of the same kernels and collectives can save at most "
          "{}",
          secondsText(result.seconds - result.leastSeconds())));
  }

  const ProgramInfo &program;
  const SimulatedSchedule &schedule;
  const runtime::SimulationResult &result;
  std::vector<std::string> sentences;
};

} // namespace

std::vector<std::string> describeSchedule(const ProgramInfo &program) {
  return Findings(program).run();
}

} // namespace lockstep::inspect
