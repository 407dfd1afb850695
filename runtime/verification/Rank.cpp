//===- Rank.cpp - one rank of the machine ---------------------------------===//

#include "runtime/verification/Rank.h"

#include "runtime/artifact/Tables.h"
#include "runtime/verification/Operands.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lockstep::runtime::verification {

using artifact::count;
using artifact::Space;

bool Machine::Rank::run(bool mayPass, uint64_t &steps, uint64_t limit) {
  passes = mayPass;
  while (own.status == RankStatus::runs) {
    if (steps++ >= limit)
      return false;
    ++own.moved;
    own.op = slice.skip[own.op];
    if (!step(program.ops[own.op]))
      return false;
  }
  return true;
}

Condition Machine::Rank::condition() const {
  const Op &op = program.ops[own.op];
  if (uint32_t buffer = conditionBuffer(program, op); buffer != none) {
    TermId value = element(buffer);
    if (std::optional<int64_t> number = terms.value(value))
      return {(*number & 0xff) != 0};
    return {machine.implied(state, value), value, true};
  }
  const auto *compared = program.table(op).body_as_BranchGreaterEqual();
  Condition result =
      machine.compare(reg(compared->lhs()), reg(compared->rhs()));
  if (!result.known)
    if (std::optional<bool> fact = machine.implied(state, result.term))
      result.known = *fact == result.value;
  return result;
}

bool Machine::Rank::step(const Op &op) {
  switch (op.kind) {
  case OpKind::compute:
    if (const auto *copied = program.table(op).body_as_Copy())
      copy(*copied);
    else if (machine.brokenRule != BrokenRule::launchesWriteNothing)
      launch(*program.table(op).body_as_Launch());
    break;
  case OpKind::start:
    if (!arrive(op))
      return false;
    break;
  case OpKind::wait:
    if (mustWait(op.channel, BrokenRule::waitsReturn))
      return rest(RankStatus::waits, op.channel);
    noteMeeting(op);
    receive(op);
    loseVariables(op);
    break;
  case OpKind::barrier:
  case OpKind::once: {
    if (std::exchange(passes, false)) {
      noteMeeting(op);
      loseVariables(op);
      break;
    }
    bool once = op.kind == OpKind::once;
    if (!arrive(op))
      return false;
    if (mustWait(op.channel,
                 once ? BrokenRule::onceReturns : BrokenRule::barriersReturn))
      return rest(RankStatus::waits, op.channel);
    noteMeeting(op);
    loseVariables(op);
    break;
  }
  case OpKind::endOnce:
    endSection(op);
    break;
  case OpKind::jump:
    return go(op.target);
  case OpKind::branch:
    return branch(op);
  case OpKind::setRegister: {
    const auto *table = program.table(op).body_as_SetRegister();
    setReg(table->register_(), terms.constant(table->value()));
    break;
  }
  case OpKind::addRegister: {
    const auto *table = program.table(op).body_as_AddRegister();
    setReg(table->register_(),
           terms.add(reg(table->register_()), reg(table->source())));
    break;
  }
  case OpKind::loadRegister: {
    const auto *table = program.table(op).body_as_LoadRegister();
    TermId value = element(table->buffer());
    const auto *type = buffer(table->buffer()).type();
    bool isUnsigned = type && type->element() >= artifact::ElementType::u8 &&
                      type->element() <= artifact::ElementType::u64;
    setReg(table->register_(),
           isUnsigned && !terms.value(value)
               ? terms.make(TermKind::zeroExtended, {}, {value})
               : value);
    break;
  }
  case OpKind::next:
    loadBatch();
    break;
  case OpKind::ret:
    return end();
  case OpKind::forget:
    if (!slice.empty())
      forget(slice.footprints[op.branch].writes);
    if (op.target == none)
      return end();
    own.op = op.target;
    return true;
  }
  ++own.op;
  return true;
}

bool Machine::Rank::rest(RankStatus status, uint32_t channel) {
  own.status = status;
  own.channel = channel;
  return true;
}

bool Machine::Rank::end() {
  rest(RankStatus::ended);
  if (machine.brokenRule == BrokenRule::endedRanksArrive)
    machine.completeAll(state);
  return true;
}

/// Jumps; a jump back ends a turn of a loop.
bool Machine::Rank::go(uint32_t target) {
  if (machine.turns != Turns::run && target <= own.op) {
    if (machine.loops[program.index].contains(own.op)) {
      own.turn = own.op;
      rest(RankStatus::turned);
    }
  }
  own.op = target;
  return true;
}

bool Machine::Rank::branch(const Op &op) {
  const Branch &info = program.flow.branches[op.branch];
  Condition found = condition();
  // Where turns are not followed one by one, those of local loops are not
  // either.
  bool isLoop = info.local && machine.forgets() &&
                std::find(info.region.begin(), info.region.end(),
                          program.flow.blockOf[info.op]) != info.region.end();
  if (info.local && (!found.known || isLoop)) {
    summarize(op, info);
    return info.join == none ? end() : go(info.join);
  }
  bool isPrivate =
      !found.known && (machine.brokenRule == BrokenRule::anyWaysAreEqual ||
                       terms[found.term].isPrivate);
  if (isPrivate && info.sameOnBothWays != none) {
    own.op = info.sameOnBothWays;
    return true;
  }
  if (!found.known)
    return rest(RankStatus::decides);
  if (machine.onBranch && !info.local)
    machine.onBranch(rank, op, *found.known);
  bool unless = conditionBuffer(program, op) != none;
  return go(*found.known == unless ? own.op + 1 : op.target);
}

//===--------------------------------------------------------------------===//
// Meeting others
//===--------------------------------------------------------------------===//

bool Machine::Rank::arrive(const Op &op) {
  const Channel &channel = model.channels[op.channel];
  const Group &group = model.groups[channel.group];
  uint32_t place = group.place(rank);
  if (place == none)
    return true;
  OpenInstance &instance = state.open[op.channel];
  if (instance.arrived.empty()) {
    instance.arrived.assign((group.ranks.size() + 63) / 64, 0);
    if (channel.carriesDecisions)
      instance.operands.resize(group.ranks.size());
  }
  if (test(instance.arrived, place)) {
    if (machine.brokenRule != BrokenRule::none)
      return true;
    machine.problem = fmt::format(
        "rank {} starts channel {} again without having waited for it", rank,
        channel.number);
    return false;
  }
  set(instance.arrived, place);
  ++instance.count;
  if (op.kind == OpKind::start)
    noteMeeting(op);
  if (channel.carriesDecisions && op.kind == OpKind::start)
    if (const auto *operands = program.table(op).body_as_Start()->operands())
      for (uint32_t buffer : *operands)
        instance.operands[place].push_back(readSized(buffer));
  machine.completeIfAllHaveArrived(state, op.channel);
  return true;
}

void Machine::Rank::noteMeeting(const Op &op) const {
  if (machine.onMeeting &&
      model.groups[model.channels[op.channel].group].place(rank) != none)
    machine.onMeeting(rank, op);
}

bool Machine::Rank::mustWait(uint32_t channel, BrokenRule unless) const {
  if (machine.brokenRule == unless)
    return false;
  auto open = state.open.find(channel);
  if (open == state.open.end())
    return false;
  uint32_t place = model.groups[model.channels[channel].group].place(rank);
  return place != none && test(open->second.arrived, place);
}

/// What the one replica that executed the section has written for itself, the
/// others do not have; and what all share is that one's, which may be anyone.
void Machine::Rank::endSection(const Op &op) {
  if (slice.empty())
    return;
  const Section &section = slice.sections[op.branch];
  if (machine.brokenRule != BrokenRule::onceWritesForAll)
    lose(section.ownWrites);
  if (std::exchange(own.sectionDiffers, false))
    lose(section.sharedWrites);
}

void Machine::Rank::receive(const Op &op) {
  auto found = state.results.find({op.channel, rank});
  if (found == state.results.end())
    return;
  const auto *start = program.tables->commands()
                          ->Get(program.starts[op.channel])
                          ->body_as_Start();
  for (uint32_t i = 0; i < count(start->results()); ++i)
    write(start->results()->Get(i),
          i < found->second.size() ? found->second[i] : terms.fresh(true));
  state.results.erase(found);
}

//===--------------------------------------------------------------------===//
// Values
//===--------------------------------------------------------------------===//

/// The value of a buffer; in one piece if it was written in one.
TermId Machine::Rank::read(uint32_t index) const {
  SlotRange range = slice.bufferSlots[index];
  if (range.count == 0)
    return Terms::nothing;
  if (range.count == 1)
    return slots[range.first];
  std::vector<TermId> pieces(slots + range.first,
                             slots + range.first + range.count);
  TermId whole = Terms::nothing;
  int64_t offset = 0;
  for (TermId id : pieces) {
    const Term &piece = terms[id];
    if (piece.kind != TermKind::part || piece.numbers[0] != offset ||
        piece.numbers[2] != int64_t(buffer(index).size()) ||
        (offset && piece.operands[0] != whole))
      return terms.make(TermKind::tuple, {}, std::move(pieces));
    whole = piece.operands[0];
    offset += piece.numbers[1];
  }
  return whole;
}

/// The element that control flow reads from a buffer.
TermId Machine::Rank::element(uint32_t index) const {
  TermId value = read(index);
  const artifact::Buffer &b = buffer(index);
  bool whole =
      b.space() == Space::rank || !b.type() || count(b.type()->shape()) == 0;
  return whole ? value : terms.make(TermKind::first, {}, {value});
}

void Machine::Rank::write(uint32_t index, TermId value) {
  SlotRange range = slice.bufferSlots[index];
  const artifact::Buffer &b = buffer(index);
  for (uint32_t i = range.first; i < range.first + range.count; ++i) {
    const Slot &slot = slice.slots[i];
    slots[i] = slot.size == b.size()
                   ? value
                   : terms.make(TermKind::part,
                                {int64_t(slot.offset - b.offset()),
                                 int64_t(slot.size), int64_t(b.size())},
                                {value});
  }
}

/// The value, and how much of the buffer it fills where that varies.
TermId Machine::Rank::readSized(uint32_t index) const {
  std::vector<TermId> parts = {read(index)};
  forEachSizeRegister(buffer(index),
                      [&](uint32_t size) { parts.push_back(reg(size)); });
  return parts.size() == 1 ? parts[0]
                           : terms.make(TermKind::tuple, {}, std::move(parts));
}

/// Where sizes vary, as many bytes are copied as both buffers have; the others
/// stay.
void Machine::Rank::copy(const artifact::Copy &copy) {
  std::vector<TermId> sizes;
  for (uint32_t index : {copy.source(), copy.destination()})
    forEachSizeRegister(buffer(index),
                        [&](uint32_t size) { sizes.push_back(reg(size)); });
  if (sizes.empty())
    return write(copy.destination(), read(copy.source()));
  sizes.push_back(read(copy.source()));
  sizes.push_back(read(copy.destination()));
  write(copy.destination(), terms.make(TermKind::tuple, {}, std::move(sizes)));
}

void Machine::Rank::launch(const artifact::Launch &launch) {
  std::vector<TermId> arguments;
  for (uint32_t i = 0; i < launch.reads(); ++i)
    arguments.push_back(read(launch.buffers()->Get(i)));
  for (uint32_t i = 0; i < count(launch.registers()); ++i)
    arguments.push_back(reg(launch.registers()->Get(i)));
  for (uint32_t i = launch.reads(); i < count(launch.buffers()); ++i) {
    if (slice.bufferSlots[launch.buffers()->Get(i)].count == 0)
      continue;
    uint32_t result = i - launch.reads();
    const artifact::Formula *formula = model.formula(launch.kernel(), result);
    write(launch.buffers()->Get(i),
          formula ? evaluate(*formula, arguments)
                  : terms.make(TermKind::kernel, {launch.kernel(), result},
                               arguments));
  }
}

TermId Machine::Rank::evaluate(const artifact::Formula &formula,
                               const std::vector<TermId> &arguments) {
  std::vector<TermId> values = arguments;
  for (uint32_t i = 0; i < count(formula.steps()); ++i) {
    const artifact::FormulaStep *step = formula.steps()->Get(i);
    if (step->operation() == model.constantOperation) {
      values.push_back(terms.constant(step->value()));
      continue;
    }
    std::vector<TermId> operands;
    for (uint32_t j = 0; j < count(step->operands()); ++j)
      operands.push_back(values[step->operands()->Get(j)]);
    values.push_back(terms.make(TermKind::operation, {step->operation()},
                                std::move(operands)));
  }
  return values[formula.value()];
}

void Machine::Rank::loadBatch() {
  if (machine.brokenRule == BrokenRule::inputsAreEqual)
    return;
  for (uint32_t i = 0; i < slice.slots.size(); ++i)
    if (!slice.slots[i].isRegister && slice.slots[i].space == Space::input)
      slots[i] = terms.given();
}

/// What a server's variables hold after others have had them.
void Machine::Rank::loseVariables(const Op &op) {
  if (!changesVariables(model, program, op) ||
      machine.brokenRule == BrokenRule::variablesAreKept)
    return;
  for (uint32_t i = 0; i < slice.slots.size(); ++i)
    if (!slice.slots[i].isRegister && slice.slots[i].space == Space::variable)
      slots[i] = terms.given();
}

/// Who comes last may be anyone, as if it were an input.
void Machine::Rank::lose(const std::vector<uint32_t> &list) {
  for (uint32_t slot : list)
    slots[slot] = terms.given();
}

void Machine::Rank::forget(const std::vector<uint32_t> &list) {
  for (uint32_t slot : list)
    slots[slot] = terms.fresh(true);
}

/// Leaves a local branch at once: what it writes is a function of what it may
/// read.
void Machine::Rank::summarize(const Op &op, const Branch &info) {
  if (slice.empty() ||
      machine.brokenRule == BrokenRule::localBranchesWriteNothing)
    return;
  const Footprint &footprint = slice.footprints[op.branch];
  if (footprint.receives)
    return forget(footprint.writes);
  const Bits &live = slice.live[program.flow.blockOf[info.op]];
  std::vector<TermId> inputs;
  for (const auto *list : {&footprint.reads, &footprint.writes})
    for (uint32_t slot : *list)
      if (test(live, slot))
        inputs.push_back(slots[slot]);
  visitSlots(
      model, program, op, [&](uint32_t slot) { inputs.push_back(slots[slot]); },
      [](uint32_t) {});
  for (uint32_t slot : footprint.writes)
    slots[slot] =
        terms.make(TermKind::summary, {program.index, op.branch, slot}, inputs);
}

} // namespace lockstep::runtime::verification
