//===- Loops.h - loops of which only the data knows when they end ---------===//
//
// A proof says that nobody waits for ever, not that a loop in which a replica
// is alone comes to its end: that is assumed. These are the loops of which it
// is.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_LOOPS_H
#define LOCKSTEP_RUNTIME_VERIFICATION_LOOPS_H

#include "runtime/verification/Model.h"

namespace lockstep::runtime::verification {

/// Loops of all programs but those that count up to a number that they do not
/// change.
std::vector<AssumedLoop> findAssumedLoops(const Model &model);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_LOOPS_H
