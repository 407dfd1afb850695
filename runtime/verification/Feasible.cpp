//===- Feasible.cpp - whether data can lead somewhere ---------------------===//

#include "runtime/verification/Feasible.h"

#include <set>
#include <unordered_map>
#include <unordered_set>

namespace lockstep::runtime::verification {
namespace {

/// The order is found from its end, as a topological order is.
class Order {
public:
  Order(const Terms &terms, const std::map<TermId, bool> &outcomes,
        uint64_t &steps)
      : terms(terms), steps(steps) {
    std::map<std::vector<TermId>, uint32_t> questions;
    for (const auto &[term, holds] : outcomes)
      questions.try_emplace(terms[term].kind == TermKind::atLeast
                                ? terms[term].operands
                                : std::vector<TermId>{term},
                            uint32_t(questions.size()));
    values.resize(questions.size());
    for (const auto &[operands, question] : questions)
      for (TermId operand : operands)
        madeFrom[operand].insert(question);
    findValues();
  }

  bool exists() {
    std::vector<uint32_t> free;
    for (const auto &[value, questions] : askedBy)
      if (questions.size() == 1)
        free.push_back(*questions.begin());
    std::vector<bool> isOrdered(values.size(), false);
    size_t ordered = 0;
    while (!free.empty()) {
      uint32_t question = free.back();
      free.pop_back();
      if (isOrdered[question])
        continue;
      isOrdered[question] = true;
      ++ordered;
      for (TermId value : values[question]) {
        std::set<uint32_t> &left = askedBy[value];
        left.erase(question);
        if (left.size() == 1)
          free.push_back(*left.begin());
      }
    }
    return ordered == values.size();
  }

private:
  /// Goes from terms to what they are made from, which has lower numbers, up to
  /// what several questions are made from.
  void findValues() {
    while (!madeFrom.empty()) {
      ++steps;
      auto highest = std::prev(madeFrom.end());
      auto [id, questions] = std::move(*highest);
      madeFrom.erase(highest);
      const Term &term = terms[id];
      bool isValue =
          isSource(term) || (questions.size() > 1 && dependsOnSource(id));
      if (isValue) {
        for (uint32_t question : questions)
          values[question].push_back(id);
        askedBy[id] = questions;
      }
      if (questions.size() == 1)
        for (TermId operand : term.operands)
          madeFrom[operand].insert(questions.begin(), questions.end());
    }
  }

  /// Of what was scattered, each has a part of its own.
  static bool isSource(const Term &term) {
    return term.kind == TermKind::initial || term.kind == TermKind::given ||
           term.kind == TermKind::portion;
  }

  bool dependsOnSource(TermId id) {
    std::vector<TermId> work = {id};
    std::unordered_set<TermId> seen = {id};
    while (!work.empty()) {
      ++steps;
      const Term &term = terms[work.back()];
      work.pop_back();
      if (isSource(term))
        return true;
      for (TermId operand : term.operands)
        if (seen.insert(operand).second)
          work.push_back(operand);
    }
    return false;
  }

  const Terms &terms;
  uint64_t &steps;
  /// Terms that are still to be looked at, with the questions that are made
  /// from them.
  std::map<TermId, std::set<uint32_t>> madeFrom;
  /// Question -> the values that it depends on.
  std::vector<std::vector<TermId>> values;
  /// Value -> the questions left that depend on it.
  std::unordered_map<TermId, std::set<uint32_t>> askedBy;
};

} // namespace

bool areFeasible(const Terms &terms, const std::map<TermId, bool> &outcomes,
                 uint64_t &steps) {
  return Order(terms, outcomes, steps).exists();
}

} // namespace lockstep::runtime::verification
