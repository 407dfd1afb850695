//===- Report.h - who waits for whom ----------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_REPORT_H
#define LOCKSTEP_RUNTIME_EXECUTOR_REPORT_H

#include "runtime/executor/ProgramState.h"
#include "runtime/executor/Session.h"

#include <chrono>

namespace lockstep::runtime {

/// Describes a run that makes no progress, from atomics alone, while its workers may still run.
///
///   no replica of program 'step' has made progress for 60 s
///   waiting for channel 3 (all_reduce sum, 4096 bytes, train.py:42)
///     arrived: replicas 0-1, 3
///     missing: replica 2
///   replica 0: blocked in command 5 'wait channel 3' (train.py:42)
///   replica 2: paused by an injected fault before command 4 'start ...' (train.py:42)
///
/// JSON: {"program", "deadline_seconds", "waits": [{"channel", "kind", "reduction", "bytes",
/// "location", "arrived": [..], "missing": [..]}], "replicas": [{"replica", "state", "command",
/// "what", "location", "channel", "last_commands": [..]}]}; "channel" is there if it is blocked.
DeadlineReport describeDeadline(const ProgramState &state, std::chrono::nanoseconds deadline);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_REPORT_H
