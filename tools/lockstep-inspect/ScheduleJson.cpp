//===- ScheduleJson.cpp - the simulated schedule as JSON ------------------===//

#include "tools/lockstep-inspect/ScheduleJson.h"

namespace lockstep::inspect {

using runtime::SimulatedEvent;
using runtime::SimulationResult;

static Json toJson(const CollectiveInfo &collective,
                   const ExchangeTimes &times) {
  return {{"channel", collective.channel},
          {"executions", times.executions},
          {"first_ready", times.firstReady},
          {"start", times.start},
          {"begin", times.begin},
          {"end", times.end},
          {"needed", times.needed},
          {"behind", orNull(times.behind)},
          {"transfer_seconds", times.transfer},
          {"queued_seconds", times.queued},
          {"exposed_seconds", times.exposed},
          {"critical_seconds", times.critical}};
}

static Json eventsToJson(const SimulatedSchedule &schedule) {
  static constexpr const char *kinds[] = {"kernel", "collective", "wait"};
  Json json = Json::array();
  size_t firstLinkLane = schedule.firstLinkLane();
  for (size_t i = 0; i < schedule.result.events.size(); ++i) {
    const SimulatedEvent &event = schedule.result.events[i];
    json.push_back({{"kind", kinds[size_t(event.kind)]},
                    {"pc", event.command},
                    {"begin", event.begin},
                    {"end", event.end},
                    {"critical", bool(schedule.isCritical[i])}});
    if (event.kind == SimulatedEvent::Kind::collective)
      json.back()["stream"] = event.lane - firstLinkLane;
  }
  return json;
}

Json scheduleToJson(const ProgramInfo &program) {
  const SimulatedSchedule &schedule = program.simulated;
  if (!schedule.isValid())
    return {{"topology", schedule.topology}, {"refused", schedule.refusal}};
  const SimulationResult &result = schedule.result;
  Json json = {{"topology", schedule.topology},
               {"refused", nullptr},
               {"replicas", result.replicas},
               {"seconds", result.seconds},
               {"compute_seconds", result.compute},
               {"communication_seconds", result.communication},
               {"hidden_seconds", result.hidden},
               {"exposed_seconds", result.exposed},
               {"least_seconds", result.leastSeconds()},
               {"streams", result.lanes.size() - schedule.firstLinkLane()},
               {"findings", describeSchedule(program)},
               {"collectives", Json::array()},
               {"critical_lines", Json::array()},
               {"alternatives", Json::array()}};
  for (size_t i = 0; i < program.collectives.size(); ++i)
    json["collectives"].push_back(
        toJson(program.collectives[i], schedule.exchanges[i]));
  for (const CriticalLine &line : schedule.criticalLines)
    json["critical_lines"].push_back({{"line", line.location},
                                      {"seconds", line.seconds},
                                      {"executions", line.executions}});
  for (const Alternative &each : schedule.alternatives)
    json["alternatives"].push_back(
        {{"name", each.name},
         {"seconds", each.seconds},
         {"compute_seconds", each.compute},
         {"communication_seconds", each.communication},
         {"exposed_seconds", each.exposed}});
  json["events"] = eventsToJson(schedule);
  return json;
}

} // namespace lockstep::inspect
