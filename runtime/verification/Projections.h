//===- Projections.h - programs of several roles are one whole --*- C++ -*-===//
//
// Whether the programs of all roles are projections of one program: the same
// loops and branches around each exchange that several roles take part in, the
// same decisions there, and one order of exchanges that every role keeps. Then
// ranks cannot wait for each other forever (docs/verification.md, proof of
// several roles). Linear in the commands of all programs, times their depth of
// nesting.
//
// All that decides is in the programs: a number, a host scalar, or a value that
// an exchange has brought to everybody whom the decision concerns
// (ValueNames.h).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_PROJECTIONS_H
#define LOCKSTEP_RUNTIME_VERIFICATION_PROJECTIONS_H

#include "runtime/verification/Model.h"

#include <optional>
#include <string>

namespace lockstep::runtime::verification {

/// Nothing if the programs of `model` are projections of one, else where they
/// are not known to be.
std::optional<Problem> findDisagreement(const Model &model,
                                        BrokenRule brokenRule);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_PROJECTIONS_H
