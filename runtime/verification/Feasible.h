//===- Feasible.h - whether data can lead somewhere -------------*- C++ -*-===//
//
// A counter-example chooses the outcomes of conditions, and is one only if data can lead to all of them
// together. Two conditions that depend on the same value may be the same question, asked by different
// kernels: it is not known whether they can differ. So each needs a value of its own, an input or a
// scalar, which it depends on and which no other has been counted for: a system of distinct
// representatives (Hall, "On Representatives of Subsets"), found by augmenting paths. Bounds of one
// number count as one condition, since it is known which of them go together.
//
// What is assumed: a condition that depends on a value can have both outcomes, whatever other values are.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_FEASIBLE_H
#define LOCKSTEP_RUNTIME_VERIFICATION_FEASIBLE_H

#include "runtime/verification/Terms.h"

#include <map>

namespace lockstep::runtime::verification {

/// Whether the conditions can have these outcomes together.
bool areFeasible(const Terms &terms, const std::map<TermId, bool> &outcomes);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_FEASIBLE_H
