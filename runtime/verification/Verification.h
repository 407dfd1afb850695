//===- Verification.h - proof that programs cannot block --------*- C++ -*-===//
//
// Programs of one name run together, one of them on each rank. `prove` decides
// whether ranks can wait for each other forever, for any data: members of a
// group may start exchanges in different orders, one may end early, a branch or
// the number of iterations of a loop may differ between them.
//
// One role: all conditions of non-local branches are provably equal on all of
// its ranks, so all take one path (OneOrder.h). Several roles: also, their
// programs are projections of one program (Projections.h). Both are data-flow
// analyses, linear in the commands times their depth of nesting, so a loader
// repeats them on every load. Programs that they do not prove are rejected; an
// example of a deadlock is searched at compile time (`verify-uniformity`).
//
// Assumptions: see docs/verification.md.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_VERIFICATION_H
#define LOCKSTEP_RUNTIME_VERIFICATION_VERIFICATION_H

#include "runtime/schema/artifact_generated.h"
#include "runtime/support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime::verification {

/// A rule of the proof to disable, so that tests can show that it is necessary.
/// Never set elsewhere.
enum class ProofRule : uint8_t {
  none,
  // Ranks of one role.
  /// Inputs and private variables are equal on all ranks.
  inputsAreEqual,
  /// The rank number is treated as equal on all ranks.
  ranksAreEqual,
  /// Parts of a scattered value are equal.
  partsAreEqual,
  /// Results of different groups are equal.
  groupsAreEqual,
  /// Launches do not change values.
  launchesWriteNothing,
  /// A write changes only its own buffer, not overlapping ones.
  overlapsAreIgnored,
  /// A local branch writes no values that may differ.
  localBranchesWriteNothing,
  /// Private writes of a replica in a once section count as writes of all
  /// replicas.
  onceWritesForAll,
  // Several roles.
  /// Programs may declare a channel differently.
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
  /// Counters of loops that are executed together are equal.
  countersAreEqual,
  /// Other workers do not change a server's variables while it waits.
  variablesAreKept,
};

/// A branch with exchanges on one of its sides, whose condition is known only
/// at run time and equal on all ranks that take part.
struct DynamicBranch {
  std::string role;
  uint32_t command = 0;
  std::string text;
};

/// A loop whose end depends on data. The proof assumes that it terminates:
/// other ranks would wait forever for a rank that does not leave it.
struct AssumedLoop {
  std::string role;
  /// The branch that leaves the loop.
  uint32_t command = 0;
  std::string text;
};

/// A command of the program of one role.
struct CommandPlace {
  std::string role;
  uint32_t command = 0;
};

/// The reason why a proof has failed, and the commands that it names.
struct Problem {
  std::string text;
  std::vector<CommandPlace> places;
};

struct Proof {
  bool isProven = false;
  /// The method: "one order" (one role), "projections" (several).
  std::string method;
  /// Unless proven: the reason.
  std::string reason;
  /// The commands that `reason` names.
  std::vector<CommandPlace> places;
  std::vector<DynamicBranch> dynamic;
  std::vector<AssumedLoop> loops;
};

/// Names of all programs, each once, in their order.
std::vector<std::string> programNames(const artifact::Artifact &artifact);

/// The proof about the programs called `name`. Error: the tables are
/// inconsistent, which the loader rejects.
Expected<Proof> prove(const artifact::Artifact &artifact, std::string_view name,
                      ProofRule brokenRule = ProofRule::none);

/// Success if the ranks of the programs called `name` provably do not wait for
/// each other forever. As `prove`, without what only reports need.
Status checkProven(const artifact::Artifact &artifact, std::string_view name);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_VERIFICATION_H
