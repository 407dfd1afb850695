//===- ValueNames.cpp - values shared by roles ----------------------------===//

#include "runtime/verification/ValueNames.h"

#include "runtime/collectives/CollectiveKinds.h"
#include "runtime/schema/Tables.h"

#include <algorithm>

namespace lockstep::runtime::verification {

using artifact::CommandBody;
using artifact::count;
using artifact::Space;

//===----------------------------------------------------------------------===//
// NameTable
//===----------------------------------------------------------------------===//

NameId NameTable::get(Kind kind, std::vector<uint64_t> operands) {
  operands.insert(operands.begin(), uint64_t(kind));
  auto [found, isNew] = ids.try_emplace(operands, NameId(keys.size()));
  if (isNew)
    keys.push_back(std::move(operands));
  return found->second;
}

NameId NameTable::getOf(Kind kind, std::vector<uint64_t> operands,
                        const std::vector<NameId> &values) {
  for (NameId value : values) {
    if (value == none)
      return none;
    operands.push_back(value);
  }
  return get(kind, std::move(operands));
}

NameId NameTable::piece(NameId value, uint64_t offset, uint64_t size) {
  return getOf(Kind::piece, {offset, size}, {value});
}

NameId NameTable::loaded(NameId value, artifact::ElementType element) {
  return getOf(Kind::loaded, {uint64_t(element)}, {value});
}

NameId NameTable::computed(uint32_t kernel, uint32_t result, uint64_t size,
                           const std::vector<NameId> &operands) {
  return getOf(Kind::computed, {kernel, result, size}, operands);
}

NameId NameTable::counter(uint32_t loop, NameId first, NameId step) {
  return getOf(Kind::counter, {loop}, {first, step});
}

NameId NameTable::comparison(NameId left, NameId right) {
  return getOf(Kind::comparison, {}, {left, right});
}

NameId NameTable::join(const std::vector<NameId> &pieces, uint64_t size) const {
  // A piece has the key {kind, offset, size, value}.
  uint64_t offset = 0;
  NameId value = none;
  for (NameId name : pieces) {
    if (name == none || keys[name][0] != uint64_t(Kind::piece))
      return none;
    const std::vector<uint64_t> &key = keys[name];
    if (key[1] != offset || (value != none && key[3] != value))
      return none;
    value = NameId(key[3]);
    offset += key[2];
  }
  if (value == none || offset != size)
    return none;
  const std::vector<uint64_t> &whole = keys[value];
  bool hasSize = whole[0] == uint64_t(Kind::exchange) ||
                 whole[0] == uint64_t(Kind::computed) ||
                 whole[0] == uint64_t(Kind::memory);
  return hasSize && whole[3] == size ? value : NameId(none);
}

//===----------------------------------------------------------------------===//
// ConditionNames
//===----------------------------------------------------------------------===//

ConditionNames::ConditionNames(const Model &model, const Program &program,
                               const ControlTree &tree,
                               const std::vector<uint32_t> &loopClasses,
                               NameTable &table, ProofRule brokenRule)
    : model(model), program(program), tree(tree), loopClasses(loopClasses),
      table(table), brokenRule(brokenRule) {
  if (program.slice.empty())
    return;
  findCounters();
  findSections();
  run();
}

/// Finds registers that exactly one op of a loop writes, which adds a
/// loop-invariant value in each iteration.
void ConditionNames::findCounters() {
  struct Writes {
    uint32_t writes = 0, add = none;
  };
  std::map<std::pair<uint32_t, uint32_t>, Writes> found;
  for (uint32_t i = 0; i < program.ops.size(); ++i) {
    const Op &op = program.ops[i];
    const artifact::Command &table = program.table(op);
    uint32_t index;
    bool adds = false;
    if (const auto *set = table.body_as_SetRegister()) {
      index = set->register_();
    } else if (const auto *load = table.body_as_LoadRegister()) {
      index = load->register_();
    } else if (const auto *add = table.body_as_AddRegister()) {
      index = add->register_();
      adds = tree.inEachIteration[program.flow.blockOf[i]];
    } else {
      continue;
    }
    uint32_t innermost = tree.loopOf[program.flow.blockOf[i]];
    for (uint32_t loop = innermost; loop != none;
         loop = tree.nodes[loop].place.node) {
      if (tree.nodes[loop].kind != TreeNode::Kind::loop)
        continue;
      Writes &writes = found[{loop, index}];
      ++writes.writes;
      if (adds && loop == innermost)
        writes.add = i;
    }
  }
  for (auto &[place, writes] : found) {
    auto [loop, index] = place;
    if (writes.writes != 1 || writes.add == none)
      continue;
    uint32_t source =
        program.table(program.ops[writes.add]).body_as_AddRegister()->source();
    uint32_t slot = program.slice.registerSlots[index],
             step = program.slice.registerSlots[source];
    if (slot != none && step != none && !found.contains({loop, source}))
      counters[loop].push_back({slot, step});
  }
}

void ConditionNames::findSections() {
  inSection.assign(program.ops.size(), false);
  uint32_t end = 0;
  for (uint32_t i = 0; i < program.ops.size(); ++i) {
    inSection[i] = i < end;
    if (program.ops[i].kind == OpKind::once)
      end = program.table(program.ops[i]).body_as_Once()->end();
  }
}

void ConditionNames::run() {
  const std::vector<Block> &blocks = program.flow.blocks;
  before.resize(blocks.size());
  reached.assign(blocks.size(), false);
  queued.assign(blocks.size(), false);
  State initial;
  for (uint32_t slot = 0; slot < program.slice.slots.size(); ++slot)
    if (program.slice.slots[slot].isRegister)
      initial[slot] = table.number(0);
  merge(none, 0, initial);
  while (!worklist.empty()) {
    uint32_t block = worklist.back();
    worklist.pop_back();
    queued[block] = false;
    State state = before[block];
    for (uint32_t i = blocks[block].begin; i < blocks[block].end; ++i)
      if (!program.slice.skips(program.ops[i], i))
        execute(i, state);
    for (uint32_t successor : blocks[block].successors)
      if (successor != none && merge(block, successor, state)) {
        reached[successor] = true;
        if (!queued[successor])
          worklist.push_back(successor);
        queued[successor] = true;
      }
  }
}

/// The meet over the edges into a block: names that hold on all of them.
/// Returns whether the names have changed.
bool ConditionNames::merge(uint32_t from, uint32_t to, const State &state) {
  State arriving = state;
  uint32_t loop = tree.loopAt(to);
  bool isNextIteration =
      loop != none && from != none && tree.contains(loop, from);
  if (loop != none && !isNextIteration)
    enterLoop(loop, arriving);
  if (from == none) {
    before[to] = std::move(arriving);
    worklist.push_back(to);
    return reached[to] = queued[to] = true;
  }
  if (!reached[to]) {
    before[to] = std::move(arriving);
    return true;
  }
  auto isCounter = [&](uint32_t slot) {
    auto own = counters.find(loop);
    return isNextIteration && own != counters.end() &&
           std::any_of(
               own->second.begin(), own->second.end(),
               [&](const Counter &counter) { return counter.slot == slot; });
  };
  return std::erase_if(before[to], [&](const auto &entry) {
           auto found = arriving.find(entry.first);
           return !isCounter(entry.first) &&
                  (found == arriving.end() || found->second != entry.second);
         }) != 0;
}

/// Names the counters of a loop at its entry.
void ConditionNames::enterLoop(uint32_t node, State &state) const {
  uint32_t loopClass = loopClasses[node];
  auto own = counters.find(node);
  if (own == counters.end())
    return;
  for (const Counter &counter : own->second) {
    auto first = state.find(counter.slot), step = state.find(counter.stepSlot);
    if (first == state.end())
      continue;
    NameId name = none;
    if (step != state.end())
      name = brokenRule == ProofRule::countersAreEqual
                 ? table.counter(loopClass, table.number(0), table.number(0))
                 : table.counter(loopClass, first->second, step->second);
    if (name == none)
      state.erase(first);
    else
      first->second = name;
  }
}

void ConditionNames::execute(uint32_t index, State &state) {
  const Op &op = program.ops[index];
  const artifact::Command &command = program.table(op);
  isInSection = inSection[index];
  if (changesVariables(model, program, op) &&
      brokenRule != ProofRule::variablesAreKept)
    forgetSpace(state, Space::variable);
  switch (op.kind) {
  case OpKind::start:
    if (const artifact::Start *body = command.body_as_Start())
      start(index, *body, state);
    break;
  case OpKind::wait: {
    uint32_t begun = program.starts[op.channel];
    const artifact::Start *body =
        begun == none ? nullptr
                      : program.tables->commands()->Get(begun)->body_as_Start();
    bool isCommon = body &&
                    CollectiveProperties::of(body->kind()).isSameForAll() &&
                    allReceive(model, model.channels[op.channel], program);
    for (uint32_t i = 0; body && i < count(body->results()); ++i) {
      uint32_t result = body->results()->Get(i);
      write(result,
            isCommon ? table.exchanged(op.channel, i, buffer(result).size())
                     : NameId(none),
            state);
    }
    break;
  }
  case OpKind::branch: {
    NameId name = none;
    if (const auto *unless = command.body_as_BranchUnless())
      name = read(unless->condition(), state);
    else if (const auto *compare = command.body_as_BranchGreaterEqual())
      name = table.comparison(readRegister(compare->lhs(), state),
                              readRegister(compare->rhs(), state));
    conditions[index] = name;
    break;
  }
  case OpKind::next:
    forgetSpace(state, Space::input);
    break;
  case OpKind::setRegister:
    writeRegister(command.body_as_SetRegister()->register_(),
                  table.number(command.body_as_SetRegister()->value()), state);
    break;
  case OpKind::addRegister: {
    const artifact::AddRegister *add = command.body_as_AddRegister();
    NameId left = readRegister(add->register_(), state),
           right = readRegister(add->source(), state), sum = none;
    if (table.isNumber(left) && table.isNumber(right))
      sum = table.number(int64_t(uint64_t(table.valueOf(left)) +
                                 uint64_t(table.valueOf(right))));
    writeRegister(add->register_(), sum, state);
    break;
  }
  case OpKind::loadRegister: {
    const artifact::LoadRegister *load = command.body_as_LoadRegister();
    const artifact::TensorType *type = buffer(load->buffer()).type();
    writeRegister(
        load->register_(),
        type ? table.loaded(read(load->buffer(), state), type->element())
             : NameId(none),
        state);
    break;
  }
  case OpKind::compute:
    if (const artifact::Launch *body = command.body_as_Launch())
      launch(*body, state);
    else if (const artifact::Copy *copy = command.body_as_Copy())
      write(copy->destination(),
            buffer(copy->source()).size() == buffer(copy->destination()).size()
                ? read(copy->source(), state)
                : NameId(none),
            state);
    break;
  default:
    break;
  }
}

void ConditionNames::forgetSpace(State &state, Space space) const {
  std::erase_if(state, [&](const auto &entry) {
    const Slot &slot = program.slice.slots[entry.first];
    return !slot.isRegister && slot.space == space;
  });
}

/// The operand of the sending role has the name of the exchanged value. If it
/// differed between ranks of the role, a decision that depends on it would be
/// rejected (OneOrder.h).
void ConditionNames::start(uint32_t index, const artifact::Start &start,
                           State &state) {
  uint32_t channel = program.ops[index].channel;
  uint32_t root = model.channels[channel].root;
  const CollectiveProperties &kind = CollectiveProperties::of(start.kind());
  bool sends = kind.isSameForAll() && kind.operandHolders == Holders::root &&
               root >= program.firstRank &&
               root - program.firstRank < program.ranks;
  for (uint32_t i = 0; sends && i < count(start.operands()); ++i) {
    uint32_t operand = start.operands()->Get(i);
    // A variable that other workers may change meanwhile need not equal the
    // sent value.
    bool isKept = !model.serversAreShared || program.firstRank == 0 ||
                  buffer(operand).space() != Space::variable;
    if (isKept || brokenRule == ProofRule::variablesAreKept)
      write(operand, table.exchanged(channel, i, buffer(operand).size()),
            state);
  }
  // The results are undefined until the wait.
  for (uint32_t i = 0; i < count(start.results()); ++i)
    write(start.results()->Get(i), none, state);
}

void ConditionNames::launch(const artifact::Launch &launch, State &state) {
  std::vector<NameId> operands;
  for (uint32_t i = 0; i < launch.reads(); ++i)
    operands.push_back(read(launch.buffers()->Get(i), state));
  for (uint32_t i = 0; i < count(launch.registers()); ++i)
    operands.push_back(readRegister(launch.registers()->Get(i), state));
  if (brokenRule == ProofRule::launchesWriteNothing)
    return;
  for (uint32_t i = launch.reads(); i < count(launch.buffers()); ++i) {
    uint32_t result = launch.buffers()->Get(i);
    write(result,
          table.computed(launch.kernel(), i - launch.reads(),
                         buffer(result).size(), operands),
          state);
  }
}

//===--- Operands ---------------------------------------------------------===//

NameId ConditionNames::read(uint32_t index, const State &state) const {
  const artifact::Buffer &b = buffer(index);
  bool hasStaticSize = true;
  forEachSizeRegister(b, [&](uint32_t) { hasStaticSize = false; });
  if (!hasStaticSize)
    return none;
  if (b.space() == Space::scalar || b.space() == Space::constant)
    return table.memory(b);
  if (index >= program.slice.bufferSlots.size())
    return none;
  SlotRange range = program.slice.bufferSlots[index];
  std::vector<NameId> names;
  for (uint32_t i = 0; i < range.count; ++i) {
    auto found = state.find(range.first + i);
    if (found == state.end())
      return none;
    names.push_back(found->second);
  }
  if (names.size() == 1)
    return names[0];
  return names.empty() ? NameId(none) : table.join(names, b.size());
}

NameId ConditionNames::readRegister(uint32_t index, const State &state) const {
  uint32_t slot = program.slice.registerSlots[index];
  auto found = slot == none ? state.end() : state.find(slot);
  return found == state.end() ? NameId(none) : found->second;
}

/// A value written in a once section was computed by one replica: it has no
/// name.
void ConditionNames::write(uint32_t index, NameId name, State &state) {
  if (index >= program.slice.bufferSlots.size())
    return;
  const artifact::Buffer &b = buffer(index);
  forEachSizeRegister(b, [&](uint32_t) { name = none; });
  if (isInSection)
    name = none;
  SlotRange range = program.slice.bufferSlots[index];
  for (uint32_t i = 0; i < range.count; ++i) {
    const Slot &slot = program.slice.slots[range.first + i];
    NameId part = name == none || range.count == 1
                      ? name
                      : table.piece(name, slot.offset - b.offset(), slot.size);
    if (part == none)
      state.erase(range.first + i);
    else
      state[range.first + i] = part;
  }
}

void ConditionNames::writeRegister(uint32_t index, NameId name,
                                   State &state) const {
  uint32_t slot = program.slice.registerSlots[index];
  if (slot == none)
    return;
  if (name == none || isInSection)
    state.erase(slot);
  else
    state[slot] = name;
}

} // namespace lockstep::runtime::verification
