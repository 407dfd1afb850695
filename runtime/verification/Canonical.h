//===- Canonical.h - what still matters of a state --------------*- C++ -*-===//
//
// Two states have the same future if they agree in where the ranks stand, who
// has started what, and in the values that may still be read, up to the names
// of what is unknown: for these only counts who holds the same. `canonicalize`
// makes such states equal: it drops values that nobody will read, and gives new
// names to the others in the order in which they are found.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_CANONICAL_H
#define LOCKSTEP_RUNTIME_VERIFICATION_CANONICAL_H

#include "runtime/verification/Machine.h"

#include <string>

namespace lockstep::runtime::verification {

void canonicalize(const Model &model, Terms &terms, State &state);

/// Equal for equal states, and for those only.
std::string encode(const State &state, BrokenRule brokenRule);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_CANONICAL_H
