//===- ExecutorDevice.cpp - runs on a device with queues ------------------===//

#include "runtime/executor/Executor.h"

#include <utility>

#include <fmt/format.h>

namespace lockstep::runtime {

/// Interprets the program until its commands are recorded, and executes these.
void Executor::runRecorded(ProgramState &state) {
  RecordedRun &recorded = *state.queued->recorded;
  if (!recorded.isRecorded()) {
    Status status = recorded.begin();
    if (recorded.isRecording()) {
      // A graph of the driver must not be changed by several threads.
      runHasOtherWorkers = false;
      recordings.push_back(&recorded);
    }
    if (status.ok()) {
      interpret(state);
      status = recorded.end();
    }
    if (!status.ok() && !failed()) {
      // Others may have recorded the same run, which they execute together.
      if (options.network)
        return fail({status.code(),
                     fmt::format("a recording of program '{}': {} (runs are "
                                 "not recorded with --no-recording)",
                                 state.program.name(), status.message())});
      recorded.refuse(status);
      rewind(state);
      return interpret(state);
    }
  }
  if (!recorded.isRecorded() || failed())
    return;
  // As before each command that writes a variable.
  if (state.program.writesVariables)
    touched.store(true, std::memory_order_seq_cst);
  runHasOtherWorkers = false;
  if (!failed())
    recorded.execute();
  // While the device executes the graph.
  state.sendBatchesAhead();
}

/// After a failure, before transports are aborted: a communicator of NCCL must
/// not be aborted while a graph has its operations.
void Executor::endRecordings() {
  for (RecordedRun *recorded : std::exchange(recordings, {}))
    recorded->forget();
}

/// Waits until the device has executed all enqueued commands, also after a
/// failure.
void Executor::awaitDevice(ProgramState &state) {
  if (!state.queued)
    return;
  DeviceQueues &queues = *state.queued->queues;
  if (failed()) {
    endRecordings();
    state.transport->abort();
  }
  const std::optional<RecordedRun> &recorded = state.queued->recorded;
  queues.recordEnd(recorded && recorded->isRecorded());
  for (;;) {
    uint32_t key = events.key();
    // The device may wait for an executor that has failed.
    if (options.network && options.network->isAborted() && !failed())
      fail(options.network->abortReason());
    if (failed()) {
      endRecordings();
      state.transport->abort();
    }
    if (queues.isEndReached() ||
        failure.leavesKernelsBehind().load(std::memory_order_acquire))
      break;
    sleepAndCheck(state, key);
  }
  // Commands enqueued before a failure may still change variables.
  ThreadTeam::becomesEmpty([&] { return !queues.isEndReached(); });
  Status status = queues.status();
  if (status.ok())
    status = state.queued->batches->status();
  if (!status.ok())
    fail(status);
  // After a failure, workers that have been left behind may have replicas.
  if (!failed())
    state.finishReplicas();
}

/// Sleeps until an event, or a moment, after which the transport is checked.
void Executor::sleepAndCheck(ProgramState &state, uint32_t key) {
  if (!options.network || !state.queued || !state.transport->needsCheck())
    return events.sleep(key);
  constexpr std::chrono::milliseconds interval(100);
  events.sleep(key, interval);
  // Others may have ended the run, for a reason that the check would hide.
  if (failed() || events.changed(key) || options.network->isAborted())
    return;
  if (Status status = state.transport->check(); !status.ok())
    fail(status);
}

bool Executor::isBlockedOnDevice() const {
  const ProgramState *state = currentState();
  for (uint32_t i = 0; state && i < state->replicaCount; ++i)
    if (state->replicas[i].blocked.load(std::memory_order_acquire) ==
        Replica::onDevice)
      return true;
  return false;
}

} // namespace lockstep::runtime
