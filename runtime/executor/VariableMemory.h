//===- VariableMemory.h - the variables that all ranks of a role share ----===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEMEMORY_H
#define LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEMEMORY_H

#include "runtime/artifact/Artifact.h"
#include "runtime/device/HostCopy.h"

#include <memory>
#include <mutex>

namespace lockstep::runtime {

/// The memory of space `variable` of one role. It belongs to one session, or is
/// shared by the sessions of one parameter server, each of which serves another
/// worker. Then a session holds the mutex from the first to the last command
/// that accesses a variable between two waits (`Instruction::locksVariables`),
/// and never during a wait: these accesses are one atomic update.
class VariableMemory {
public:
  /// In the memory of a device. The variables with an initial value in the
  /// artifact have it, the others are zero. `role` is an index of `rolesOf`.
  static Expected<std::shared_ptr<VariableMemory>>
  create(std::shared_ptr<Device> device, const Artifact &artifact,
         uint32_t role);

  HostCopy &copy() { return *memory; }
  /// The host's bytes of the memory.
  std::byte *data() const { return memory->host().data(); }
  bool contains(const std::byte *address) const {
    return address >= data() && address < data() + memory->host().size();
  }
  std::timed_mutex &mutex() { return accesses; }

private:
  std::unique_ptr<HostCopy> memory;
  std::timed_mutex accesses;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEMEMORY_H
