//===- Verification.h - proof that programs cannot block --------*- C++ -*-===//
//
// Programs of one name run together, one of them on each rank. `prove` answers
// whether replicas can wait for each other for ever, whatever the data: the
// members of a group may meet in different orders, one may end early, a branch
// or the number of turns of a loop may differ between them.
//
// How: one role in which all conditions are provably equal on all its ranks
// goes one way, and needs a data-flow analysis of one program, linear in its
// commands. Else the programs are executed against each other, on symbolic
// values, all ranks at a time (`Machine.h`); where all rest and some stand at
// a condition that is not known, both outcomes are followed, on all ranks that
// hold the same value at once (`Explorer.h`). States that agree in everything
// that still matters are followed once, and values that nobody will read do not
// matter: so ways that part and meet again cost their sum, not their product,
// and a loop is followed until its head is reached in a state that was there
// before.
//
// Cost: O(ranks * commands that matter) for a way without undecided conditions.
// With conditions: O(states * (ranks * values that may be read + commands to
// the next state)), with two states for a condition in a sequence of them. It
// is exponential only in conditions that are undecided, differ between ranks
// and lie open at the same time, or are read again later; there limits on steps
// and on memory end the search, and the verdict is "not provable".
//
// What is assumed: see docs/verification.md.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_VERIFICATION_H
#define LOCKSTEP_RUNTIME_VERIFICATION_VERIFICATION_H

#include "runtime/artifact/artifact_generated.h"
#include "runtime/support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime::verification {

using artifact::Verdict;

/// A rule of the proof to leave out, so that tests can show what it is good
/// for. Never set elsewhere.
enum class BrokenRule : uint8_t {
  none,
  /// A wait needs nobody.
  waitsReturn,
  /// A barrier needs nobody.
  barriersReturn,
  /// A once section needs nobody.
  onceReturns,
  /// Who has ended counts as arrived.
  endedRanksArrive,
  /// Who has no program counts as arrived.
  absentRanksArrive,
  /// Only one outcome of a condition is followed.
  oneOutcome,
  /// Inputs and private variables are equal on all ranks.
  inputsAreEqual,
  /// The number of a rank is no constant of the rank.
  ranksAreEqual,
  /// Parts of a scattered value are equal.
  partsAreEqual,
  /// Groups that do the same get the same.
  groupsAreEqual,
  /// What a launch overwrites keeps its value.
  launchesWriteNothing,
  /// A write touches no buffer but its own.
  overlapsAreIgnored,
  /// A branch at which nobody is met leaves nothing behind.
  localBranchesWriteNothing,
  /// Any two ways of a branch meet the same others.
  anyWaysAreEqual,
  /// Programs need not agree on what a channel is.
  channelsMayDiffer,
  /// States are the same whoever has started what.
  startsAreIgnored,
  /// What a replica writes in a once section for itself, all have written.
  onceWritesForAll,
  /// Every member of a collective gets its result, whoever has the root.
  allReceive,
  /// A wait overwrites the results of its collective, also of a rank that gets
  /// none.
  waitsOverwrite,
  /// It makes no difference which replica executes a once section.
  onceReadsForAll,
  /// While a server waits, other workers leave its variables as they are.
  variablesAreKept,
  /// One role: values written on ways that differ are equal if what they are
  /// made from is.
  waysAreEqual,
  /// Conditions that depend on the same values may have any outcomes. Lets
  /// nothing pass, but calls wrong what is not known.
  allIsFeasible,
};

struct Options {
  /// Steps of ranks that are followed before the verdict is "not provable".
  uint64_t maxSteps = 20'000'000;
  /// Bytes that may be kept of states and values, about, before it is.
  uint64_t maxBytes = uint64_t(256) << 20;
  BrokenRule brokenRule = BrokenRule::none;
};

/// At this command the rank found its condition true (`held`) or false: i1 for
/// a branch_unless, the comparison for a branch_greater_equal. Later ones that
/// follow from it are not listed.
struct Decision {
  uint32_t rank = 0;
  uint32_t command = 0;
  bool held = false;

  bool operator==(const Decision &) const = default;
};

/// A start, wait, barrier or once section that a rank has got through.
struct Meeting {
  uint32_t command = 0;
  std::string text;
};

/// Where a rank has come to rest.
struct Place {
  enum class Status : uint8_t {
    ended,
    waits,
    undecided,
    absent
  } status = Status::ended;
  uint32_t rank = 0;
  std::string role;
  uint32_t command = 0;
  /// "train.py:42: wait for channel 3".
  std::string text;
  uint32_t channel = 0;
  /// Members that have not arrived at what it waits for.
  std::vector<uint32_t> missing;
  /// Where it met others before, from the first to the last.
  std::vector<Meeting> met;
};

/// An execution in which ranks wait for ever.
struct CounterExample {
  /// What was found at conditions that are not known, in the order in which
  /// each rank came to them.
  std::vector<Decision> decisions;
  /// All ranks, ascending.
  std::vector<Place> places;
  /// Ranks of which each waits for the next; the last waits for the first,
  /// unless it has ended or has no program.
  std::vector<uint32_t> chain;
};

/// A condition that only the execution decides, although others notice.
struct DynamicBranch {
  std::string role;
  uint32_t command = 0;
  std::string text;
  /// Ranks need not agree; the proof holds for all ways they may go.
  bool differs = false;
};

/// A loop that ends when its data says so. The proof assumes that it does: who
/// goes round in it for ever is waited for by others.
struct AssumedLoop {
  std::string role;
  /// Where its way out is taken or not.
  uint32_t command = 0;
  std::string text;
};

struct Proof {
  Verdict verdict = Verdict::not_provable;
  /// How it was found: "one order" (one role, all ranks go the same way), "all
  /// states", "all states, turn by turn" (of loops), "all cases" (nothing
  /// forgotten), "gave up".
  std::string method;
  /// For a verdict other than proven: what is wrong, or which condition could
  /// not be decided.
  std::string reason;
  CounterExample counterExample;
  std::vector<DynamicBranch> dynamic;
  /// Whether or not others notice what they do.
  std::vector<AssumedLoop> loops;
  uint64_t states = 0, steps = 0;
};

/// Names of all programs, each once, in their order.
std::vector<std::string> programNames(const artifact::Artifact &artifact);

/// Runs the programs called `name` against each other. Error: the tables
/// contradict themselves, which the loader refuses.
Expected<Proof> prove(const artifact::Artifact &artifact, std::string_view name,
                      const Options &options = {});

/// Only the linear analysis of one role; nothing is proven if there are
/// several, or their ways differ.
Expected<Proof> proveOneOrder(const artifact::Artifact &artifact,
                              std::string_view name);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_VERIFICATION_H
