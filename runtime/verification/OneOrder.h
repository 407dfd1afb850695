//===- OneOrder.h - ranks of one role on one path ---------------*- C++ -*-===//
//
// If every condition of a non-local branch is equal on all ranks of the only
// role, all ranks execute the same commands in the same order. Then no rank
// waits forever: among the waiting ranks, take one whose command is first in
// this order. It waits for a rank that has not reached this command, so that
// rank waits at an earlier one, a contradiction.
//
// Equality is a forward data-flow analysis: a bit for each slot, "differs",
// joined where paths join. After a local branch whose condition differs, all
// slots written on its sides differ (control dependence).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_ONEORDER_H
#define LOCKSTEP_RUNTIME_VERIFICATION_ONEORDER_H

#include "runtime/verification/Model.h"
#include "runtime/verification/Verification.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::runtime::verification {

/// Whether the program of this name belongs to one role, has no branches, and
/// exchanges only among its own ranks: there is one path, found by one pass
/// over the commands. False if not, or if the tables are inconsistent.
bool isStraightLine(const artifact::Artifact &artifact, std::string_view name);

/// None if all ranks of a program's role provably take one path, else the
/// branch at which they may diverge.
std::optional<Problem> findDivergence(const Model &model,
                                      const Program &program,
                                      ProofRule brokenRule);

/// None if all ranks of the only role provably take one path, and all members
/// of its groups are among them; else the reason why it is not known.
std::optional<Problem> checkOneOrder(const Model &model,
                                     ProofRule brokenRule = ProofRule::none);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_ONEORDER_H
