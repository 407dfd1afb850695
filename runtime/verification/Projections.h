//===- Projections.h - projections of one program ---------------*- C++ -*-===//
//
// Checks that the programs of all roles are projections of one program, as in
// choreographic programming: each exchange between roles is inside of the same
// loops and branches in all of them, the conditions of these are equal on all
// ranks concerned, and there is one order of exchanges that every role follows.
// Then ranks cannot wait for each other forever (docs/verification.md, proof of
// several roles). The time is linear in the commands of all programs, times
// their depth of nesting.
//
// A condition is known to be equal on all ranks concerned if it is computed
// only from constants, host scalars, and values that an exchange has sent to
// all of them (ValueNames.h).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_PROJECTIONS_H
#define LOCKSTEP_RUNTIME_VERIFICATION_PROJECTIONS_H

#include "runtime/verification/Model.h"

#include <optional>
#include <string>

namespace lockstep::runtime::verification {

/// None if the programs of `model` are projections of one program, else why
/// this cannot be shown, and where. `brokenRule` disables a rule of the proof
/// in tests.
std::optional<Problem> findDisagreement(const Model &model,
                                        ProofRule brokenRule);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_PROJECTIONS_H
