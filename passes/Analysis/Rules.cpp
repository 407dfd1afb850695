//===- Rules.cpp - The rules of the checks before lowering ----------------===//

#include "passes/Analysis/Rules.h"

#include "llvm/ADT/STLExtras.h"

using namespace lockstep;
using llvm::ArrayRef, llvm::StringRef;

/// The names of the rules, in the order of the enumerators after `None`.
static constexpr StringRef kNames[] = {
    "ids-are-equal",
    "arguments-are-equal",
    "private-variables-are-equal",
    "parts-are-equal",
    "ranks-are-equal",
    "captures-are-ignored",
    "paths-are-ignored",
    "iterations-are-ignored",
    "joins-are-ignored",
    "conditions-are-ignored",
    "trip-counts-are-ignored",
    "groups-take-one-path",
    "orders-may-differ",
    "early-exits-are-ignored",
    "counts-may-differ",
    "kinds-may-differ",
    "reductions-may-differ",
    "groups-may-differ",
    "channels-may-differ",
    "attributes-may-differ",
    "types-may-differ",
    "side-sizes-may-differ",
    "bounds-may-differ",
    "nested-conditions-may-differ",
    "unknown-trip-counts-are-equal",
    "plain-arguments-may-differ",
    "merged-regions-may-differ",
    "orderless-regions-are-allowed",
    "calls-are-allowed",
    "assigned-values-may-differ",
    "assignments-may-be-missing",
    "updates-may-differ",
    "results-of-runs-may-differ",
    "plain-values-may-differ",
    "returned-values-may-differ",
    "sizes-may-differ",
};
static_assert(std::size(kNames) ==
                  static_cast<size_t>(UniformityRule::SizesMayDiffer),
              "a name for each rule");

std::optional<UniformityRule> lockstep::parseBrokenRule(StringRef name) {
  if (name.empty())
    return UniformityRule::None;
  const StringRef *found = llvm::find(kNames, name);
  if (found == std::end(kNames))
    return std::nullopt;
  return static_cast<UniformityRule>(found - std::begin(kNames) + 1);
}

ArrayRef<StringRef> lockstep::getRuleNames() { return kNames; }
