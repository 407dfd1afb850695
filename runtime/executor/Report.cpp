//===- Report.cpp ---------------------------------------------------------===//

#include "runtime/executor/Report.h"

#include "runtime/support/JsonText.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lockstep::runtime {
namespace {

using Json = nlohmann::ordered_json;

struct ReplicaView {
  uint32_t state = 0;
  uint32_t command = 0;
  uint32_t worker = 0;
  uint64_t blocked = Replica::notBlocked;
  bool isOnDevice = false;
  /// The command that a device with queues executes.
  std::optional<uint32_t> deviceCommand;
  /// As in `Replica::ring`, oldest first.
  std::vector<uint32_t> events;
  /// Worker and tile of a launch or collective in execution.
  std::vector<TileScheduler::Place> tiles;
};

uint32_t commandOf(uint32_t event) { return event & ~Replica::blocks; }

ReplicaView view(const ProgramState &state, const Replica &replica) {
  constexpr uint64_t shownEvents = 16;
  ReplicaView result;
  result.state = replica.state.load(std::memory_order_acquire);
  result.worker = replica.worker.load(std::memory_order_relaxed);
  result.blocked = replica.blocked.load(std::memory_order_relaxed);
  result.isOnDevice = result.blocked == Replica::onDevice;
  if (result.isOnDevice)
    result.blocked = Replica::notBlocked;
  if (state.queued)
    result.deviceCommand =
        state.queued->queues->replicas[replica.index].runningCommand();
  uint64_t events = replica.events.load(std::memory_order_relaxed);
  for (uint64_t i = events - std::min(events, shownEvents); i < events; ++i)
    result.events.push_back(
        replica.ring[i % Replica::ringSize].load(std::memory_order_relaxed));
  if (result.events.empty())
    return result;
  result.command = commandOf(result.events.back());
  const Instruction &instruction = state.program.code[result.command];
  if (result.state == Replica::running)
    result.tiles = state.tiles.tilesInProgress(result.worker);
  uint32_t tile = replica.tile.load(std::memory_order_relaxed);
  bool isExecuted =
      result.state == Replica::running || result.state == Replica::left;
  if (isExecuted && instruction.opcode == Opcode::launch && instruction.a > 1 &&
      result.tiles.empty() && tile != Replica::noTile)
    result.tiles.push_back({result.worker, tile});
  return result;
}

bool isReplica(const artifact::Artifact &tables, uint32_t rank) {
  return rank < tables.replicas();
}

/// "replicas 0-1, 3, server0" from ascending ranks.
std::string listRanks(const artifact::Artifact &tables,
                      const std::vector<uint32_t> &ranks) {
  std::string list;
  size_t replicas =
      size_t(std::count_if(ranks.begin(), ranks.end(), [&](uint32_t rank) {
        return isReplica(tables, rank);
      }));
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i;
    while (end + 1 < replicas && ranks[end + 1] == ranks[end] + 1)
      ++end;
    list += i ? ", " : replicas > 1 ? "replicas " : "";
    if (i >= replicas || replicas == 1)
      list += rankName(tables, ranks[i]);
    else
      list += end == i ? fmt::format("{}", ranks[i])
                       : fmt::format("{}-{}", ranks[i], ranks[end]);
    i = end + 1;
  }
  return list.empty() ? "none" : list;
}

/// An incomplete instance of a channel, with the ranks that have arrived, those
/// that have not, and those of which neither is known.
struct Wait {
  std::string kind, reduction;
  uint64_t bytes = 0;
  std::string location;
  std::vector<uint32_t> arrived, missing, unknown;
};

using States = std::span<const ProgramState *const>;

/// The ranks that take part in a collective or barrier.
std::vector<uint32_t> membersOf(const Program &program, uint32_t command) {
  const artifact::Command *tables = program.tables->commands()->Get(command);
  uint32_t group = tables->body_as_Start() ? tables->body_as_Start()->group()
                                           : tables->body_as_Barrier()->group();
  const auto *ranks = program.artifact->tables().groups()->Get(group)->ranks();
  if (ranks && ranks->size())
    return {ranks->begin(), ranks->end()};
  std::vector<uint32_t> replicas(program.artifact->tables().replicas());
  std::iota(replicas.begin(), replicas.end(), 0u);
  return replicas;
}

/// The ranks in `states` that have arrived at instance `epoch` of a channel.
std::vector<uint32_t> arrivedAt(States states, uint32_t channel,
                                uint32_t epoch) {
  std::vector<uint32_t> arrived;
  for (const ProgramState *state : states)
    for (uint32_t i = 0;
         i < state->replicaCount && channel < state->replicas[i].started.size();
         ++i) {
      uint32_t started =
          state->replicas[i].started[channel].load(std::memory_order_relaxed);
      if (int32_t(started - epoch) >= 0)
        arrived.push_back(uint32_t(state->replicas[i].rank));
    }
  return arrived;
}

bool hasRank(const ProgramState &state, uint32_t rank) {
  return std::any_of(
      state.replicas.get(), state.replicas.get() + state.replicaCount,
      [&](const auto &replica) { return uint32_t(replica.rank) == rank; });
}

/// `state` has the channel open.
Wait describeWait(States states, const ProgramState &state, uint32_t channel,
                  uint32_t epoch) {
  const Program &program = state.program;
  uint32_t command = program.channelCommands[channel];
  const Instruction &instruction = program.code[command];
  Wait wait;
  wait.location = program.location(command);
  wait.kind = opcodeName(instruction.opcode);
  std::vector<uint32_t> members;
  if (instruction.opcode == Opcode::once) {
    // Only the replicas of one executor take part in a once section.
    const ProgramState *own = &state;
    wait.arrived = arrivedAt(States(&own, 1), channel, epoch);
    for (uint32_t i = 0; i < state.replicaCount; ++i)
      members.push_back(uint32_t(state.replicas[i].rank));
  } else {
    wait.arrived = arrivedAt(states, channel, epoch);
    members = membersOf(program, command);
  }
  // Arrivals in other executors are known from their messages.
  for (uint32_t member : members)
    if (std::any_of(
            states.begin(), states.end(), [&](const ProgramState *known) {
              return known->transport->hasArrived(channel, epoch, member);
            }))
      wait.arrived.insert(
          std::lower_bound(wait.arrived.begin(), wait.arrived.end(), member),
          member);
  wait.arrived.erase(std::unique(wait.arrived.begin(), wait.arrived.end()),
                     wait.arrived.end());
  if (instruction.opcode == Opcode::start) {
    const CollectivePlan &plan = *instruction.plan;
    wait.kind = plan.properties().name;
    if (plan.reduction != artifact::Reduction::none)
      wait.reduction = artifact::EnumNameReduction(plan.reduction);
    wait.bytes = plan.bytes;
  }
  std::set_difference(members.begin(), members.end(), wait.arrived.begin(),
                      wait.arrived.end(), std::back_inserter(wait.missing));
  std::erase_if(wait.missing, [&](uint32_t member) {
    bool isKnown = std::ranges::any_of(states, [&](const ProgramState *known) {
      return hasRank(*known, member) ||
             known->transport->seesArrival(channel, member);
    });
    if (!isKnown)
      wait.unknown.push_back(member);
    return !isKnown;
  });
  return wait;
}

std::string stateText(const ReplicaView &replica) {
  switch (replica.state) {
  case Replica::finished:
    return "finished after";
  case Replica::paused:
    return "paused by an injected fault before";
  case Replica::left:
    return "left unfinished by its worker in";
  case Replica::running:
    return "running";
  default:
    if (replica.isOnDevice)
      return "waiting for its device in";
    return replica.blocked == Replica::notBlocked ? "runnable after"
                                                  : "blocked in";
  }
}

/// " on worker 1, tile 3 of 64 on worker 0": the workers that execute the
/// current command of a replica.
std::string workersText(const Program &program, const ReplicaView &replica) {
  if (replica.state != Replica::running && replica.state != Replica::left)
    return "";
  const Instruction &instruction = program.code[replica.command];
  std::string tiles;
  for (const TileScheduler::Place &place : replica.tiles)
    tiles += fmt::format(", tile {}{}{}", place.tile,
                         instruction.opcode == Opcode::launch
                             ? fmt::format(" of {}", instruction.a)
                             : "",
                         place.worker == replica.worker
                             ? ""
                             : fmt::format(" on worker {}", place.worker));
  return fmt::format(" on worker {}{}", replica.worker, tiles);
}

/// A command and its source location: "17 'launch 'product'' (train.py:42)".
std::string commandText(const Program &program, uint32_t command) {
  std::string_view location = program.location(command);
  return fmt::format("{} '{}'{}", command, program.describe(command),
                     location.empty() ? "" : fmt::format(" ({})", location));
}

std::string deviceText(const Program &program, const ReplicaView &replica) {
  return replica.deviceCommand
             ? fmt::format("\n  its device: running command {}",
                           commandText(program, *replica.deviceCommand))
             : "";
}

/// The commands before the current one, latest first.
std::string earlierText(const Program &program, const ReplicaView &replica) {
  constexpr unsigned shown = 4;
  std::string text;
  unsigned begun = 0;
  for (auto event = replica.events.rbegin();
       event != replica.events.rend() && begun <= shown; ++event)
    // The first one is the current command.
    if (!(*event & Replica::blocks) && begun++)
      text += fmt::format("{}{}", begun == 2 ? "\n  before that: " : ", ",
                          commandText(program, *event));
  return text;
}

/// `stateText` as one word.
std::string stateWord(const ReplicaView &replica) {
  std::string text = stateText(replica);
  return text.substr(0, text.find(' '));
}

Json describe(const ProgramState &state, const ReplicaView &replica,
              uint32_t rank) {
  const Program &program = state.program;
  Json entry = {{"replica", rank},
                {"role", program.tables->role()->str()},
                {"state", stateWord(replica)},
                {"command", replica.command},
                {"what", program.describe(replica.command)},
                {"location", program.location(replica.command)}};
  if (replica.blocked != Replica::notBlocked)
    entry["channel"] = uint32_t(replica.blocked >> 32);
  if (replica.deviceCommand)
    entry["device"] = {{"command", *replica.deviceCommand},
                       {"what", program.describe(*replica.deviceCommand)},
                       {"location", program.location(*replica.deviceCommand)}};
  if (replica.state == Replica::running || replica.state == Replica::left) {
    entry["worker"] = replica.worker;
    entry["tiles"] = Json::array();
    for (const TileScheduler::Place &place : replica.tiles)
      entry["tiles"].push_back(
          {{"worker", place.worker}, {"tile", place.tile}});
  }
  entry["events"] = Json::array();
  for (uint32_t event : replica.events)
    entry["events"].push_back(
        {{"event", event & Replica::blocks ? "blocks" : "begins"},
         {"command", commandOf(event)},
         {"what", program.describe(commandOf(event))},
         {"location", program.location(commandOf(event))}});
  return entry;
}

} // namespace

std::string rankName(const artifact::Artifact &tables, uint32_t rank) {
  if (!isReplica(tables, rank) && tables.roles())
    for (const artifact::Role *role : *tables.roles())
      if (rank >= role->first_rank() &&
          rank - role->first_rank() < role->ranks())
        return role->ranks() == 1
                   ? role->name()->str()
                   : fmt::format("{} rank {}", role->name()->string_view(),
                                 rank);
  return fmt::format("replica {}", rank);
}

/// `text` is the first line of the report.
static DeadlineReport describeRun(std::string text, std::string_view name,
                                  States states, double seconds) {
  Json json;
  json["program"] = name;
  json["deadline_seconds"] = seconds;
  json["waits"] = Json::array();
  json["replicas"] = Json::array();

  struct OpenChannel {
    const ProgramState *state;
    uint32_t epoch;
  };
  std::vector<std::vector<ReplicaView>> replicas;
  // All executors share one instance of a collective; each has its own of a
  // once section.
  std::map<std::pair<uint32_t, const ProgramState *>, OpenChannel> openChannels;
  for (const ProgramState *state : states) {
    std::vector<ReplicaView> &views = replicas.emplace_back();
    for (uint32_t i = 0; i < state->replicaCount; ++i) {
      views.push_back(view(*state, state->replicas[i]));
      uint64_t blocked = views.back().blocked;
      uint32_t channel = uint32_t(blocked >> 32), epoch = uint32_t(blocked);
      if (blocked == Replica::notBlocked ||
          state->rendezvous->isComplete(channel, epoch))
        continue;
      bool isOnce =
          state->program.code[state->program.channelCommands[channel]].opcode ==
          Opcode::once;
      openChannels.emplace(std::pair(channel, isOnce ? state : nullptr),
                           OpenChannel{state, epoch});
    }
    for (auto [channel, epoch] : state->transport->unfinished())
      openChannels.emplace(std::pair(channel, nullptr),
                           OpenChannel{state, epoch});
  }

  for (auto [key, open] : openChannels) {
    uint32_t channel = key.first;
    const artifact::Artifact &tables = open.state->program.artifact->tables();
    Wait wait = describeWait(states, *open.state, channel, open.epoch);
    text += fmt::format("\nwaiting for channel {} ({}{}{}, {} bytes{}{})",
                        channel, wait.kind, wait.reduction.empty() ? "" : " ",
                        wait.reduction, wait.bytes,
                        wait.location.empty() ? "" : ", ", wait.location);
    text += fmt::format("\n  arrived: {}\n  missing: {}",
                        listRanks(tables, wait.arrived),
                        listRanks(tables, wait.missing));
    if (!wait.unknown.empty())
      text += fmt::format("\n  not known: {}", listRanks(tables, wait.unknown));
    json["waits"].push_back({{"channel", channel},
                             {"kind", wait.kind},
                             {"reduction", wait.reduction},
                             {"bytes", wait.bytes},
                             {"location", wait.location},
                             {"arrived", wait.arrived},
                             {"missing", wait.missing},
                             {"unknown", wait.unknown}});
  }

  for (size_t s = 0; s < states.size(); ++s)
    for (uint32_t i = 0; i < replicas[s].size(); ++i) {
      const Program &program = states[s]->program;
      const ReplicaView &replica = replicas[s][i];
      uint32_t rank = uint32_t(states[s]->replicas[i].rank);
      text += fmt::format(
          "\n{}: {} command {}{}{}{}",
          rankName(program.artifact->tables(), rank), stateText(replica),
          commandText(program, replica.command), workersText(program, replica),
          deviceText(program, replica), earlierText(program, replica));
      json["replicas"].push_back(describe(*states[s], replica, rank));
    }
  return {text, jsonText(json, 2)};
}

DeadlineReport describeDeadline(std::string_view name, States states,
                                std::chrono::nanoseconds deadline) {
  double seconds = std::chrono::duration<double>(deadline).count();
  return describeRun(
      fmt::format("no replica of program '{}' has made progress for {} s", name,
                  seconds),
      name, states, seconds);
}

DeadlineReport describeLongWait(std::string_view name, States states,
                                std::chrono::nanoseconds duration) {
  double seconds = std::chrono::duration<double>(duration).count();
  return describeRun(fmt::format("replicas of program '{}' have waited for {} "
                                 "s, while others went on without coming",
                                 name, seconds),
                     name, states, seconds);
}

DeadlineReport describeSilence(std::string_view what,
                               std::span<const RankRange> missing,
                               std::chrono::nanoseconds deadline) {
  double seconds = std::chrono::duration<double>(deadline).count();
  std::string text = fmt::format(
      "no executor has made progress for {} s\nwaiting for {}", seconds, what);
  std::vector<uint32_t> ranks;
  for (const RankRange &range : missing) {
    text +=
        range.count == 1
            ? fmt::format("\n  missing: the executor of rank {}", range.first)
            : fmt::format("\n  missing: the executor of ranks {}-{}",
                          range.first, range.end() - 1);
    for (uint32_t rank = range.first; rank < range.end(); ++rank)
      ranks.push_back(rank);
  }
  Json json = {{"program", ""},
               {"deadline_seconds", seconds},
               {"waits", {{{"kind", what}, {"missing", ranks}}}},
               {"replicas", Json::array()}};
  return {text, jsonText(json, 2)};
}

} // namespace lockstep::runtime
