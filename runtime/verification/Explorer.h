//===- Explorer.h - all ways that programs can go ---------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_EXPLORER_H
#define LOCKSTEP_RUNTIME_VERIFICATION_EXPLORER_H

#include "runtime/verification/Machine.h"

#include <optional>
#include <set>

namespace lockstep::runtime::verification {

/// How states are followed.
enum class Exploration : uint8_t {
  /// States that agree in what still matters are followed once; loops turn by
  /// turn where the number of
  /// turns is known.
  states,
  /// The same, but counters of loops in which others are met are forgotten at
  /// each turn.
  statesWithoutCounters,
  /// The same, and so is whatever else they carry from turn to turn, in memory.
  statesWithoutMemory,
  /// Every combination of outcomes is followed to its end; nothing is
  /// forgotten.
  cases,
};

/// What an exploration found.
struct Findings {
  enum class Kind : uint8_t { allEnd, blocks, gaveUp } kind = Kind::gaveUp;
  /// blocks: outcomes of all branches that others notice, on the way to the
  /// state where ranks wait for ever, and that state. As exact as the
  /// exploration: to be replayed.
  std::vector<Decision> outcomes;
  State final;
  /// gaveUp: why.
  std::string problem;
  /// Branches at which ranks stood undecided: program and op, and whether ranks
  /// held different values.
  std::map<std::pair<uint32_t, uint32_t>, bool> undecided;
  uint64_t states = 0, steps = 0;
};

/// Gives up after `maxSteps` steps, or when about `maxBytes` are kept.
Findings explore(const Model &model, Exploration exploration, uint64_t maxSteps,
                 uint64_t maxBytes, BrokenRule brokenRule);

/// Follows one way: each rank takes its own next decision wherever a condition
/// is not known.
struct Replay {
  State final;
  /// Those that were needed, in the order in which they were.
  std::vector<Decision> used;
  /// Rank -> commands at which it has met others.
  std::vector<std::vector<uint32_t>> met;
  /// Data can lead to all decisions together, as far as is known.
  bool feasible = true;
  /// Set: the decisions contradict each other, or do not fit the programs.
  std::optional<std::string> problem;
};
/// With `listsAll`, `decisions` lists every branch that others notice, also
/// those that follow from earlier ones; these must agree.
Replay replay(const Model &model, const std::vector<Decision> &decisions,
              bool listsAll, uint64_t maxSteps);

/// Whether somebody waits for ever in a state where all rest, or was left
/// waiting for.
bool isBlocked(const State &state);
/// What the end of a replay in which ranks wait for ever looks like: `places`
/// and `chain`.
CounterExample explain(const Model &model, const Replay &replay);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_EXPLORER_H
