//===- Terms.cpp ----------------------------------------------------------===//

#include "runtime/verification/Terms.h"

#include <algorithm>

namespace lockstep::runtime::verification {

size_t Terms::Hash::operator()(const Term &term) const {
  uint64_t hash = uint64_t(term.kind) * 2 + term.isPrivate;
  auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  for (int64_t number : term.numbers)
    mix(uint64_t(number));
  for (TermId operand : term.operands)
    mix(operand);
  return hash;
}

bool Terms::Equal::operator()(const Term &left, const Term &right) const {
  return left.kind == right.kind && left.isPrivate == right.isPrivate &&
         left.numbers == right.numbers && left.operands == right.operands;
}

Terms::Terms() { make(TermKind::nothing, {}, {}); }

TermId Terms::make(TermKind kind, std::initializer_list<int64_t> numbers,
                   std::vector<TermId> operands, bool isPrivate) {
  return make(Term{kind, isPrivate, 0, numbers, std::move(operands)});
}

TermId Terms::make(Term term) {
  // What a collective of several returns is common to them, whatever it was
  // made from.
  bool inherits = term.kind != TermKind::collective;
  term.depth = 0;
  for (TermId operand : term.operands) {
    term.isPrivate |= inherits && terms[operand]->isPrivate;
    term.depth = std::max(term.depth, terms[operand]->depth + 1);
  }
  auto [entry, isNew] = ids.try_emplace(std::move(term), TermId(terms.size()));
  if (isNew) {
    const Term &made = entry->first;
    terms.push_back(&made);
    constexpr uint64_t ofTable = 64;
    taken += sizeof(Term) + ofTable + made.numbers.size() * sizeof(int64_t) +
             made.operands.size() * sizeof(TermId);
  }
  return entry->second;
}

TermId Terms::add(TermId left, TermId right) {
  auto split = [&](TermId id) -> std::pair<TermId, uint64_t> {
    const Term &term = *terms[id];
    if (term.kind == TermKind::constant)
      return {nothing, uint64_t(term.numbers[0])};
    if (term.kind == TermKind::plus)
      return {term.operands[0], uint64_t(term.numbers[0])};
    return {id, 0};
  };
  auto [leftBase, leftOffset] = split(left);
  auto [rightBase, rightOffset] = split(right);
  int64_t offset = int64_t(leftOffset + rightOffset);
  TermId base = leftBase == nothing ? rightBase : leftBase;
  if (leftBase != nothing && rightBase != nothing)
    base = make(TermKind::sum, {},
                {std::min(leftBase, rightBase), std::max(leftBase, rightBase)});
  if (base == nothing)
    return constant(offset);
  return offset ? make(TermKind::plus, {offset}, {base}) : base;
}

} // namespace lockstep::runtime::verification
