//===- Verification.h - proof that programs cannot block --------*- C++ -*-===//
//
// Programs of one name run together, one of them on each rank. `prove` answers
// whether ranks can wait for each other forever, whatever the data: members of
// a group may start exchanges in different orders, one may end early, a branch
// or the number of iterations of a loop may differ between them.
//
// One role: all conditions that others can notice are provably equal on all of
// its ranks, so they all follow one path (OneOrder.h). Several roles: besides,
// their programs are projections of one program (Projections.h). Both are
// data-flow analyses, linear in the commands times their depth of nesting, so a
// loader repeats them on every load. What they do not show is not provable, and
// refused: an example of what goes wrong is searched where the program was
// written (`verify-uniformity`).
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

/// A rule of the proof to leave out, so that tests can show what it is good
/// for. Never set elsewhere.
enum class BrokenRule : uint8_t {
  none,
  // Ranks of one role.
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
  /// A branch without exchanges leaves nothing behind that may differ.
  localBranchesWriteNothing,
  /// What a replica writes in a once section for itself, all have written.
  onceWritesForAll,
  // Several roles.
  /// Programs need not agree on what a channel is.
  channelsMayDiffer,
  /// Not all members of a channel need to start it.
  membersMayBeAbsent,
  /// Loops and branches around an exchange need not be the same.
  pathsMayDiffer,
  /// Roles may start exchanges in different orders.
  ordersMayDiffer,
  /// Roles may decide differently.
  decisionsMayDiffer,
  /// Roles may leave a loop at different places.
  exitsMayDiffer,
  /// Loops that are executed together count alike.
  countersAreEqual,
  /// While a server waits, other workers leave its variables as they are.
  variablesAreKept,
};

/// A branch with exchanges on one of its sides, whose condition only the
/// execution decides, alike on all ranks that take part.
struct DynamicBranch {
  std::string role;
  uint32_t command = 0;
  std::string text;
};

/// A loop that ends when its data says so. The proof assumes that it does:
/// others wait forever for a rank that does not leave it.
struct AssumedLoop {
  std::string role;
  /// The branch that leaves it.
  uint32_t command = 0;
  std::string text;
};

/// A command of the program of one role.
struct CommandPlace {
  std::string role;
  uint32_t command = 0;
};

/// What could not be shown, and the commands that it names.
struct Problem {
  std::string text;
  std::vector<CommandPlace> places;
};

struct Proof {
  bool isProven = false;
  /// How: "one order" (one role), "projections" (several).
  std::string method;
  /// Unless it is proven: what could not be shown.
  std::string reason;
  /// The commands that `reason` names.
  std::vector<CommandPlace> places;
  std::vector<DynamicBranch> dynamic;
  std::vector<AssumedLoop> loops;
};

/// Names of all programs, each once, in their order.
std::vector<std::string> programNames(const artifact::Artifact &artifact);

/// The proof about the programs called `name`. Error: the tables contradict
/// themselves, which the loader refuses.
Expected<Proof> prove(const artifact::Artifact &artifact, std::string_view name,
                      BrokenRule brokenRule = BrokenRule::none);

/// Success if the ranks of the programs called `name` provably do not wait for
/// each other forever. As `prove`, without what only people want to know.
Status checkProven(const artifact::Artifact &artifact, std::string_view name);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_VERIFICATION_H
