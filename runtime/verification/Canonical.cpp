//===- Canonical.cpp - what still matters of a state ----------------------===//

#include "runtime/verification/Canonical.h"

#include <unordered_map>
#include <unordered_set>

namespace lockstep::runtime::verification {
namespace {

/// Gives new names to what is unknown.
class Renamer {
public:
  explicit Renamer(Terms &terms) : terms(terms) {}

  /// Who holds a piece of a value knows that it is one of that.
  void hold(TermId id) {
    held.insert(id);
    if (terms[id].kind == TermKind::part)
      held.insert(terms[id].operands[0]);
  }

  /// The new name of a value that is held.
  TermId rename(TermId id) {
    if (std::optional<TermId> renamed = tryRename(id, 0))
      return *renamed;
    return Terms::nothing;
  }

  /// Nothing if it is made from values that nobody holds any more.
  std::optional<TermId> tryRename(TermId id, unsigned level) {
    if (auto known = renamed.find(id); known != renamed.end())
      return known->second;
    // By value: making terms moves the table.
    Term term = terms[id];
    std::optional<TermId> result;
    if (term.kind == TermKind::nothing || term.kind == TermKind::constant)
      result = id;
    // Terms that grow from turn to turn of a loop must not keep states apart:
    // deep ones lose their parts and keep their identity.
    else if (term.kind == TermKind::part && held.count(id))
      result = rebuild(term, level);
    else if (!term.operands.empty() && term.kind != TermKind::counter &&
             level < deepest && term.depth <= deepest)
      result = rebuild(term, level);
    if (!result && held.count(id))
      result = terms.make(TermKind::same, {serial++}, {}, term.isPrivate);
    // What cannot be renamed now cannot be later: what is held does not change.
    return renamed[id] = result;
  }

private:
  std::optional<TermId> rebuild(Term term, unsigned level) {
    for (TermId &operand : term.operands) {
      std::optional<TermId> part = tryRename(operand, level + 1);
      if (!part)
        return std::nullopt;
      operand = *part;
    }
    return terms.make(std::move(term));
  }

  static constexpr unsigned deepest = 4;
  Terms &terms;
  std::unordered_set<TermId> held;
  std::unordered_map<TermId, std::optional<TermId>> renamed;
  int64_t serial = 0;
};

/// Calls `visit` with each value of a state that may still be read, and drops
/// the others.
template <typename Visit>
void visitValues(const Model &model, State &state, Visit visit) {
  uint32_t first = 0;
  for (uint32_t rank = 0; rank < state.ranks.size(); ++rank) {
    if (model.programOf[rank] == none)
      continue;
    const Program &program = model.programs[model.programOf[rank]];
    const RankState &own = state.ranks[rank];
    const Bits *live = nullptr;
    if (!program.slice.empty() && own.op < program.flow.ownOps)
      live = &program.slice.live[program.flow.blockOf[own.op]];
    for (uint32_t i = 0; i < program.slice.slots.size(); ++i) {
      TermId &value = state.slots[first + i];
      if (own.status == RankStatus::ended || (live && !test(*live, i)))
        value = Terms::nothing;
      else
        visit(value);
    }
    first += uint32_t(program.slice.slots.size());
  }
  for (auto &[channel, instance] : state.open)
    for (auto &operands : instance.operands)
      for (TermId &value : operands)
        visit(value);
  for (auto &[key, results] : state.results)
    for (TermId &value : results)
      visit(value);
}

} // namespace

void canonicalize(const Model &model, Terms &terms, State &state) {
  Renamer renamer(terms);
  visitValues(model, state, [&](TermId &value) { renamer.hold(value); });
  visitValues(model, state,
              [&](TermId &value) { value = renamer.rename(value); });
  std::map<TermId, bool> facts;
  for (auto [term, holds] : state.facts)
    if (std::optional<TermId> renamed = renamer.tryRename(term, 0))
      facts[*renamed] = holds;
  state.facts = std::move(facts);
}

std::string encode(const State &state, BrokenRule brokenRule) {
  std::string code;
  auto add = [&](uint64_t number) {
    code.append(reinterpret_cast<const char *>(&number), sizeof(number));
  };
  auto addAll = [&](const auto &list) {
    add(list.size());
    for (auto number : list)
      add(number);
  };
  for (const RankState &rank : state.ranks) {
    add(uint64_t(rank.op) << 8 | uint64_t(rank.status));
    add(uint64_t(rank.turn) << 32 | rank.channel);
  }
  code.append(reinterpret_cast<const char *>(state.slots.data()),
              state.slots.size() * sizeof(TermId));
  if (brokenRule != BrokenRule::startsAreIgnored) {
    for (const auto &[channel, instance] : state.open) {
      add(channel);
      addAll(instance.arrived);
      for (const auto &operands : instance.operands)
        addAll(operands);
    }
    add(~uint64_t(0));
  }
  for (const auto &[key, results] : state.results) {
    add(uint64_t(key.first) << 32 | key.second);
    addAll(results);
  }
  add(~uint64_t(0));
  for (auto [term, holds] : state.facts)
    add(uint64_t(term) << 1 | holds);
  return code;
}

} // namespace lockstep::runtime::verification
