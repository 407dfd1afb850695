//===- Feasible.h - whether data can lead somewhere -------------*- C++ -*-===//
//
// A counter-example chooses the outcomes of conditions, and is one only if data
// can lead to all of them together. Two conditions that are made from the same
// values may be the same question, asked by different kernels: it is not known
// whether they can differ. So they are brought into an order in which each
// depends on a value that none before it depends on: values are chosen
// condition by condition, and what is chosen for a later one changes no earlier
// one. Such an order is found from its end: a condition with a value that no
// other of those left depends on may be the last of them. A value is an input,
// a scalar, or what several conditions are made from, which counts as one value
// for all of them. Bounds of one number count as one condition, since it is
// known which of them go together.
//
// What is assumed: a condition that depends on a value can have both outcomes,
// whatever other values are.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_FEASIBLE_H
#define LOCKSTEP_RUNTIME_VERIFICATION_FEASIBLE_H

#include "runtime/verification/Terms.h"

#include <map>

namespace lockstep::runtime::verification {

/// Whether the conditions can have these outcomes together. Adds to `steps`
/// what it cost.
bool areFeasible(const Terms &terms, const std::map<TermId, bool> &outcomes,
                 uint64_t &steps);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_FEASIBLE_H
