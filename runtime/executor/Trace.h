//===- Trace.h - a timeline for Perfetto and Chrome -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_TRACE_H
#define LOCKSTEP_RUNTIME_EXECUTOR_TRACE_H

#include "runtime/executor/Observer.h"
#include "runtime/executor/ProgramState.h"
#include "runtime/executor/QueueTimes.h"

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace lockstep::runtime {

struct TraceProcess;

/// Records kernels, copies, collectives and waits, one track for each replica.
/// A collective is on the track of the replica that arrived last and therefore
/// executed it. On a device with queues, all times are those at which the
/// device executes, and its collectives have a track of their own; those
/// through the memory of the host are seen as waits.
class Trace final : public Observer {
public:
  explicit Trace(uint32_t replicas);

  bool inspectsResults() const override { return false; }
  void runBegins(const ProgramState &state) override;
  Status runEnds(const ProgramState &state) override;
  Status commandBegins(const Replica &replica, uint32_t command) override;
  Status commandEnds(const Replica &replica, uint32_t command) override;
  Status arrives(const Replica &, uint32_t, bool) override {
    return Status::success();
  }
  void sectionEnds(const Replica &, uint32_t) override {}
  void blocks(const Replica &replica, uint32_t channel) override;
  void passes(const Replica &replica, uint32_t channel) override;

private:
  friend Status writeTraces(const std::string &path,
                            std::span<const TraceProcess> processes);
  struct Event {
    const Program *program;
    int64_t begin, end;
    uint32_t command;
    bool isWait;
  };
  /// Each replica writes its own track; the padding avoids false sharing.
  struct alignas(128) Track {
    std::string name;
    std::vector<Event> events;
    int64_t commandBegin = 0;
    int64_t waitBegin = -1;
    /// An error that is reported at the next command.
    Status status;
  };

  int64_t now() const;

  std::chrono::steady_clock::time_point epoch;
  std::vector<Track> tracks;
  /// On a device with queues.
  std::unique_ptr<QueueTimes> times;
  Status timesStatus;
  /// The first error because of which events are missing.
  Status incomplete;
  Track collectives;
  const Program *program = nullptr;
};

/// The trace of one executor and the executor's name. `trace` is not owned.
struct TraceProcess {
  std::string name;
  const Trace *trace;
};

/// Writes the Trace Event Format (JSON), one process for each executor. Must
/// not be called during a run.
Status writeTraces(const std::string &path,
                   std::span<const TraceProcess> processes);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_TRACE_H
