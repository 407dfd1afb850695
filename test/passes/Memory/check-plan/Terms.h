//===- Terms.h - values as terms of operands ------------------------------===//
//
// Two runs of a step, one on tensors and one on memory, are compared by the
// terms of their values: a kernel's result is the kernel's name applied to the
// terms of its operands. Equal terms are one number. A term stands for the
// value of any one replica; it is uniform if all replicas have the same.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_PASSES_MEMORY_TERMS_H
#define LOCKSTEP_TEST_PASSES_MEMORY_TERMS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace lockstep::test {

using Term = unsigned;

/// All terms of both runs, and the decisions on them.
class Terms {
public:
  /// `random` decides branches and bounds, whose terms have no numbers.
  explicit Terms(unsigned seed) : random(seed) {}

  /// `name` applied to `operands`; uniform if the operands are.
  Term apply(llvm::Twine name, llvm::ArrayRef<Term> operands) {
    bool uniform = true;
    std::string text = name.str() + "(";
    for (Term operand : operands) {
      uniform &= isUniform(operand);
      text += "#" + std::to_string(operand);
    }
    return intern(text + ")", uniform);
  }

  /// A value from outside, or the result of an exchange.
  Term intern(llvm::StringRef text, bool uniform) {
    auto [it, added] = numbers.try_emplace(text.str(), texts.size());
    if (added) {
      texts.push_back(text.str());
      uniforms.push_back(uniform);
    }
    return it->second;
  }

  /// A constant by its bytes.
  Term constant(llvm::StringRef bytes) {
    return intern("constant " + llvm::toHex(bytes), true);
  }

  bool isUniform(Term term) const { return uniforms[term]; }
  const std::string &print(Term term) const { return texts[term]; }

  /// The tensor run makes a random decision on `term`, between `low` and
  /// `high`, and records it.
  int64_t decide(Term term, int64_t low, int64_t high) {
    int64_t value = std::uniform_int_distribution<int64_t>(low, high)(random);
    decisions[term].push_back(value);
    return value;
  }

  bool hasDecided() const { return !decisions.empty(); }

  /// The memory run decides the same; nullopt if the tensors' run decided
  /// nothing on `term`, or less often.
  std::optional<int64_t> repeat(Term term) {
    std::vector<int64_t> &made = decisions[term];
    size_t &next = repeated[term];
    return next < made.size() ? std::optional(made[next++]) : std::nullopt;
  }

private:
  std::map<std::string, Term> numbers;
  std::vector<std::string> texts;
  std::vector<bool> uniforms;
  std::map<Term, std::vector<int64_t>> decisions;
  std::map<Term, size_t> repeated;
  std::mt19937 random;
};

/// The observable effects of a run.
struct Trace {
  /// Each collective and barrier in the order of starts, with the terms of its
  /// operands.
  std::vector<std::string> exchanges;
  /// Terms of outputs, and of variables at the end, by "kind name".
  std::map<std::string, Term> results;
};

} // namespace lockstep::test

#endif
