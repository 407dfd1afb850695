//===- ComparisonText.cpp - comparisons as tables and JSON ----------------===//

#include "tools/lockstep-inspect/Comparison.h"

#include "runtime/support/JsonText.h"
#include "tools/lockstep-inspect/JsonValues.h"
#include "tools/support/Table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep::inspect {

using tools::secondsText;
using tools::Table;

namespace {

/// Rows of a table; the others are summed up in one.
constexpr size_t mostRows = 30;

std::string differenceText(std::optional<double> seconds) {
  if (!seconds)
    return "-";
  std::string text = secondsText(std::abs(*seconds));
  if (text == secondsText(0))
    return text;
  return (*seconds < 0 ? "-" : "+") + text;
}

std::string timeText(const std::optional<double> &seconds) {
  return seconds ? secondsText(*seconds) : "-";
}

/// "3", "0.75".
std::string countText(double count) {
  std::string text = fmt::format("{:.2f}", count);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

/// "1", or "1, 3" if the counts differ.
std::string countsText(const ComparedCommand &row) {
  std::string predicted = countText(row.predicted.count),
              measured = countText(row.measured.count);
  return predicted == measured ? predicted : predicted + ", " + measured;
}

std::string stepsText(const ProgramComparison &comparison) {
  std::string steps =
      comparison.steps == 1
          ? "step 0"
          : fmt::format("the median of steps 0 to {}", comparison.steps - 1);
  return fmt::format("{} on {} track{}", steps, comparison.tracks,
                     comparison.tracks == 1 ? "" : "s");
}

std::string totalsText(const ProgramComparison &comparison) {
  Table table({"", ">predicted", ">measured", ">difference", ">ratio"});
  for (const ComparedTotal &total : comparison.totals) {
    std::optional<double> difference, ratio;
    if (total.measured) {
      difference = *total.measured - total.predicted;
      if (total.predicted > 0)
        ratio = *total.measured / total.predicted;
    }
    table.add({total.name, secondsText(total.predicted),
               timeText(total.measured), differenceText(difference),
               ratio ? fmt::format("{:.2f}", *ratio) : "-"});
  }
  return table.text();
}

std::string commandsText(const ProgramComparison &comparison) {
  Table table({"what", "command", ">executions", ">predicted", ">measured",
               ">difference", "line"});
  double rest = 0;
  for (size_t i = 0; i < comparison.commands.size(); ++i) {
    const ComparedCommand &row = comparison.commands[i];
    if (i >= mostRows) {
      rest += row.difference().value_or(0);
      continue;
    }
    table.add({row.kind, row.name, countsText(row),
               timeText(row.predicted.seconds), timeText(row.measured.seconds),
               differenceText(row.difference()), row.line});
  }
  if (comparison.commands.size() > mostRows)
    table.add({"",
               fmt::format("{} others", comparison.commands.size() - mostRows),
               "", "", "", differenceText(rest), ""});
  return table.text();
}

/// What is meant by "-".
std::string noteText(const ProgramComparison &comparison) {
  bool isUnknown =
      std::any_of(comparison.commands.begin(), comparison.commands.end(),
                  [](const ComparedCommand &row) { return !row.difference(); });
  return isUnknown ? "  -: no replica waits for the transfer, so that a run "
                     "does not show its end\n"
                   : "";
}

} // namespace

std::string toText(const std::vector<ProgramComparison> &comparisons,
                   const std::string &trace) {
  std::string text;
  for (const ProgramComparison &comparison : comparisons)
    text += fmt::format(
        "{}'{}': {} in {} '{}', compared with the simulation on '{}'\n{}\n"
        "by command (times of one execution; differences of a step; "
        "executions: predicted, measured)\n{}{}",
        text.empty() ? "" : "\n", comparison.program, stepsText(comparison),
        comparison.isSimulated ? "simulation" : "run", trace,
        comparison.topology, totalsText(comparison), commandsText(comparison),
        noteText(comparison));
  return text;
}

std::string toJson(const std::vector<ProgramComparison> &comparisons,
                   const std::string &trace) {
  Json json = {{"schema", "lockstep-inspect-comparison/1"},
               {"trace", trace},
               {"programs", Json::array()}};
  for (const ProgramComparison &comparison : comparisons) {
    Json program = {{"name", comparison.program},
                    {"topology", comparison.topology},
                    {"simulated", comparison.isSimulated},
                    {"steps", comparison.steps},
                    {"tracks", comparison.tracks},
                    {"totals", Json::array()},
                    {"commands", Json::array()}};
    for (const ComparedTotal &total : comparison.totals)
      program["totals"].push_back({{"name", total.name},
                                   {"predicted", total.predicted},
                                   {"measured", orNull(total.measured)}});
    for (const ComparedCommand &row : comparison.commands) {
      auto times = [&](const CommandTimes &each) {
        return Json{{"seconds", orNull(each.seconds)},
                    {"step_seconds", orNull(each.step)},
                    {"count", each.count}};
      };
      program["commands"].push_back({{"kind", row.kind},
                                     {"pc", row.command},
                                     {"name", row.name},
                                     {"line", row.line},
                                     {"predicted", times(row.predicted)},
                                     {"measured", times(row.measured)},
                                     {"difference", orNull(row.difference())}});
    }
    json["programs"].push_back(std::move(program));
  }
  return runtime::jsonText(json, 2) + "\n";
}

} // namespace lockstep::inspect
