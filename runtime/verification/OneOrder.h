//===- OneOrder.h - one role whose ranks all go one way ---------*- C++ -*-===//
//
// If every condition that others notice is equal on all ranks of the only role,
// all ranks go through the same commands in the same order. Then nobody waits
// for ever: of those who wait, look at one who stands first in this order. Whom
// it waits for has not come as far, so it waits at an earlier place.
//
// Equality is found by data flow: a bit for each slot, "differs", joined where
// ways meet. Behind a local branch whose condition differs, all that is written
// on its ways differs (control dependence).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_ONEORDER_H
#define LOCKSTEP_RUNTIME_VERIFICATION_ONEORDER_H

#include "runtime/verification/Model.h"
#include "runtime/verification/Verification.h"

#include <optional>

namespace lockstep::runtime::verification {

/// Whether a program of the only role that has this name has no branches, and
/// meets only its own ranks: there is one way, which takes no more than a look
/// at each command. False if that is not so, or the tables contradict
/// themselves.
bool goesStraight(const artifact::Artifact &artifact, std::string_view name);

/// Nothing if all ranks provably go one way, else why that is not known.
std::optional<std::string>
findSecondOrder(const Model &model, BrokenRule brokenRule = BrokenRule::none);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_ONEORDER_H
