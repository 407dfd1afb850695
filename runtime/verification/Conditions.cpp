//===- Conditions.cpp - what follows from what has been decided -----------===//

#include "runtime/verification/Machine.h"

namespace lockstep::runtime::verification {

std::optional<bool> Machine::implied(const State &state, TermId term) const {
  if (auto fact = state.facts.find(term); fact != state.facts.end())
    return fact->second;
  if (terms[term].kind != TermKind::atLeast)
    return std::nullopt;
  int64_t bound = terms[term].numbers[0];
  for (const auto &[other, holds] : state.facts) {
    const Term &known = terms[other];
    if (known.kind != TermKind::atLeast ||
        known.operands != terms[term].operands)
      continue;
    if (holds && bound <= known.numbers[0])
      return true;
    if (!holds && bound >= known.numbers[0])
      return false;
  }
  return std::nullopt;
}

/// left >= right. Counters do not overflow, which a program that ends within a
/// lifetime ensures.
Condition Machine::compare(TermId left, TermId right) {
  auto split = [&](TermId id) -> std::pair<TermId, int64_t> {
    const Term &term = terms[id];
    if (term.kind == TermKind::constant)
      return {Terms::nothing, term.numbers[0]};
    if (term.kind == TermKind::plus)
      return {term.operands[0], term.numbers[0]};
    return {id, 0};
  };
  auto [leftBase, leftOffset] = split(left);
  auto [rightBase, rightOffset] = split(right);
  if (leftBase == rightBase)
    return {leftOffset >= rightOffset};
  if (rightBase == Terms::nothing)
    return {std::nullopt,
            terms.make(TermKind::atLeast,
                       {int64_t(uint64_t(rightOffset) - uint64_t(leftOffset))},
                       {leftBase}),
            true};
  if (leftBase == Terms::nothing)
    return {
        std::nullopt,
        terms.make(TermKind::atLeast,
                   {int64_t(uint64_t(leftOffset) - uint64_t(rightOffset) + 1)},
                   {rightBase}),
        false};
  return {std::nullopt,
          terms.make(TermKind::atLeast,
                     {int64_t(uint64_t(rightOffset) - uint64_t(leftOffset))},
                     {leftBase, rightBase}),
          true};
}

} // namespace lockstep::runtime::verification
