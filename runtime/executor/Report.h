//===- Report.h - reports of runs without progress --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_REPORT_H
#define LOCKSTEP_RUNTIME_EXECUTOR_REPORT_H

#include "runtime/executor/ProgramState.h"
#include "runtime/executor/Session.h"
#include "runtime/support/RankRange.h"

#include <chrono>
#include <span>

namespace lockstep::runtime {

/// "replica 2", or the name of another role that has a single rank.
std::string rankName(const artifact::Artifact &tables, uint32_t rank);

/// Describes a run of `program` that makes no progress, using atomics only,
/// since its workers may still run. `states` are those of all executors that
/// take part in it; a rank in none of them has not begun the run. Ranks that
/// are no replicas have the name of their role.
///
///   no replica of program 'step' has made progress for 60 s
///   waiting for channel 3 (all_reduce sum, 4096 bytes, train.py:42)
///     arrived: replicas 0-1, 3
///     missing: replica 2
///   replica 0: blocked in command 5 'wait channel 3' (train.py:42)
///     before that: 4 'start all_reduce sum channel 3' (train.py:42),
///     3 'launch 'product'' (train.py:40)
///   replica 2: running command 3 'launch 'product'' (train.py:40) on worker 1,
///     tile 17 of 64 on worker 0
///     before that: 2 'launch 'load'' (train.py:38)
///
/// JSON: {"program", "deadline_seconds", "waits": [{"channel", "kind",
/// "reduction", "bytes", "location", "arrived": [..], "missing": [..],
/// "unknown": [..]}], "replicas": [{"replica", "role", "state", "command",
/// "what", "location", "channel", "worker", "tiles": [{"worker", "tile"}],
/// "events": [{"event", "command", "what", "location"}]}]}; numbers are ranks.
/// "unknown", in the text a line "not known", has ranks of other sessions that
/// may or may not have arrived: this one gets no message from them, or one only
/// after others have arrived. "state" is the first word of the text: blocked,
/// waiting, runnable, running, finished, paused or left; "channel" is there if
/// it is blocked, "worker" and "tiles" if it is running or left, "device":
/// {"command", "what", "location"} if a device with queues executes something
/// for it. An event is the beginning of a command ("begins") or "blocks"; the
/// latest is last.
DeadlineReport describeDeadline(std::string_view program,
                                std::span<const ProgramState *const> states,
                                std::chrono::nanoseconds deadline);

/// The same for a run in which some replicas have waited for `duration` while
/// others made progress. "deadline_seconds" is `duration`.
DeadlineReport describeLongWait(std::string_view program,
                                std::span<const ProgramState *const> states,
                                std::chrono::nanoseconds duration);

/// Describes a wait outside of a program for posts of executors with the ranks
/// `missing`. JSON has the same keys: one wait of the kind `what`, no replicas.
DeadlineReport describeSilence(std::string_view what,
                               std::span<const RankRange> missing,
                               std::chrono::nanoseconds deadline);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_REPORT_H
