//===- OneOrder.cpp - ranks of one role on one path -----------------------===//

#include "runtime/verification/OneOrder.h"

#include "runtime/collectives/CollectiveKinds.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime::verification {
namespace {

using artifact::Space;

/// The data-flow analysis of OneOrder.h. Its state is a set of slots: those
/// whose values may differ between the ranks of the program.
class Differences {
public:
  Differences(const Model &model, const Program &program, ProofRule brokenRule)
      : model(model), program(program), slice(program.slice),
        brokenRule(brokenRule) {}

  /// None if no condition of a non-local branch may differ, else the branch.
  std::optional<Problem> find() {
    const std::vector<Block> &blocks = program.flow.blocks;
    size_t words = (slice.slots.size() + 63) / 64;
    before.assign(blocks.size(), Bits(words));
    tainted = before;
    reached.assign(blocks.size(), false);
    before[0] = atBegin(words);
    reach(0);
    while (!work.empty()) {
      uint32_t block = work.back();
      work.pop_back();
      queued[block] = false;
      Bits state = before[block];
      for (size_t i = 0; i < words; ++i)
        state[i] |= tainted[block][i];
      for (uint32_t i = blocks[block].begin; i < blocks[block].end; ++i)
        if (!slice.skips(program.ops[i], i))
          if (std::optional<Problem> problem = execute(program.ops[i], state))
            return problem;
      for (uint32_t successor : blocks[block].successors)
        if (successor != none &&
            (merge(before[successor], state) || !reached[successor]))
          reach(successor);
    }
    return std::nullopt;
  }

private:
  /// Adds a block to the worklist.
  void reach(uint32_t block) {
    reached[block] = true;
    queued.resize(program.flow.blocks.size());
    if (!queued[block])
      work.push_back(block);
    queued[block] = true;
  }

  /// Returns whether `into` has changed.
  static bool merge(Bits &into, const Bits &from) {
    bool changed = false;
    for (size_t i = 0; i < into.size(); ++i) {
      changed |= (from[i] & ~into[i]) != 0;
      into[i] |= from[i];
    }
    return changed;
  }

  /// The state at the begin of the program: registers, host scalars, constants
  /// and shared variables are equal on all ranks; the rank itself, inputs,
  /// private variables and temporaries may differ.
  Bits atBegin(size_t words) const {
    Bits state(words);
    for (uint32_t i = 0; i < slice.slots.size(); ++i) {
      const Slot &slot = slice.slots[i];
      bool common = slot.isRegister || slot.space == Space::scalar ||
                    slot.space == Space::constant ||
                    slot.space == Space::variable;
      if (slot.space == Space::rank && !slot.isRegister)
        common = brokenRule == ProofRule::ranksAreEqual;
      else if (!common)
        common = brokenRule == ProofRule::inputsAreEqual;
      if (!common)
        set(state, i);
    }
    return state;
  }

  /// Whether the results of a collective are equal on all ranks.
  bool isCommon(const Channel &channel) const {
    bool kind = CollectiveProperties::of(channel.collective).isSameForAll() ||
                brokenRule == ProofRule::partsAreEqual;
    return kind && (allReceive(model, channel, program) ||
                    brokenRule == ProofRule::groupsAreEqual);
  }

  /// The transfer function of an op, which changes `state`: what it writes
  /// differs if anything that it reads does. Fails at a non-local branch whose
  /// condition may differ.
  std::optional<Problem> execute(const Op &op, Bits &state) {
    bool differs = false;
    auto read = [&](uint32_t slot) { differs |= test(state, slot); };
    auto write = [&](uint32_t slot) {
      if (differs)
        set(state, slot);
      else
        reset(state, slot);
    };
    auto writeNothing = [](uint32_t) {};
    switch (op.kind) {
    case OpKind::start:
      break;
    case OpKind::wait:
      differs = !isCommon(model.channels[op.channel]);
      visitSlots(model, program, op, read, write);
      break;
    case OpKind::next:
      differs = brokenRule != ProofRule::inputsAreEqual;
      visitSlots(model, program, op, read, write);
      break;
    case OpKind::endOnce:
      if (brokenRule != ProofRule::onceWritesForAll)
        for (uint32_t slot : slice.sectionWrites[op.branch])
          set(state, slot);
      break;
    case OpKind::branch: {
      visitSlots(model, program, op, read, writeNothing);
      if (!differs)
        break;
      const Branch &branch = program.flow.branches[op.branch];
      if (!branch.local)
        return Problem{
            fmt::format("the condition of {} may differ between ranks",
                        model.describe(program, op.command)),
            {{program.role, op.command}}};
      if (branch.join != none &&
          brokenRule != ProofRule::localBranchesWriteNothing)
        taint(branch.join, slice.regionWrites[op.branch]);
      break;
    }
    case OpKind::compute:
      if (brokenRule == ProofRule::launchesWriteNothing &&
          program.table(op).body_as_Launch())
        break;
      [[fallthrough]];
    default:
      visitSlots(model, program, op, read, write);
    }
    return std::nullopt;
  }

  /// Slots may differ from the op `join` on, since ranks have taken different
  /// sides of a branch that writes them.
  void taint(uint32_t join, const std::vector<uint32_t> &slots) {
    uint32_t block = program.flow.blockOf[join];
    bool changed = false;
    for (uint32_t slot : slots) {
      changed |= !test(tainted[block], slot);
      set(tainted[block], slot);
    }
    if (changed && reached[block])
      reach(block);
  }

  const Model &model;
  const Program &program;
  const Slice &slice;
  ProofRule brokenRule;
  /// For each block, the join of the states of its predecessors, and the slots
  /// that branches with a join at its begin have tainted.
  std::vector<Bits> before, tainted;
  std::vector<bool> reached, queued;
  std::vector<uint32_t> work;
};

} // namespace

bool isStraightLine(const artifact::Artifact &artifact, std::string_view name) {
  const artifact::Program *program = nullptr;
  for (uint32_t i = 0; artifact.programs() && i < artifact.programs()->size();
       ++i)
    if (const artifact::Program *other = artifact.programs()->Get(i);
        other->name()->string_view() == name) {
      if (program)
        return false;
      program = other;
    }
  if (!program || !program->commands())
    return false;
  uint32_t first = 0, ranks = artifact.replicas();
  if (const auto *roles = artifact.roles(); roles && roles->size() > 0) {
    ranks = 0;
    for (const artifact::Role *role : *roles)
      if (role->name()->string_view() == program->role()->string_view()) {
        first = role->first_rank();
        ranks = role->ranks();
      }
  }
  // For each group, whether all its members are ranks of the program. A group
  // without a list of members has all replicas.
  std::vector<bool> isOwn;
  for (uint32_t i = 0; artifact.groups() && i < artifact.groups()->size();
       ++i) {
    const auto *members = artifact.groups()->Get(i)->ranks();
    bool own = members && members->size() > 0
                   ? true
                   : first == 0 && ranks >= artifact.replicas();
    for (uint32_t j = 0; members && j < members->size(); ++j)
      own &= members->Get(j) >= first && members->Get(j) - first < ranks;
    isOwn.push_back(own);
  }
  for (const artifact::Command *command : *program->commands()) {
    uint32_t group;
    switch (command->body_type()) {
    case artifact::CommandBody::BranchUnless:
    case artifact::CommandBody::BranchGreaterEqual:
      return false;
    case artifact::CommandBody::Start:
      group = command->body_as_Start()->group();
      break;
    case artifact::CommandBody::Barrier:
      group = command->body_as_Barrier()->group();
      break;
    default:
      continue;
    }
    if (group >= isOwn.size() || !isOwn[group])
      return false;
  }
  return true;
}

std::optional<Problem> findDivergence(const Model &model,
                                      const Program &program,
                                      ProofRule brokenRule) {
  // A role of one rank cannot diverge.
  if (program.slice.empty() || program.ranks == 1)
    return std::nullopt;
  return Differences(model, program, brokenRule).find();
}

std::optional<Problem> checkOneOrder(const Model &model, ProofRule brokenRule) {
  if (model.programs.size() != 1)
    return Problem{fmt::format("{} roles have a program '{}'",
                               model.programs.size(), model.name),
                   {}};
  const Program &program = model.programs[0];
  for (uint32_t start : program.starts) {
    if (start == none)
      continue;
    const Op &op = program.ops[start];
    for (uint32_t rank : model.groups[model.channels[op.channel].group].ranks)
      if (model.programOf[rank] == none)
        return Problem{
            fmt::format("rank {} is a member at {}, but its role '{}' has no "
                        "program '{}'",
                        rank, model.describe(program, start),
                        model.roleOf[rank], model.name),
            {{program.role, start}}};
  }
  return findDivergence(model, program, brokenRule);
}

} // namespace lockstep::runtime::verification
