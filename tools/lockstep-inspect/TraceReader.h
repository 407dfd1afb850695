//===- TraceReader.h - the trace of a run -----------------------*- C++ -*-===//
//
// Reads what lockstep-run --trace and lockstep-simulate --trace write.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_TRACEREADER_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_TRACEREADER_H

#include "tools/lockstep-inspect/Inspection.h"

namespace lockstep::inspect {

/// What one replica does for some time; or the link, in a simulation.
struct TraceEvent {
  /// Kernels include copies. `collective`: the start of one; on the link its
  /// transfer.
  enum class Kind : uint8_t { kernel, collective, wait };

  Kind kind{};
  /// In the program; of a wait, the command that starts what is waited for, or
  /// the wait itself.
  uint32_t command = 0;
  /// Seconds.
  double begin = 0, end = 0;
};

/// Events in the order of their begins.
using TraceTrack = std::vector<TraceEvent>;

struct ReplicaTrack {
  TraceTrack events;
  /// How many replicas it stands for.
  uint64_t replicas = 1;
  /// The executor.
  int64_t process = 0;
};

/// The events of one program.
struct ProgramTrace {
  std::vector<ReplicaTrack> replicas;
  TraceTrack link;
  /// Of each process with a device that executes collectives, when it does.
  std::vector<ReplicaTrack> collectives;
};

struct RunTrace {
  /// In the order of the artifact's programs.
  std::vector<ProgramTrace> programs;
  /// Whether lockstep-simulate has written it.
  bool isSimulated = false;
};

/// Reads a trace of the artifact. Errors: a file that cannot be read or is no
/// such trace; events of other programs, or whose commands have other names or
/// lines than in the artifact [invalidArgument].
runtime::Expected<RunTrace> readTrace(const std::string &path,
                                      const runtime::Artifact &artifact,
                                      const Inspection &inspection);

} // namespace lockstep::inspect

#endif // LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_TRACEREADER_H
