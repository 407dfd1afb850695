//===- Projections.h - projections of one program ---------------*- C++ -*-===//
//
// Whether the programs of all roles are projections of one program: the same
// loops and branches around each exchange of several roles, the same decisions
// there, and one order of exchanges with which every role is consistent. Then
// ranks cannot wait for each other forever (docs/verification.md, proof of
// several roles). Linear in the commands of all programs, times their depth of
// nesting.
//
// Decisions depend only on numbers, host scalars, and values that an exchange
// has sent to all ranks concerned (ValueNames.h).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_PROJECTIONS_H
#define LOCKSTEP_RUNTIME_VERIFICATION_PROJECTIONS_H

#include "runtime/verification/Model.h"

#include <optional>
#include <string>

namespace lockstep::runtime::verification {

/// None if the programs of `model` are projections of one, else the place where
/// it is not known.
std::optional<Problem> findDisagreement(const Model &model,
                                        ProofRule brokenRule);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_PROJECTIONS_H
