//===- Verification.cpp - proof that programs cannot block ----------------===//

#include "runtime/verification/Verification.h"

#include "runtime/verification/Explorer.h"
#include "runtime/verification/Loops.h"
#include "runtime/verification/OneOrder.h"
#include "runtime/verification/Simulator.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime::verification {
namespace {

Expected<Model> prepare(const artifact::Artifact &artifact,
                        std::string_view name, BrokenRule brokenRule) {
  Expected<Model> model = buildModel(artifact, name);
  if (!model)
    return model;
  for (Program &program : model->programs)
    findFlow(*model, program, brokenRule == BrokenRule::anyWaysAreEqual);
  findSlices(*model, brokenRule);
  return model;
}

class Prover {
public:
  Prover(const Model &model, const Options &options)
      : model(model), options(options) {}

  Proof prove() {
    if (model.mismatch && options.brokenRule != BrokenRule::channelsMayDiffer)
      return wrong(*model.mismatch);
    if (model.programs.empty())
      return proven("one order");
    if (!findSecondOrder(model, options.brokenRule)) {
      listBranches();
      return proven("one order");
    }
    // What loops carry is looked at, and turns are followed one by one, only
    // where that turns out to matter.
    if (attempt(Exploration::statesWithoutMemory, options.maxSteps,
                "all states") ||
        attempt(Exploration::statesWithoutCounters, options.maxSteps,
                "all states, with what loops carry") ||
        attempt(Exploration::states, options.maxSteps,
                "all states, turn by turn") ||
        attempt(Exploration::cases, options.maxSteps, "all cases"))
      return std::move(proof);
    proof.verdict = Verdict::not_provable;
    proof.method = "gave up";
    std::vector<std::string> conditions;
    for (const DynamicBranch &branch : proof.dynamic)
      if (conditions.size() < 4)
        conditions.push_back(
            fmt::format("role '{}', {}{}", branch.role, branch.text,
                        branch.differs ? " (may differ between ranks)" : ""));
    proof.reason = fmt::format(
        "{}; could not decide the condition of {}", problem,
        conditions.empty() ? std::string("any branch")
                           : fmt::format("{}", fmt::join(conditions, "; of ")));
    return std::move(proof);
  }

private:
  Proof &&proven(std::string method) {
    proof.verdict = Verdict::proven;
    proof.method = std::move(method);
    return std::move(proof);
  }

  Proof &&wrong(std::string reason) {
    proof.verdict = Verdict::wrong;
    proof.reason = std::move(reason);
    return std::move(proof);
  }

  /// Branches of the only role that others notice: all ranks agree.
  void listBranches() {
    const Program &program = model.programs[0];
    for (const Branch &branch : program.flow.branches)
      if (!branch.local) {
        uint32_t command = program.ops[branch.op].command;
        proof.dynamic.push_back({program.role, command,
                                 model.describe(program, command),
                                 branch.sameOnBothWays != none});
      }
  }

  /// Whether that gave a verdict. A way on which ranks block counts only if it
  /// can be gone again with nothing forgotten on it: else it may be one that no
  /// data leads to.
  bool attempt(Exploration exploration, uint64_t steps, const char *method) {
    Findings findings = explore(model, exploration, steps, options.maxBytes,
                                options.brokenRule);
    proof.states += findings.states;
    proof.steps += findings.steps;
    proof.method = method;
    proof.dynamic.clear();
    for (const auto &[place, differs] : findings.undecided) {
      const Program &program = model.programs[place.first];
      uint32_t command = program.ops[place.second].command;
      proof.dynamic.push_back(
          {program.role, command, model.describe(program, command), differs});
    }
    if (findings.kind == Findings::Kind::allEnd) {
      proof.verdict = Verdict::proven;
      return true;
    }
    if (findings.kind == Findings::Kind::gaveUp) {
      problem = std::move(findings.problem);
      return false;
    }
    Replay again =
        replay(model, findings.outcomes, /*listsAll=*/true, options.maxSteps);
    if (again.problem || !isBlocked(again.final)) {
      problem =
          "ranks may block each other on a way that data may never lead to";
      return false;
    }
    if (!again.feasible && options.brokenRule != BrokenRule::allIsFeasible) {
      problem = "ranks block each other if conditions that depend on the same "
                "values can differ";
      return false;
    }
    proof.counterExample = explain(model, again);
    proof.counterExample.decisions = std::move(again.used);
    proof.verdict = Verdict::wrong;
    proof.reason = tellChain(proof.counterExample);
    return true;
  }

  const Model &model;
  const Options &options;
  Proof proof;
  std::string problem;
};

} // namespace

std::string tellChain(const CounterExample &example) {
  std::string text;
  for (uint32_t rank : example.chain) {
    const Place &place = example.places[rank];
    if (!text.empty())
      text += ", ";
    text += fmt::format("rank {} ({}) ", rank, place.role);
    if (place.status == Place::Status::ended)
      text += fmt::format("has ended at {}", place.text);
    else if (place.status == Place::Status::absent)
      text += "has no program";
    else if (place.missing.empty())
      text += fmt::format("stands at {}", place.text);
    else
      text += fmt::format("waits at {} for rank{} {}", place.text,
                          place.missing.size() > 1 ? "s" : "",
                          fmt::join(place.missing, ", "));
  }
  return text.empty() ? "something that was started is never completed" : text;
}

Expected<Proof> prove(const artifact::Artifact &artifact, std::string_view name,
                      const Options &options) {
  Expected<Model> model = prepare(artifact, name, options.brokenRule);
  if (!model)
    return model.status();
  Proof proof = Prover(*model, options).prove();
  proof.loops = findAssumedLoops(*model);
  return proof;
}

Expected<Proof> proveOneOrder(const artifact::Artifact &artifact,
                              std::string_view name) {
  Proof proof;
  proof.method = "one order";
  if (goesStraight(artifact, name)) {
    proof.verdict = Verdict::proven;
    return proof;
  }
  Expected<Model> model = prepare(artifact, name, BrokenRule::none);
  if (!model)
    return model.status();
  if (std::optional<std::string> second = findSecondOrder(*model))
    proof.reason = std::move(*second);
  else
    proof.verdict = Verdict::proven;
  return proof;
}

Expected<Simulation> simulate(const artifact::Artifact &artifact,
                              std::string_view name,
                              const std::vector<Decision> &decisions) {
  Expected<Model> model = prepare(artifact, name, BrokenRule::none);
  if (!model)
    return model.status();
  constexpr uint64_t maxSteps = 100'000'000;
  Replay replayed = replay(*model, decisions, /*listsAll=*/false, maxSteps);
  if (replayed.problem)
    return Status(StatusCode::invalidArgument, *replayed.problem);
  Simulation simulation;
  simulation.blocks = isBlocked(replayed.final);
  simulation.end = explain(*model, replayed);
  simulation.end.decisions = std::move(replayed.used);
  return simulation;
}

} // namespace lockstep::runtime::verification
