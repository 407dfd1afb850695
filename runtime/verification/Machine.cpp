//===- Machine.cpp - all ranks, run against each other --------------------===//

#include "runtime/verification/Rank.h"

#include "runtime/artifact/Tables.h"
#include "runtime/collectives/CollectiveKinds.h"
#include "runtime/verification/Operands.h"

namespace lockstep::runtime::verification {

using artifact::count;
using artifact::Space;

Machine::Machine(const Model &model, Terms &terms, BrokenRule brokenRule,
                 Turns turns)
    : model(model), terms(terms), brokenRule(brokenRule), turns(turns),
      loops(model.programs.size()) {
  uint32_t slots = 0;
  for (uint32_t rank = 0; rank < model.ranks(); ++rank) {
    firstSlots.push_back(slots);
    if (const Program *own = program(rank))
      slots += uint32_t(own->slice.slots.size());
  }
  firstSlots.push_back(slots);
  for (const Program &program : model.programs) {
    for (uint32_t i = 0; i < program.flow.ownOps; ++i) {
      const Op &op = program.ops[i];
      if (op.target == none || op.target > i)
        continue;
      bool meets = false;
      Loop loop;
      loop.head = op.target;
      Operands operands;
      for (uint32_t j = op.target; j <= i; ++j) {
        meets |= meetsOthers(model, program.ops[j]);
        if (program.slice.empty())
          continue;
        operands.collect(program, program.ops[j]);
        for (uint32_t index : operands.writtenRegisters)
          if (program.slice.registerSlots[index] != none)
            loop.written.push_back(index);
        if (turns == Turns::forgetMemory)
          visitSlots(
              model, program, program.ops[j], [](uint32_t) {},
              [&](uint32_t slot) {
                if (!program.slice.slots[slot].isRegister)
                  loop.writtenMemory.push_back(slot);
              });
      }
      if (meets)
        loops[program.index][i] = std::move(loop);
    }
    for (auto &[last, loop] : loops[program.index])
      for (const auto &[otherLast, other] : loops[program.index])
        loop.depth += other.head < loop.head && otherLast > last;
  }
}

State Machine::begin() {
  State state;
  state.ranks.resize(model.ranks());
  state.slots.assign(firstSlots.back(), Terms::nothing);
  for (uint32_t rank = 0; rank < model.ranks(); ++rank)
    initialize(state, rank);
  return state;
}

void Machine::initialize(State &state, uint32_t rank) {
  const Program *own = program(rank);
  if (!own) {
    state.ranks[rank].status = RankStatus::absent;
    return;
  }
  bool equal = brokenRule == BrokenRule::inputsAreEqual;
  for (uint32_t i = 0; i < own->slice.slots.size(); ++i) {
    const Slot &slot = own->slice.slots[i];
    TermId &value = state.slots[firstSlot(rank) + i];
    auto named = [&](int64_t owner, bool isPrivate) {
      return terms.make(TermKind::initial,
                        {int64_t(slot.space), int64_t(slot.offset),
                         int64_t(slot.size), owner},
                        {}, isPrivate);
    };
    if (slot.isRegister)
      value = terms.constant(0);
    else if (slot.space == Space::rank)
      value =
          terms.constant(brokenRule == BrokenRule::ranksAreEqual ? 0 : rank);
    else if (slot.space == Space::scalar || slot.space == Space::constant)
      value = named(-1, false);
    else if (slot.space == Space::variable)
      value = named(own->index, false);
    else
      value = equal ? named(-1, false) : named(rank, true);
  }
}

bool Machine::run(State &state, uint64_t &steps) {
  for (uint32_t rank = 0; rank < state.ranks.size(); ++rank)
    if (state.ranks[rank].status == RankStatus::runs)
      work.push_back(rank);
  while (!work.empty()) {
    uint32_t rank = work.back();
    work.pop_back();
    if (state.ranks[rank].status != RankStatus::runs)
      continue;
    bool passes = std::exchange(state.ranks[rank].letGo, false);
    if (!Rank(*this, state, rank).run(passes, steps, stepLimit)) {
      work.clear();
      return false;
    }
  }
  return true;
}

Condition Machine::condition(const State &state, uint32_t rank) {
  return Rank(*this, const_cast<State &>(state), rank).condition();
}

void Machine::decide(State &state, TermId term, bool value) {
  // Of bounds for one value only the closest are kept.
  if (terms[term].kind == TermKind::atLeast)
    std::erase_if(state.facts, [&](const auto &fact) {
      const Term &known = terms[fact.first];
      return known.kind == TermKind::atLeast &&
             known.operands == terms[term].operands && fact.second == value;
    });
  state.facts[term] = value;
  for (uint32_t rank = 0; rank < state.ranks.size(); ++rank)
    if (state.ranks[rank].status == RankStatus::decides &&
        condition(state, rank).known)
      state.ranks[rank].status = RankStatus::runs;
}

bool Machine::resume(State &state, bool all) {
  uint32_t innermost = 0;
  auto loopOf = [&](uint32_t rank) -> const Loop & {
    return loops[model.programOf[rank]].at(state.ranks[rank].turn);
  };
  for (uint32_t rank = 0; rank < state.ranks.size(); ++rank)
    if (state.ranks[rank].status == RankStatus::turned)
      innermost = std::max(innermost, loopOf(rank).depth);
  bool resumedAll = true;
  for (uint32_t rank = 0; rank < state.ranks.size(); ++rank) {
    RankState &own = state.ranks[rank];
    if (own.status != RankStatus::turned)
      continue;
    const Loop &loop = loopOf(rank);
    if (!all && loop.depth < innermost) {
      resumedAll = false;
      continue;
    }
    // Equal values have equal names afterwards, in one piece or in several.
    // Nothing that has been found out about them is known any more.
    auto forget = [&](TermId &value) {
      Term piece = terms[value];
      if (piece.kind != TermKind::part) {
        value = terms.make(TermKind::counter, {}, {value});
        return;
      }
      if (terms[piece.operands[0]].kind != TermKind::counter)
        piece.operands[0] =
            terms.make(TermKind::counter, {}, {piece.operands[0]});
      value = terms.make(std::move(piece));
    };
    if (forgets())
      for (uint32_t index : loop.written)
        if (TermId &value =
                state.slots[firstSlot(rank) +
                            program(rank)->slice.registerSlots[index]];
            terms.value(value))
          forget(value);
    for (uint32_t slot : loop.writtenMemory)
      if (TermId &value = state.slots[firstSlot(rank) + slot];
          value != Terms::nothing && terms[value].kind != TermKind::counter)
        forget(value);
    own.status = RankStatus::runs;
    own.turn = none;
  }
  return resumedAll;
}

void Machine::completeIfAllHaveArrived(State &state, uint32_t channel) {
  auto open = state.open.find(channel);
  const Group &group = model.groups[model.channels[channel].group];
  uint32_t missing = uint32_t(group.ranks.size()) - open->second.count;
  if (missing && (brokenRule == BrokenRule::endedRanksArrive ||
                  brokenRule == BrokenRule::absentRanksArrive))
    for (uint32_t place = 0; place < group.ranks.size(); ++place)
      if (!test(open->second.arrived, place)) {
        RankStatus status = state.ranks[group.ranks[place]].status;
        missing -= status == (brokenRule == BrokenRule::endedRanksArrive
                                  ? RankStatus::ended
                                  : RankStatus::absent);
      }
  if (missing)
    return;
  OpenInstance instance = std::move(open->second);
  state.open.erase(open);
  bool differs = brokenRule != BrokenRule::onceReadsForAll &&
                 sectionDiffers(state, channel);
  for (uint32_t place = 0; place < group.ranks.size(); ++place) {
    uint32_t rank = group.ranks[place];
    RankState &member = state.ranks[rank];
    member.sectionDiffers = differs;
    if (const Program *own = program(rank);
        own && model.channels[channel].carriesDecisions &&
        own->starts[channel] != none &&
        (brokenRule == BrokenRule::allReceive ||
         receives(model, model.channels[channel], rank)))
      if (const auto *start = own->tables->commands()
                                  ->Get(own->starts[channel])
                                  ->body_as_Start();
          start && count(start->results()))
        state.results[{channel, rank}] = resultsFor(
            model.channels[channel], instance, place, count(start->results()));
    if (member.status != RankStatus::waits || member.channel != channel)
      continue;
    member.status = RankStatus::runs;
    member.channel = none;
    member.letGo = program(rank)->ops[member.op].kind != OpKind::wait;
    work.push_back(rank);
  }
}

/// Whether it makes a difference which replica executes a once section: it
/// reads what is its own, and that is not the same for all.
bool Machine::sectionDiffers(const State &state, uint32_t channel) const {
  const Channel &section = model.channels[channel];
  if (section.kind != Channel::Kind::once)
    return false;
  const Program &program = model.programs[section.program];
  if (program.slice.empty())
    return false;
  uint32_t first = firstSlot(program.firstRank);
  for (uint32_t slot :
       program.slice.sections[program.ops[section.command].branch].ownReads)
    for (uint32_t rank = program.firstRank;
         rank < program.firstRank + program.ranks; ++rank)
      if (state.slots[firstSlot(rank) + slot] != state.slots[first + slot])
        return true;
  return false;
}

void Machine::completeAll(State &state) {
  std::vector<uint32_t> channels;
  for (const auto &[channel, instance] : state.open)
    channels.push_back(channel);
  for (uint32_t channel : channels)
    if (state.open.count(channel))
      completeIfAllHaveArrived(state, channel);
}

std::vector<TermId> Machine::resultsFor(const Channel &channel,
                                        const OpenInstance &instance,
                                        uint32_t place, uint32_t results) {
  std::vector<TermId> values;
  const CollectiveProperties &kind =
      CollectiveProperties::of(channel.collective);
  bool common = !kind.resultsDiffer;
  for (uint32_t i = 0; i < results; ++i) {
    // What the root has reaches all members as it is.
    if (kind.gives == Holders::root && common) {
      uint32_t root = model.groups[channel.group].place(channel.root);
      bool given = root != none && i < instance.operands[root].size();
      values.push_back(given ? instance.operands[root][i] : terms.fresh(true));
      continue;
    }
    std::vector<TermId> given;
    for (const std::vector<TermId> &operands : instance.operands) {
      if (!common)
        given.insert(given.end(), operands.begin(), operands.end());
      else if (i < operands.size())
        given.push_back(operands[i]);
    }
    if (brokenRule == BrokenRule::groupsAreEqual)
      given.clear();
    TermId whole = terms.make(TermKind::collective,
                              {int64_t(channel.collective),
                               int64_t(channel.reduction), channel.axis, i},
                              std::move(given));
    if (!common && brokenRule != BrokenRule::partsAreEqual) {
      // A part is that of whoever it comes from.
      int64_t part = place;
      if (kind.hasSources)
        part = channel.sources[place];
      whole = terms.make(TermKind::portion, {part, int64_t(channel.root)},
                         {whole}, /*isPrivate=*/true);
    }
    values.push_back(whole);
  }
  return values;
}

} // namespace lockstep::runtime::verification
