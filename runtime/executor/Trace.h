//===- Trace.h - a timeline for Perfetto and Chrome -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_TRACE_H
#define LOCKSTEP_RUNTIME_EXECUTOR_TRACE_H

#include "runtime/executor/Observer.h"
#include "runtime/executor/ProgramState.h"

#include <chrono>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// Records kernels, copies, collectives and waits, one track a replica. A collective shows on the
/// track of the replica that arrived last and therefore executed it.
class Trace final : public Observer {
public:
  explicit Trace(uint32_t replicas);

  void runBegins(const ProgramState &state) override;
  void runEnds(const ProgramState &) override {}
  Status commandBegins(const Replica &replica, uint32_t command) override;
  void commandEnds(const Replica &replica, uint32_t command) override;
  Status arrives(const Replica &, uint32_t, bool) override { return Status::success(); }
  void sectionEnds(const Replica &, uint32_t) override {}
  void blocks(const Replica &replica, uint32_t channel) override;
  void passes(const Replica &replica, uint32_t channel) override;

  /// Writes the Trace Event Format (JSON). Must not be called during a run.
  Status write(const std::string &path) const;

private:
  struct Event {
    const Program *program;
    int64_t begin, end;
    uint32_t command;
    bool isWait;
  };
  /// Each replica writes its own track; the padding keeps the tracks out of each other's lines.
  struct alignas(128) Track {
    std::vector<Event> events;
    int64_t commandBegin = 0;
    int64_t waitBegin = -1;
  };

  int64_t now() const;

  std::chrono::steady_clock::time_point epoch;
  std::vector<Track> tracks;
  const Program *program = nullptr;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_TRACE_H
