//===- VariableMemory.h - the variables that all ranks of a role share ----===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEMEMORY_H
#define LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEMEMORY_H

#include "runtime/artifact/Artifact.h"
#include "runtime/support/Memory.h"

#include <memory>
#include <mutex>

namespace lockstep::runtime {

/// The memory of space `variable` of one role. A session has one of its own, or
/// several sessions share it: those of one parameter server, each of which
/// serves another worker. Then a session holds the mutex from the first to the
/// last command that touches a variable between two waits
/// (`Instruction::locksVariables`), and never while it waits: what is done to
/// variables in between is done as a whole.
class VariableMemory {
public:
  /// The variables with an initial value in the artifact have it, the others
  /// are zero. `role` is an index of `rolesOf`.
  static Expected<std::shared_ptr<VariableMemory>>
  create(const Artifact &artifact, uint32_t role);

  std::byte *data() const { return memory.data(); }
  bool contains(const std::byte *address) const {
    return address >= data() && address < data() + memory.size();
  }
  std::timed_mutex &mutex() { return accesses; }

private:
  Memory memory;
  std::timed_mutex accesses;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEMEMORY_H
