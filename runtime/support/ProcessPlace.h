//===- ProcessPlace.h - a process among several -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_PROCESSPLACE_H
#define LOCKSTEP_RUNTIME_SUPPORT_PROCESSPLACE_H

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace lockstep::runtime {

/// Which of the processes that execute an artifact together this one is.
struct ProcessPlace {
  /// Its number, among all.
  uint32_t index = 0, count = 1;
  /// For each process, the first one of its host. Empty: each has its own.
  std::vector<uint32_t> firstOnHost = {};
  /// Processes of the host that may use a CPU of this one, itself included.
  uint32_t sharingCpus = 1;

  /// Equal for processes of one host.
  uint32_t hostOf(uint32_t process) const {
    return firstOnHost.empty() ? process : firstOnHost[process];
  }
};

/// Whether `mpirun` has started this process together with others.
inline bool isOneOfSeveralProcesses() {
  // Of Open MPI, and of MPICH and those that are made from it.
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char *count = std::getenv(name); count && std::atoi(count) > 1)
      return true;
  return false;
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_PROCESSPLACE_H
