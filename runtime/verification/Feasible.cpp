//===- Feasible.cpp - whether data can lead somewhere ---------------------===//

#include "runtime/verification/Feasible.h"

#include <set>
#include <unordered_map>
#include <unordered_set>

namespace lockstep::runtime::verification {
namespace {

class Matching {
public:
  Matching(const Terms &terms, const std::map<TermId, bool> &outcomes) : terms(terms) {
    std::set<std::vector<TermId>> questions;
    for (const auto &[term, holds] : outcomes)
      questions.insert(terms[term].kind == TermKind::atLeast ? terms[term].operands : std::vector<TermId>{term});
    for (const std::vector<TermId> &question : questions)
      sources.push_back(sourcesOf(question, questions.size()));
  }

  bool find() {
    for (uint32_t question = 0; question < sources.size(); ++question) {
      tried.clear();
      if (!match(question))
        return false;
    }
    return true;
  }

private:
  /// What the terms are made from. As many as there are questions are enough to find one that is left.
  std::vector<TermId> sourcesOf(const std::vector<TermId> &question, size_t enough) const {
    std::vector<TermId> found, work = question;
    std::unordered_set<TermId> seen(question.begin(), question.end());
    while (!work.empty() && found.size() < enough) {
      TermId id = work.back();
      work.pop_back();
      const Term &term = terms[id];
      if (term.kind == TermKind::initial || term.kind == TermKind::given)
        found.push_back(id);
      for (TermId operand : term.operands)
        if (seen.insert(operand).second)
          work.push_back(operand);
    }
    return found;
  }

  bool match(uint32_t question) {
    for (TermId source : sources[question]) {
      if (!tried.insert(source).second)
        continue;
      auto [taken, isFree] = questionOf.try_emplace(source, question);
      if (isFree || match(taken->second)) {
        questionOf[source] = question;
        return true;
      }
    }
    return false;
  }

  const Terms &terms;
  std::vector<std::vector<TermId>> sources;
  std::unordered_map<TermId, uint32_t> questionOf;
  std::unordered_set<TermId> tried;
};

} // namespace

bool areFeasible(const Terms &terms, const std::map<TermId, bool> &outcomes) { return Matching(terms, outcomes).find(); }

} // namespace lockstep::runtime::verification
