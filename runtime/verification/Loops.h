//===- Loops.h - loops with data-dependent ends ---------------------------===//
//
// A proof shows that no rank waits forever, not that a loop without exchanges
// terminates: that is assumed. These are the loops whose termination is
// assumed.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_LOOPS_H
#define LOCKSTEP_RUNTIME_VERIFICATION_LOOPS_H

#include "runtime/verification/Model.h"

namespace lockstep::runtime::verification {

/// All loops except those that count up to a loop-invariant bound.
std::vector<AssumedLoop> findAssumedLoops(const Model &model);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_LOOPS_H
