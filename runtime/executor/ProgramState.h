//===- ProgramState.h - a program with its memories -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_PROGRAMSTATE_H
#define LOCKSTEP_RUNTIME_EXECUTOR_PROGRAMSTATE_H

#include "runtime/executor/Program.h"
#include "runtime/executor/Replica.h"
#include "runtime/executor/TileScheduler.h"
#include "runtime/executor/VariableMemory.h"
#include "runtime/support/Memory.h"
#include "runtime/transport/Transport.h"
#include "runtime/transport/threads/Rendezvous.h"

#include <array>
#include <memory>
#include <vector>

namespace lockstep::runtime {

/// Memories that live as long as the session and that all programs share.
struct SessionMemory {
  std::shared_ptr<VariableMemory> variables;
  Arenas replicaVariables;
  Memory scalars;
  /// Copies of the variables, with `SessionOptions::shadowVariables`.
  Memory shadow;
  Arenas replicaShadow;
};

struct NetworkInbox;

/// Everything that one program needs to run, allocated at its first run and
/// kept.
class ProgramState {
public:
  /// `inbox` is null for a session that has all ranks it needs.
  static Expected<std::unique_ptr<ProgramState>>
  create(const Program &program, const SessionMemory &memory, uint32_t workers,
         TileScheduler &tiles, NetworkInbox *inbox = nullptr);

  /// Fills the memory in which a program keeps what it computes with bytes that
  /// are NaN as floats of every width, large integers, and booleans that are
  /// neither 0 nor 1: what reads them before it writes them shows.
  void fillMemory();
  /// Puts all replicas at the beginning of the program. Their memories keep
  /// what is in them.
  void rewind();

  const Program &program;
  std::unique_ptr<Replica[]> replicas;
  uint32_t replicaCount = 0;
  std::unique_ptr<Rendezvous> rendezvous;
  std::unique_ptr<Transport> transport;
  /// Of the session's memory of variables; see `Instruction::locksVariables`.
  std::timed_mutex *variablesMutex = nullptr;
  /// Of the executor that runs it.
  const TileScheduler &tiles;

  /// Address of a slice of one replica.
  std::byte *address(uint32_t replica, const artifact::Buffer *buffer) const {
    return replicas[replica].bases[size_t(buffer->space())] + buffer->offset();
  }

private:
  ProgramState(const Program &program, const TileScheduler &tiles)
      : program(program), tiles(tiles) {}
  Status allocate();
  /// Spaces `replica`, one for each, and `shared`.
  Arenas arenas;
  Memory shared;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_PROGRAMSTATE_H
