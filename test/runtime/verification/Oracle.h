//===- Oracle.h - programs executed on data ---------------------*- C++ -*-===//
//
// Executes the programs of all ranks with bytes in their memories: the oracle
// for verdicts. It is independent of the proof: kernels are hash functions of
// the bytes that they read, shared memory is shared, and the next rank to
// proceed is drawn at random.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_RUNTIME_VERIFICATION_ORACLE_H
#define LOCKSTEP_TEST_RUNTIME_VERIFICATION_ORACLE_H

#include "runtime/schema/artifact_generated.h"

#include <cstdint>

namespace lockstep::runtime::verification::test {

enum class Outcome { allEnd, blocks, runsOn };

/// One execution. `seed` determines all data, the functions of kernels and the
/// order of execution.
Outcome execute(const artifact::Artifact &tables, uint64_t seed);

} // namespace lockstep::runtime::verification::test

#endif // LOCKSTEP_TEST_RUNTIME_VERIFICATION_ORACLE_H
