//===- SimulationText.cpp -------------------------------------------------===//

#include "tools/lockstep-simulate/SimulationText.h"

#include "runtime/support/JsonText.h"
#include "tools/support/Table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lockstep::tools {

using runtime::CriticalCommand;
using runtime::SimulationResult;

static std::string countNoun(uint64_t count, const char *noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string toText(const SimulationResult &result,
                   const std::string &topology) {
  std::string text =
      fmt::format("program '{}' of {} on '{}'\n", result.program,
                  countNoun(result.replicas, "replica"), topology);
  auto line = [&](const char *name, const std::string &value) {
    text += fmt::format("  {:<15}{}\n", name, value);
  };
  line("time", secondsText(result.seconds));
  line("kernels", fmt::format("{}, {}", secondsText(result.compute),
                              countNoun(result.kernels, "kernel")));
  line("communication", fmt::format("{}, {}, {} from each replica",
                                    secondsText(result.communication),
                                    countNoun(result.collectives, "collective"),
                                    bytesText(result.exchangedBytes)));
  line("hidden", fmt::format("{} of it behind kernels",
                             percentText(result.hidden, result.communication)));
  line("exposed", secondsText(result.exposed));
  line("utilization", fmt::format("{} of the time in kernels",
                                  percentText(result.compute, result.seconds)));
  line("lower bound", fmt::format("{}, {:.3f} times as long",
                                  secondsText(result.leastSeconds()),
                                  result.leastSeconds() > 0
                                      ? result.seconds / result.leastSeconds()
                                      : 1.0));
  line("memory", fmt::format("{} of each replica", bytesText(result.memory)));
  if (!result.failure.empty())
    line("failure", result.failure);
  for (const std::string &place : result.assumptions)
    line("assumption",
         fmt::format("data decide at {}: taken as true and false in turn",
                     place));
  text += "\ncritical path\n";
  Table table({">time", ">share", ">executions", "command", "location"});
  double total = 0;
  constexpr size_t most = 20;
  for (const CriticalCommand &part : result.criticalPath)
    total += part.seconds;
  double rest = total;
  for (size_t i = 0; i < result.criticalPath.size() && i < most; ++i) {
    const CriticalCommand &part = result.criticalPath[i];
    table.add({secondsText(part.seconds), percentText(part.seconds, total),
               fmt::format("{}", part.executions), part.name, part.location});
    rest -= part.seconds;
  }
  if (result.criticalPath.size() > most)
    table.add({secondsText(rest), percentText(rest, total), "",
               fmt::format("{} others", result.criticalPath.size() - most),
               ""});
  return text + table.text();
}

std::string toJson(const SimulationResult &result,
                   const std::string &topology) {
  nlohmann::ordered_json path = nlohmann::ordered_json::array();
  for (const CriticalCommand &part : result.criticalPath)
    path.push_back({{"command", part.name},
                    {"location", part.location},
                    {"seconds", part.seconds},
                    {"executions", part.executions}});
  nlohmann::ordered_json object = {
      {"program", result.program},
      {"topology", topology},
      {"replicas", result.replicas},
      {"seconds", result.seconds},
      {"compute_seconds", result.compute},
      {"communication_seconds", result.communication},
      {"exposed_seconds", result.exposed},
      {"hidden_seconds", result.hidden},
      {"least_seconds", result.leastSeconds()},
      {"kernels", result.kernels},
      {"collectives", result.collectives},
      {"exchanged_bytes", result.exchangedBytes},
      {"memory_bytes", result.memory},
      {"failure", result.failure},
      {"assumptions", result.assumptions},
      {"critical_path", path}};
  return runtime::jsonText(object, 2) + "\n";
}

} // namespace lockstep::tools
