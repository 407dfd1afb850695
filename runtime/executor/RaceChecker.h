//===- RaceChecker.h - vector clocks over declared accesses -----*- C++ -*-===//
//
// Replicas have different program counters and share memory, so each pair of
// accesses, at least one of them a write, must be ordered by a collective, a
// barrier or a once section. The checker keeps a vector clock for each agent
// (replicas, and each channel's collective, which reads operands and writes
// results independently) and, for each byte range, the last accesses with their
// times. It finds missing happens-before order even if the run was not
// affected. (Lamport 1978; Fidge, Mattern 1988.)
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_RACECHECKER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_RACECHECKER_H

#include "runtime/executor/Observer.h"
#include "runtime/executor/ProgramState.h"
#include "runtime/executor/Session.h"

#include <map>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// Requires a run with one worker: then the checker need not be thread-safe,
/// and findings do not depend on timing.
class RaceChecker final : public Observer {
public:
  explicit RaceChecker(MemoryRule brokenRule) : brokenRule(brokenRule) {}

  void runBegins(const ProgramState &state) override;
  Status runEnds(const ProgramState &) override { return Status::success(); }
  Status commandBegins(const Replica &replica, uint32_t command) override;
  Status commandEnds(const Replica &, uint32_t) override {
    return Status::success();
  }
  Status arrives(const Replica &replica, uint32_t command, bool last) override;
  void sectionEnds(const Replica &replica, uint32_t channel) override;
  void blocks(const Replica &, uint32_t) override {}
  void passes(const Replica &replica, uint32_t channel) override;

private:
  using VectorClock = std::vector<uint32_t>;

  /// An access: the clock component, and for error messages the command and the
  /// replica.
  struct Access {
    uint32_t agent = 0;
    uint32_t time = 0;
    uint32_t command = 0;
    uint32_t replica = 0;
  };
  struct Cell {
    uintptr_t end = 0;
    bool written = false;
    Access write;
    std::vector<Access> reads;
  };

  uint32_t helperAgent(uint32_t replica) const {
    return replicaCount + replica;
  }
  uint32_t channelAgent(uint32_t channel) const {
    return 2 * replicaCount + channel;
  }

  Status access(const VectorClock &clock, const Access &access,
                const artifact::Buffer *buffer, bool writes);
  Status collective(const Replica &replica, uint32_t command,
                    const VectorClock &clock);
  Status conflict(const Access &now, bool nowWrites, const Access &before,
                  bool beforeWrites, const artifact::Buffer *buffer) const;
  std::string name(const Access &access) const;
  /// Splits the cell that contains `address`, so that one begins there.
  void split(uintptr_t address);

  MemoryRule brokenRule;
  const ProgramState *state = nullptr;
  uint32_t replicaCount = 0;
  std::vector<VectorClock> clocks;
  /// For each channel: the join of the clocks of the members that have arrived,
  /// and the clock of the completed instance.
  std::vector<VectorClock> gathered, done;
  std::map<uintptr_t, Cell> cells;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_RACECHECKER_H
