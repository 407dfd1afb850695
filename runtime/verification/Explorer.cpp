//===- Explorer.cpp - all ways that programs can go -----------------------===//

#include "runtime/verification/Explorer.h"

#include "runtime/verification/Canonical.h"
#include "runtime/verification/Feasible.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace lockstep::runtime::verification {

bool isBlocked(const State &state) {
  bool rest = std::all_of(state.ranks.begin(), state.ranks.end(),
                          [](const RankState &rank) {
                            return rank.status == RankStatus::ended ||
                                   rank.status == RankStatus::absent ||
                                   rank.status == RankStatus::waits;
                          });
  bool waits = std::any_of(
      state.ranks.begin(), state.ranks.end(),
      [](const RankState &rank) { return rank.status == RankStatus::waits; });
  return rest && (waits || !state.open.empty());
}

namespace {

class Explorer {
public:
  Explorer(const Model &model, Exploration exploration, uint64_t maxSteps,
           uint64_t maxBytes, BrokenRule brokenRule)
      : model(model), exploration(exploration), brokenRule(brokenRule),
        maxSteps(maxSteps), maxBytes(maxBytes),
        machine(model, terms, brokenRule,
                exploration == Exploration::cases    ? Machine::Turns::run
                : exploration == Exploration::states ? Machine::Turns::rest
                : exploration == Exploration::statesWithoutMemory
                    ? Machine::Turns::forgetMemory
                    : Machine::Turns::forget) {
    machine.stepLimit = maxSteps;
  }

  Findings explore() {
    if (reach(machine.begin(), none))
      while (!pending.empty() && follow())
        ;
    else if (findings.kind == Findings::Kind::allEnd)
      findings.kind = Findings::Kind::gaveUp;
    if (doubtful && findings.kind == Findings::Kind::allEnd) {
      findings.kind = Findings::Kind::gaveUp;
      findings.problem = "ranks block each other if conditions that depend on "
                         "the same values can differ";
    }
    findings.states = nodes.size();
    findings.steps = steps;
    return std::move(findings);
  }

private:
  /// How a state was reached: from `parent`, where `term` was decided.
  struct Node {
    uint32_t parent;
    TermId term;
    bool value;
  };
  struct Pending {
    State state;
    uint32_t node;
    TermId term;
    bool value;
  };

  /// Takes the next outcome that has not been followed. False: the exploration
  /// is over.
  bool follow() {
    Pending next = std::move(pending.back());
    pending.pop_back();
    kept -= bytesOf(next.state);
    nodes.push_back({next.node, next.term, next.value});
    machine.decide(next.state, next.term, next.value);
    return reach(std::move(next.state), uint32_t(nodes.size() - 1));
  }

  /// Runs on from `state` and notes what has to be decided where it rests.
  bool reach(State state, uint32_t node) {
    if (node == none) {
      nodes.push_back({none, Terms::nothing, false});
      node = 0;
      findings.kind = Findings::Kind::allEnd;
    }
    switch (settle(state, steps, /*remembers=*/true)) {
    case Settled::gaveUp:
      return giveUp();
    case Settled::known:
      return true;
    case Settled::rests:
      if (needsNobody())
        state.open.clear();
      if (!isBlocked(state))
        return true;
      // Nothing has been forgotten on the way: what it depends on is there to
      // be seen.
      if (exploration == Exploration::cases &&
          brokenRule != BrokenRule::allIsFeasible &&
          !areFeasible(terms, state.facts, steps)) {
        doubtful = true;
        return true;
      }
      findings.kind = Findings::Kind::blocks;
      findings.final = std::move(state);
      retrace(node);
      return false;
    case Settled::undecided:
      break;
    }
    TermId term = findUndecided(state);
    if (brokenRule != BrokenRule::oneOutcome) {
      kept += bytesOf(state);
      pending.push_back({state, node, term, true});
    }
    kept += bytesOf(state);
    pending.push_back({std::move(state), node, term, false});
    return !isFull() || giveUp();
  }

  /// Without one of these rules, nobody answers for what was started.
  bool needsNobody() const {
    return brokenRule == BrokenRule::waitsReturn ||
           brokenRule == BrokenRule::barriersReturn ||
           brokenRule == BrokenRule::onceReturns ||
           brokenRule == BrokenRule::endedRanksArrive ||
           brokenRule == BrokenRule::absentRanksArrive;
  }

  enum class Settled : uint8_t { undecided, rests, known, gaveUp };

  /// Goes on until something has to be decided or nobody moves any more.
  /// `remembers`: stops where it has been before.
  Settled settle(State &state, uint64_t &steps, bool remembers) {
    // States since the last decision, with the steps of all ranks.
    std::unordered_map<std::string, std::vector<uint64_t>> turns;
    bool resumesAll = false;
    for (;;) {
      if (!machine.run(state, steps))
        return Settled::gaveUp;
      bool turned = std::any_of(state.ranks.begin(), state.ranks.end(),
                                [](const RankState &rank) {
                                  return rank.status == RankStatus::turned;
                                });
      bool undecided = findUndecided(state) != Terms::nothing;
      if (!turned && !undecided)
        return Settled::rests;
      // A look at a state costs as much as some steps.
      steps += state.slots.size() / 8 + state.ranks.size() + state.facts.size();
      if (exploration == Exploration::cases)
        return Settled::undecided;
      canonicalize(model, terms, state);
      std::string code = encode(state, brokenRule);
      steps += code.size() / 64;
      // Who has ended a turn waits until the others know where to go, so that
      // they end theirs before it begins the next.
      if (undecided)
        return remembers && !remember(std::move(code)) ? Settled::known
                                                       : Settled::undecided;
      std::vector<uint64_t> moved;
      for (const RankState &rank : state.ranks)
        moved.push_back(rank.moved);
      auto [first, isNew] = turns.try_emplace(code, moved);
      if (!isNew && resumesAll)
        // These loops never end, which is no concern of those who go on; the
        // others are looked at.
        return someoneStarves(state, first->second) ? Settled::gaveUp
                                                    : Settled::known;
      // An inner loop that never ends must not hold up those in outer ones.
      if (!isNew)
        resumesAll = true;
      else if (remembers && !remember(std::move(code)))
        return Settled::known;
      machine.resume(state, resumesAll);
      if (isFull())
        return Settled::gaveUp;
    }
  }

  /// Whether a state is new.
  bool remember(std::string code) {
    size_t size = code.size();
    bool isNew = visited.insert(std::move(code)).second;
    if (isNew)
      kept += size + nodeBytes;
    return isNew;
  }

  /// Bytes that a state takes until it is followed, about.
  static uint64_t bytesOf(const State &state) {
    uint64_t bytes = sizeof(Pending) + state.ranks.size() * sizeof(RankState) +
                     state.slots.size() * sizeof(TermId) +
                     state.facts.size() * nodeBytes;
    for (const auto &[channel, instance] : state.open) {
      bytes += nodeBytes + sizeof(OpenInstance);
      for (const std::vector<TermId> &operands : instance.operands)
        bytes += sizeof(operands) + operands.size() * sizeof(TermId);
    }
    for (const auto &[key, results] : state.results)
      bytes += nodeBytes + sizeof(results) + results.size() * sizeof(TermId);
    return bytes;
  }

  /// Whether as much is kept as may be. Loops whose turns are followed one by
  /// one need not end.
  bool isFull() {
    if (kept + nodes.size() * sizeof(Node) + terms.bytes() <= maxBytes)
      return false;
    machine.problem = fmt::format("more than {} MiB of states", maxBytes >> 20);
    return true;
  }

  /// Whether a rank has waited all the time while others went round a loop that
  /// has no end.
  bool someoneStarves(const State &state, const std::vector<uint64_t> &before) {
    for (uint32_t rank = 0; rank < state.ranks.size(); ++rank)
      if (state.ranks[rank].status == RankStatus::waits &&
          state.ranks[rank].moved == before[rank]) {
        machine.problem = fmt::format(
            "rank {} waits while others are in a loop without an end", rank);
        return true;
      }
    return false;
  }

  /// What the first rank that stands at a branch has to know.
  TermId findUndecided(const State &state) {
    TermId chosen = Terms::nothing;
    std::map<std::pair<uint32_t, uint32_t>, TermId> seen;
    for (uint32_t rank = 0; rank < state.ranks.size(); ++rank) {
      if (state.ranks[rank].status != RankStatus::decides)
        continue;
      TermId term = machine.condition(state, rank).term;
      if (chosen == Terms::nothing)
        chosen = term;
      std::pair<uint32_t, uint32_t> place{model.programOf[rank],
                                          state.ranks[rank].op};
      auto [first, isNew] = seen.try_emplace(place, term);
      findings.undecided[place] |= !isNew && first->second != term;
    }
    return chosen;
  }

  bool giveUp() {
    findings.kind = Findings::Kind::gaveUp;
    findings.problem = machine.problem.empty()
                           ? fmt::format("more than {} steps", maxSteps)
                           : machine.problem;
    return false;
  }

  /// Goes the way to a node once more and writes down what all branches did.
  void retrace(uint32_t node) {
    std::vector<Node> way;
    for (; node != 0; node = nodes[node].parent)
      way.push_back(nodes[node]);
    machine.onBranch = [&](uint32_t rank, const Op &op, bool held) {
      findings.outcomes.push_back({rank, op.command, held});
    };
    uint64_t again = 0;
    State state = machine.begin();
    for (auto step = way.rbegin();; ++step) {
      settle(state, again, /*remembers=*/false);
      if (step == way.rend())
        break;
      // A fresh value has another name than on the first way: what is decided
      // is found again.
      machine.decide(state, findUndecided(state), step->value);
    }
    machine.onBranch = nullptr;
  }

  const Model &model;
  Exploration exploration;
  BrokenRule brokenRule;
  uint64_t maxSteps, maxBytes;
  Terms terms;
  Machine machine;
  Findings findings;
  std::vector<Node> nodes;
  std::vector<Pending> pending;
  std::unordered_set<std::string> visited;
  uint64_t steps = 0;
  /// Bytes of `pending` and `visited`, about.
  uint64_t kept = 0;
  /// Of an entry of a map or set, beside what it holds.
  static constexpr uint64_t nodeBytes = 64;
  /// Ranks block on a way that data may never lead to.
  bool doubtful = false;
};

} // namespace

Findings explore(const Model &model, Exploration exploration, uint64_t maxSteps,
                 uint64_t maxBytes, BrokenRule brokenRule) {
  return Explorer(model, exploration, maxSteps, maxBytes, brokenRule).explore();
}

/// The last ones are enough to tell where a rank is.
static void note(std::vector<uint32_t> &met, uint32_t command) {
  constexpr size_t most = 16;
  if (met.size() == 2 * most)
    met.erase(met.begin(), met.begin() + most);
  met.push_back(command);
}

Replay replay(const Model &model, const std::vector<Decision> &decisions,
              bool listsAll, uint64_t maxSteps) {
  Terms terms;
  Machine machine(model, terms, BrokenRule::none, Machine::Turns::run);
  machine.stepLimit = maxSteps;
  std::vector<std::vector<Decision>> own(model.ranks());
  std::vector<size_t> next(model.ranks(), 0);
  Replay result;
  result.met.resize(model.ranks());
  std::map<TermId, bool> decided;
  machine.onMeeting = [&](uint32_t rank, const Op &op) {
    if (meetsOthers(model, op))
      note(result.met[rank], op.command);
  };
  for (const Decision &decision : decisions) {
    if (decision.rank >= model.ranks()) {
      result.problem = fmt::format("rank {} does not exist", decision.rank);
      return result;
    }
    own[decision.rank].push_back(decision);
  }
  auto fits = [&](uint32_t rank, uint32_t command) {
    return next[rank] < own[rank].size() &&
           own[rank][next[rank]].command == command;
  };
  auto disagree = [&](uint32_t rank, uint32_t command) {
    if (!result.problem)
      result.problem =
          fmt::format("rank {}, {}: no decision fits", rank,
                      model.describe(*machine.program(rank), command));
  };
  if (listsAll)
    machine.onBranch = [&](uint32_t rank, const Op &op, bool held) {
      if (!fits(rank, op.command) || own[rank][next[rank]].held != held)
        return disagree(rank, op.command);
      ++next[rank];
    };
  State state = machine.begin();
  uint64_t steps = 0;
  for (;;) {
    if (!machine.run(state, steps)) {
      result.problem = machine.problem.empty()
                           ? fmt::format("more than {} steps", maxSteps)
                           : machine.problem;
      break;
    }
    uint32_t rank = 0;
    while (
        rank < model.ranks() &&
        (state.ranks[rank].status != RankStatus::decides ||
         !fits(rank, machine.program(rank)->ops[state.ranks[rank].op].command)))
      ++rank;
    if (result.problem || rank == model.ranks())
      break;
    const Decision &decision = own[rank][next[rank]];
    Condition condition = machine.condition(state, rank);
    result.used.push_back(decision);
    decided[condition.term] = decision.held == condition.value;
    if (!listsAll)
      ++next[rank];
    machine.decide(state, condition.term, decision.held == condition.value);
  }
  for (uint32_t rank = 0; rank < model.ranks(); ++rank)
    if (state.ranks[rank].status == RankStatus::decides)
      disagree(rank, machine.program(rank)->ops[state.ranks[rank].op].command);
  result.feasible = areFeasible(terms, decided, steps);
  result.final = std::move(state);
  return result;
}

CounterExample explain(const Model &model, const Replay &replay) {
  const State &state = replay.final;
  CounterExample example;
  auto missingAt = [&](uint32_t channel) {
    std::vector<uint32_t> missing;
    const Group &group = model.groups[model.channels[channel].group];
    auto open = state.open.find(channel);
    for (uint32_t place = 0;
         place < group.ranks.size() && open != state.open.end(); ++place)
      if (!test(open->second.arrived, place))
        missing.push_back(group.ranks[place]);
    return missing;
  };
  for (uint32_t rank = 0; rank < model.ranks(); ++rank) {
    const RankState &own = state.ranks[rank];
    Place place;
    place.rank = rank;
    place.role = model.roleOf[rank];
    if (own.status == RankStatus::absent) {
      place.status = Place::Status::absent;
      place.text = "no program";
      example.places.push_back(std::move(place));
      continue;
    }
    const Program &program = model.programs[model.programOf[rank]];
    place.role = program.role;
    place.command = program.ops[own.op].command;
    place.status = own.status == RankStatus::ended   ? Place::Status::ended
                   : own.status == RankStatus::waits ? Place::Status::waits
                                                     : Place::Status::undecided;
    place.text = model.describe(program, place.command);
    for (uint32_t command : replay.met[rank])
      place.met.push_back({command, model.describe(program, command)});
    if (own.status == RankStatus::waits) {
      place.channel = model.channels[own.channel].number;
      place.missing = missingAt(own.channel);
    }
    example.places.push_back(std::move(place));
  }
  // From anyone who waits to somebody who is missing, until one is seen again
  // or does not wait.
  auto first =
      std::find_if(example.places.begin(), example.places.end(),
                   [](const Place &place) { return !place.missing.empty(); });
  if (first == example.places.end())
    return example;
  uint32_t rank = first->rank;
  for (;;) {
    auto seen = std::find(example.chain.begin(), example.chain.end(), rank);
    if (seen != example.chain.end()) {
      example.chain.erase(example.chain.begin(), seen);
      break;
    }
    example.chain.push_back(rank);
    const Place &place = example.places[rank];
    if (place.missing.empty())
      break;
    // Who has ended or is absent says most.
    auto best = std::find_if(
        place.missing.begin(), place.missing.end(), [&](uint32_t member) {
          return example.places[member].status != Place::Status::waits;
        });
    rank = best != place.missing.end() ? *best : place.missing.front();
  }
  return example;
}

} // namespace lockstep::runtime::verification
