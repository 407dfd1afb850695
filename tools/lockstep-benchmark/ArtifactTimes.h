//===- ArtifactTimes.h - kernels of an artifact -----------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_ARTIFACTTIMES_H
#define LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_ARTIFACTTIMES_H

#include "runtime/artifact/Artifact.h"
#include "runtime/simulator/KernelProfile.h"

#include <memory>
#include <string>

namespace lockstep::tools {

/// An artifact and what its step takes on this machine.
struct ArtifactTimes {
  std::string path;
  std::shared_ptr<const runtime::Artifact> artifact;
  /// Of the whole step, without a trace.
  double stepSeconds = 0;
  runtime::KernelProfile kernels;
};

/// Executes the program "step", or the only one, on a device (`openDevice`), on
/// small random numbers; integers are 0. Errors: no artifact, no such program,
/// one that loads its batches, several roles, no kernel that says what it
/// costs, an error of the run.
runtime::Expected<ArtifactTimes> measureArtifact(const std::string &path,
                                                 const std::string &device,
                                                 double effort = 1);

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_LOCKSTEP_BENCHMARK_ARTIFACTTIMES_H
