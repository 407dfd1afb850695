//===- Trace.cpp ----------------------------------------------------------===//

#include "runtime/executor/Trace.h"

#include "runtime/executor/Report.h"
#include "runtime/support/TraceFile.h"

#include <fmt/format.h>

namespace lockstep::runtime {

Trace::Trace(uint32_t replicas)
    : epoch(std::chrono::steady_clock::now()), tracks(replicas) {
  for (uint32_t i = 0; i < replicas; ++i)
    tracks[i].name = fmt::format("replica {}", i);
  collectives.name = collectivesTrack;
}

int64_t Trace::now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now() - epoch)
      .count();
}

void Trace::runBegins(const ProgramState &state) {
  program = &state.program;
  for (size_t i = 0; i < tracks.size(); ++i) {
    tracks[i].name = rankName(program->artifact->tables(),
                              static_cast<uint32_t>(state.replicas[i].rank));
    tracks[i].waitBegin = -1;
  }
  if (!state.queued)
    return;
  if (!times)
    times = std::make_unique<QueueTimes>(uint32_t(tracks.size()),
                                         [this] { return now(); });
  timesStatus = times->begin(*state.queued->queues);
}

Status Trace::runEnds(const ProgramState &) {
  if (!times || !timesStatus.ok())
    return Status::success();
  Expected<QueueTimes::Result> result = times->end();
  Status status = result ? result->status : result.status();
  if (incomplete.ok() && !status.ok())
    incomplete = status.withContext("the trace is not complete");
  if (!result)
    return Status::success();
  for (size_t i = 0; i < tracks.size(); ++i)
    for (const QueueTimes::Span &span : result->replicas[i])
      tracks[i].events.push_back(
          {program, span.begin, span.end, span.command, span.isWait});
  for (const QueueTimes::Span &span : result->collectives)
    collectives.events.push_back({program, span.begin, span.end,
                                  program->channelCommands[span.command],
                                  false});
  return Status::success();
}

Status Trace::commandBegins(const Replica &replica, uint32_t command) {
  Track &track = tracks[replica.index];
  track.commandBegin = now();
  if (!times)
    return Status::success();
  LOCKSTEP_RETURN_IF_ERROR(timesStatus);
  LOCKSTEP_RETURN_IF_ERROR(track.status);
  switch (program->code[command].opcode) {
  case Opcode::launch:
  case Opcode::copy:
  case Opcode::wait:
  case Opcode::barrier:
  case Opcode::once:
    return times->commandBegins(replica.index, command);
  default:
    return Status::success();
  }
}

Status Trace::commandEnds(const Replica &replica, uint32_t command) {
  Track &track = tracks[replica.index];
  Opcode opcode = program->code[command].opcode;
  bool isOnQueue = opcode == Opcode::launch || opcode == Opcode::copy;
  if (times)
    return times->commandEnds(replica.index, isOnQueue);
  if (isOnQueue || opcode == Opcode::start)
    track.events.push_back(
        {program, track.commandBegin, now(), command, false});
  return Status::success();
}

void Trace::blocks(const Replica &replica, uint32_t) {
  tracks[replica.index].waitBegin = now();
}

void Trace::passes(const Replica &replica, uint32_t channel) {
  Track &track = tracks[replica.index];
  uint32_t command = program->channelCommands[channel];
  if (times) {
    track.status = times->passes(replica.index, command);
    return;
  }
  if (track.waitBegin < 0)
    return;
  track.events.push_back({program, track.waitBegin, now(), command, true});
  track.waitBegin = -1;
}

Status writeTraces(const std::string &path,
                   std::span<const TraceProcess> processes) {
  // Executors begin at different times; all events are relative to the epoch of
  // the first.
  auto epoch = processes.front().trace->epoch;
  TraceFile file;
  for (size_t pid = 0; pid < processes.size(); ++pid) {
    const Trace &trace = *processes[pid].trace;
    int64_t shift = std::chrono::duration_cast<std::chrono::nanoseconds>(
                        trace.epoch - epoch)
                        .count();
    file.nameProcess(pid, processes[pid].name);
    std::vector<const Trace::Track *> tracks;
    for (const Trace::Track &track : trace.tracks)
      tracks.push_back(&track);
    if (!trace.collectives.events.empty())
      tracks.push_back(&trace.collectives);
    for (size_t tid = 0; tid < tracks.size(); ++tid) {
      const Trace::Track &track = *tracks[tid];
      file.nameThread(pid, tid, track.name);
      for (const Trace::Event &event : track.events) {
        const Instruction &instruction = event.program->code[event.command];
        std::string_view category =
            event.isWait                           ? "wait"
            : instruction.opcode == Opcode::launch ? "kernel"
            : instruction.opcode == Opcode::start  ? "collective"
                                                   : "copy";
        std::string name =
            event.isWait ? fmt::format("wait channel {}", instruction.a)
            : instruction.opcode == Opcode::launch
                ? std::string(event.program->kernelName(event.command))
                : event.program->describe(event.command);
        file.addEvent({.process = pid,
                       .thread = tid,
                       .begin = double(event.begin + shift) / 1000,
                       .duration = double(event.end - event.begin) / 1000,
                       .name = name,
                       .category = category,
                       .command = event.command,
                       .program = event.program->name(),
                       .location = event.program->location(event.command)});
      }
    }
  }
  LOCKSTEP_RETURN_IF_ERROR(file.write(path));
  for (const TraceProcess &process : processes)
    LOCKSTEP_RETURN_IF_ERROR(process.trace->incomplete);
  return Status::success();
}

} // namespace lockstep::runtime
