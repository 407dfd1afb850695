//===- OneOrder.h - ranks of one role that follow one path ------*- C++ -*-===//
//
// If every condition that others notice is equal on all ranks of the only role,
// all ranks execute the same commands in the same order. Then nobody waits
// forever: of those who wait, take one whose command is first in this order.
// Whom it waits for has not reached that command, so it waits at an earlier
// one.
//
// Equality is a forward data-flow analysis: a bit for each slot, "differs",
// joined where paths join. After a local branch whose condition differs, all
// that is written on its sides differs (control dependence).
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
/// exchanges only among its own ranks: there is one path, which takes no more
/// than a look at each command. False if that is not so, or the tables
/// contradict themselves.
bool goesStraight(const artifact::Artifact &artifact, std::string_view name);

/// Nothing if all ranks of a program's role provably follow one path, else the
/// branch at which they may not.
std::optional<Problem> findDivergence(const Model &model,
                                      const Program &program,
                                      BrokenRule brokenRule);

/// Nothing if all ranks of the only role provably follow one path, and all
/// members of its groups are among them; else why that is not known.
std::optional<Problem>
findSecondOrder(const Model &model, BrokenRule brokenRule = BrokenRule::none);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_ONEORDER_H
