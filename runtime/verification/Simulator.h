//===- Simulator.h - executes a counter-example -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_SIMULATOR_H
#define LOCKSTEP_RUNTIME_VERIFICATION_SIMULATOR_H

#include "runtime/verification/Verification.h"

namespace lockstep::runtime::verification {

struct Simulation {
  /// Somebody waits for ever.
  bool blocks = false;
  /// Where all ranks have come to rest.
  CounterExample end;
};

/// Executes the programs called `name` on all ranks. At conditions that are not
/// known each rank takes its next decision; what follows from it, for this rank
/// and for others, is not asked again. Error: a decision is missing, or is for
/// another command.
Expected<Simulation> simulate(const artifact::Artifact &artifact,
                              std::string_view name,
                              const std::vector<Decision> &decisions);

/// "rank 0 (worker) waits at train.py:42: wait for channel 3 for rank 1, rank 1
/// ...".
std::string tellChain(const CounterExample &example);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_SIMULATOR_H
