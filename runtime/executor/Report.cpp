//===- Report.cpp ---------------------------------------------------------===//

#include "runtime/executor/Report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lockstep::runtime {
namespace {

using Json = nlohmann::ordered_json;

struct ReplicaView {
  uint32_t state = 0;
  uint32_t command = 0;
  uint64_t blocked = Replica::notBlocked;
  std::vector<uint32_t> lastCommands;
};

ReplicaView view(const Replica &replica) {
  constexpr uint64_t shownCommands = 8;
  ReplicaView result;
  result.state = replica.state.load(std::memory_order_acquire);
  result.blocked = replica.blocked.load(std::memory_order_relaxed);
  uint64_t events = replica.events.load(std::memory_order_relaxed);
  for (uint64_t i = events - std::min(events, shownCommands); i < events; ++i)
    result.lastCommands.push_back(
        replica.ring[i % Replica::ringSize].load(std::memory_order_relaxed));
  if (!result.lastCommands.empty())
    result.command = result.lastCommands.back();
  return result;
}

/// "replicas 0-1, 3"
std::string listRanks(const std::vector<uint32_t> &ranks) {
  if (ranks.empty())
    return "none";
  std::string list = ranks.size() == 1 ? "replica " : "replicas ";
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i;
    while (end + 1 < ranks.size() && ranks[end + 1] == ranks[end] + 1)
      ++end;
    list += i ? ", " : "";
    list += end == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[end]);
    i = end + 1;
  }
  return list;
}

/// What an open instance of a channel is, and who is missing.
struct Wait {
  std::string kind, reduction;
  uint64_t bytes = 0;
  std::string location;
  std::vector<uint32_t> arrived, missing;
};

Wait describeWait(const ProgramState &state, uint32_t channel, uint32_t epoch) {
  const Program &program = state.program;
  uint32_t command = program.channelCommands[channel];
  const Instruction &instruction = program.code[command];
  Wait wait;
  wait.location = program.location(command);
  wait.kind = opcodeName(instruction.opcode);
  const CollectivePlan *plan = nullptr;
  if (instruction.opcode != Opcode::once)
    plan = instruction.plan;
  if (instruction.opcode == Opcode::start) {
    wait.kind = artifact::EnumNameCollectiveKind(plan->kind);
    if (plan->reduction != artifact::Reduction::none)
      wait.reduction = artifact::EnumNameReduction(plan->reduction);
    wait.bytes = plan->bytes;
  }
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    if (plan && !plan->isMember(i))
      continue;
    uint32_t started = state.replicas[i].started[channel].load(std::memory_order_relaxed);
    (int32_t(started - epoch) >= 0 ? wait.arrived : wait.missing).push_back(i);
  }
  return wait;
}

std::string stateText(const ReplicaView &replica) {
  switch (replica.state) {
  case Replica::finished:
    return "finished after";
  case Replica::paused:
    return "paused by an injected fault before";
  case Replica::running:
    return "running";
  default:
    return replica.blocked == Replica::notBlocked ? "runnable after" : "blocked in";
  }
}

} // namespace

DeadlineReport describeDeadline(const ProgramState &state, std::chrono::nanoseconds deadline) {
  const Program &program = state.program;
  double seconds = std::chrono::duration<double>(deadline).count();
  std::string text = fmt::format("no replica of program '{}' has made progress for {} s",
                                 program.name(), seconds);
  Json json;
  json["program"] = program.name();
  json["deadline_seconds"] = seconds;
  json["waits"] = Json::array();
  json["replicas"] = Json::array();

  std::vector<ReplicaView> replicas;
  std::map<uint32_t, uint32_t> openChannels;
  for (uint32_t i = 0; i < state.replicaCount; ++i) {
    replicas.push_back(view(state.replicas[i]));
    uint64_t blocked = replicas.back().blocked;
    uint32_t channel = uint32_t(blocked >> 32), epoch = uint32_t(blocked);
    if (blocked != Replica::notBlocked && !state.rendezvous->isComplete(channel, epoch))
      openChannels[channel] = epoch;
  }

  for (auto [channel, epoch] : openChannels) {
    Wait wait = describeWait(state, channel, epoch);
    text += fmt::format("\nwaiting for channel {} ({}{}{}, {} bytes{}{})", channel, wait.kind,
                        wait.reduction.empty() ? "" : " ", wait.reduction, wait.bytes,
                        wait.location.empty() ? "" : ", ", wait.location);
    text += fmt::format("\n  arrived: {}\n  missing: {}", listRanks(wait.arrived),
                        listRanks(wait.missing));
    json["waits"].push_back({{"channel", channel},
                             {"kind", wait.kind},
                             {"reduction", wait.reduction},
                             {"bytes", wait.bytes},
                             {"location", wait.location},
                             {"arrived", wait.arrived},
                             {"missing", wait.missing}});
  }

  for (uint32_t i = 0; i < replicas.size(); ++i) {
    const ReplicaView &replica = replicas[i];
    std::string what = program.describe(replica.command);
    std::string location(program.location(replica.command));
    text += fmt::format("\nreplica {}: {} command {} '{}'{}", i, stateText(replica),
                        replica.command, what,
                        location.empty() ? "" : fmt::format(" ({})", location));
    static constexpr const char *states[] = {"ready", "running", "finished", "paused"};
    Json entry = {{"replica", i},
                  {"state", states[replica.state]},
                  {"command", replica.command},
                  {"what", what},
                  {"location", location},
                  {"last_commands", replica.lastCommands}};
    if (replica.blocked != Replica::notBlocked)
      entry["channel"] = uint32_t(replica.blocked >> 32);
    json["replicas"].push_back(std::move(entry));
  }
  return {text, json.dump(2)};
}

} // namespace lockstep::runtime
