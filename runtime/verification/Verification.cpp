//===- Verification.cpp - proof that programs cannot block ----------------===//

#include "runtime/verification/Verification.h"

#include "runtime/verification/Loops.h"
#include "runtime/verification/Model.h"
#include "runtime/verification/OneOrder.h"
#include "runtime/verification/Projections.h"

#include <optional>

#include <fmt/format.h>

namespace lockstep::runtime::verification {
namespace {

/// Builds the model and computes control flow and slices. Error: the tables are
/// inconsistent.
Expected<Model> prepare(const artifact::Artifact &artifact,
                        std::string_view name, ProofRule brokenRule) {
  Expected<Model> model = buildModel(artifact, name);
  if (!model)
    return model;
  for (Program &program : model->programs)
    findFlow(*model, program);
  findSlices(*model, brokenRule);
  return model;
}

/// Tries to prove that ranks cannot wait for each other forever. None if they
/// cannot, else why the proof fails.
std::optional<Problem> findProblem(const Model &model, ProofRule brokenRule) {
  if (model.mismatch && brokenRule != ProofRule::channelsMayDiffer)
    return model.mismatch;
  if (model.programs.empty())
    return std::nullopt;
  return model.programs.size() == 1 ? checkOneOrder(model, brokenRule)
                                    : findDisagreement(model, brokenRule);
}

/// The branches with exchanges before their sides join.
std::vector<DynamicBranch> listBranches(const Model &model) {
  std::vector<DynamicBranch> found;
  for (const Program &program : model.programs)
    for (const Branch &branch : program.flow.branches)
      if (!branch.local) {
        uint32_t command = program.ops[branch.op].command;
        found.push_back(
            {program.role, command, model.describe(program, command)});
      }
  return found;
}

} // namespace

Expected<Proof> prove(const artifact::Artifact &artifact, std::string_view name,
                      ProofRule brokenRule) {
  Expected<Model> model = prepare(artifact, name, brokenRule);
  if (!model)
    return model.status();
  Proof proof;
  proof.method = model->programs.size() > 1 ? "projections" : "one order";
  std::optional<Problem> problem = findProblem(*model, brokenRule);
  proof.isProven = !problem;
  if (problem) {
    proof.reason = std::move(problem->text);
    proof.places = std::move(problem->places);
  }
  proof.dynamic = listBranches(*model);
  proof.loops = findAssumedLoops(*model);
  return proof;
}

Status checkProven(const artifact::Artifact &artifact, std::string_view name) {
  if (isStraightLine(artifact, name))
    return Status::success();
  Expected<Model> model = prepare(artifact, name, ProofRule::none);
  if (!model)
    return model.status();
  if (std::optional<Problem> problem = findProblem(*model, ProofRule::none))
    return unsupported(fmt::format(
        "could not prove that its ranks do not wait for each other forever: {} "
        "[E_NOT_PROVABLE]",
        problem->text));
  return Status::success();
}

} // namespace lockstep::runtime::verification
