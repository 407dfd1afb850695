//===- ScheduleText.cpp - the simulated schedule as tables ----------------===//

#include "tools/lockstep-inspect/Sections.h"
#include "tools/support/Table.h"

#include <fmt/format.h>

namespace lockstep::inspect {

using tools::percentText;
using tools::secondsText;
using tools::Table;

namespace {

std::string exchanges(const ProgramInfo &program) {
  const SimulatedSchedule &schedule = program.simulated;
  auto at = [&](double seconds) {
    return tools::momentText(seconds, schedule.result.seconds);
  };
  Table table({">channel", "collective", ">operands", ">bytes", ">ready from",
               ">to", ">begin", ">end", ">time", ">exposed", ">critical",
               "line"});
  for (size_t i = 0; i < program.collectives.size(); ++i) {
    const CollectiveInfo &collective = program.collectives[i];
    const ExchangeTimes &exchange = schedule.exchanges[i];
    if (exchange.executions == 0)
      continue;
    std::string name = collective.kind;
    if (!collective.reduction.empty())
      name += " " + collective.reduction;
    if (exchange.executions > 1)
      name += fmt::format(", {} times", exchange.executions);
    table.add({fmt::format("{}", collective.channel), name,
               fmt::format("{}", collective.operands.size()),
               tools::bytesText(collective.bytes), at(exchange.firstReady),
               at(exchange.start), at(exchange.begin), at(exchange.end),
               secondsText(exchange.transfer), secondsText(exchange.exposed),
               secondsText(exchange.critical), collective.line});
  }
  return table.empty() ? "" : "\n" + table.text();
}

std::string criticalLines(const ProgramInfo &program) {
  constexpr size_t most = 10;
  const SimulatedSchedule &schedule = program.simulated;
  Table table(
      {"kernels on the critical path", ">executions", ">time", ">of the step"});
  double rest = 0;
  uint64_t executions = 0;
  for (size_t i = 0; i < schedule.criticalLines.size(); ++i) {
    const CriticalLine &line = schedule.criticalLines[i];
    if (i >= most) {
      rest += line.seconds;
      executions += line.executions;
      continue;
    }
    table.add({line.location.empty() ? "(no line)" : line.location,
               fmt::format("{}", line.executions), secondsText(line.seconds),
               percentText(line.seconds, schedule.result.seconds)});
  }
  if (schedule.criticalLines.size() > most)
    table.add({fmt::format("{} others", schedule.criticalLines.size() - most),
               fmt::format("{}", executions), secondsText(rest),
               percentText(rest, schedule.result.seconds)});
  return table.empty() ? "" : "\n" + table.text();
}

std::string alternatives(const ProgramInfo &program) {
  const SimulatedSchedule &schedule = program.simulated;
  if (schedule.result.seconds <= 0)
    return "";
  Table table({"with the same kernels and buckets", ">time", ">kernels",
               ">communication", ">exposed"});
  auto add = [&](const std::string &name, double seconds, double compute,
                 double communication, double exposed) {
    table.add({name, secondsText(seconds), secondsText(compute),
               secondsText(communication), secondsText(exposed)});
  };
  const runtime::SimulationResult &result = schedule.result;
  add(fmt::format("on '{}'", schedule.topology), result.seconds, result.compute,
      result.communication, result.exposed);
  for (const Alternative &each : schedule.alternatives)
    add(each.name, each.seconds, each.compute, each.communication,
        each.exposed);
  return "\n" + table.text();
}

} // namespace

std::string scheduleText(const ProgramInfo &program) {
  const SimulatedSchedule &schedule = program.simulated;
  if (!schedule.isValid())
    return fmt::format("\nsimulation of '{}'\n  not simulated: {}\n",
                       program.name, schedule.refusal);
  std::string text =
      fmt::format("\nsimulation of '{}' on '{}' (times after the start of the "
                  "program)\n",
                  program.name, schedule.topology);
  for (const std::string &sentence : describeSchedule(program))
    text += "  " + sentence + ".\n";
  return text + exchanges(program) + criticalLines(program) +
         alternatives(program);
}

} // namespace lockstep::inspect
