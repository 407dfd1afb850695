//===- Scalars.h - the host scalars of a run --------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_SCALARS_H
#define LOCKSTEP_RUNTIME_TRAINING_SCALARS_H

#include "runtime/executor/Cluster.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace lockstep::training {

/// Gives the cluster the values of `--set` ("NAME=VALUE"). Errors: no such
/// scalar, no value of its type, a scalar twice, the ones that this tool
/// supplies (`step` and `seed`), and all scalars that are left without a value.
/// `given` are the names of those that have a value already.
runtime::Status setScalars(runtime::Cluster &cluster,
                           const std::vector<std::string> &assignments,
                           std::set<std::string> given = {});

/// Sets a supplied scalar, if the artifact has it. Error: out of range of its
/// type.
runtime::Status supplyScalar(runtime::Cluster &cluster, const char *name,
                             uint64_t value);

/// Supplies `step` before every step, quickly: to any cluster of the same
/// artifact.
class StepScalar {
public:
  explicit StepScalar(const runtime::Cluster &cluster);
  runtime::Status set(runtime::Cluster &cluster, uint64_t step) const;

private:
  /// The artifact has `step` as an i32, which is what capture makes.
  bool isI32 = false;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_SCALARS_H
