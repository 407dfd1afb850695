//===- KernelProfile.h - measured times of kernels --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SIMULATOR_KERNELPROFILE_H
#define LOCKSTEP_RUNTIME_SIMULATOR_KERNELPROFILE_H

#include "runtime/artifact/Artifact.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// The times of an artifact's kernels in a trace of `lockstep-run`. The trace
/// may be one of another artifact of the same model, for another number of
/// replicas: kernels are found by their symbols.
struct KernelProfile {
  /// For each kernel of the artifact, the seconds of a usual launch; none if
  /// the trace has no launch of it.
  std::vector<std::optional<double>> seconds;
  /// How many replicas the trace has.
  uint64_t replicas = 1;

  /// Reads a file in the form of `lockstep-run --trace`. Errors: it cannot be
  /// read, is no trace, or has none of the kernels.
  static Expected<KernelProfile> read(const std::string &path,
                                      const Artifact &artifact);
};

/// The median, which a few interrupted measurements do not change; the upper of
/// two middle ones. `times` is not empty.
double medianOf(std::vector<double> times);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SIMULATOR_KERNELPROFILE_H
