//===- RandomGroups.h - random programs of groups ---------------*- C++ -*-===//
//
// A random step in collective form: exchanges and barriers in groups of ranks
// that may share members, starts and waits with other work between them. All
// ranks execute it together, each its own part: ranks take different paths by
// their number, and in groups by what the group has reduced. About every second
// program is mutated at one place.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_RANDOMGROUPS_H
#define LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_RANDOMGROUPS_H

#include "RandomProgram.h"

namespace lockstep::test {

/// A program for `replicas` ranks, deterministic in the seed.
RandomProgram randomGroups(uint64_t seed, int64_t replicas);

} // namespace lockstep::test

#endif
