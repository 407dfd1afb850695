//===- HostScalars.h - the host scalars of a run ----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_HOSTSCALARS_H
#define LOCKSTEP_RUNTIME_TRAINING_HOSTSCALARS_H

#include "runtime/executor/Cluster.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace lockstep::training {

/// Sets the scalars of `--set` ("NAME=VALUE"). Errors: an unknown or repeated
/// scalar, a value that does not fit its type, one that this tool supplies
/// (`step` and `seed`), and scalars without a value, except those in `given`,
/// which are already set.
runtime::Status setScalars(runtime::Cluster &cluster,
                           const std::vector<std::string> &assignments,
                           std::set<std::string> given = {});

/// Sets a supplied scalar, if the artifact has it. Error: out of range of its
/// type.
runtime::Status supplyScalar(runtime::Cluster &cluster, const char *name,
                             uint64_t value);

/// A fast path for setting `step` before every step, in any cluster of the same
/// artifact.
class StepScalar {
public:
  explicit StepScalar(const runtime::Cluster &cluster);
  runtime::Status set(runtime::Cluster &cluster, uint64_t step) const;

private:
  /// The artifact has `step` as an i32, as capture generates it.
  bool isI32 = false;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_HOSTSCALARS_H
