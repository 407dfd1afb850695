//===- Trace.cpp ----------------------------------------------------------===//

#include "runtime/executor/Trace.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lockstep::runtime {

Trace::Trace(uint32_t replicas) : epoch(std::chrono::steady_clock::now()), tracks(replicas) {}

int64_t Trace::now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              epoch)
      .count();
}

void Trace::runBegins(const ProgramState &state) {
  program = &state.program;
  for (Track &track : tracks)
    track.waitBegin = -1;
}

Status Trace::commandBegins(const Replica &replica, uint32_t) {
  tracks[replica.index].commandBegin = now();
  return Status::success();
}

void Trace::commandEnds(const Replica &replica, uint32_t command) {
  switch (program->code[command].opcode) {
  case Opcode::launch:
  case Opcode::copy:
  case Opcode::start: {
    Track &track = tracks[replica.index];
    track.events.push_back({program, track.commandBegin, now(), command, false});
    return;
  }
  default:
    return;
  }
}

void Trace::blocks(const Replica &replica, uint32_t) { tracks[replica.index].waitBegin = now(); }

void Trace::passes(const Replica &replica, uint32_t channel) {
  Track &track = tracks[replica.index];
  if (track.waitBegin < 0)
    return;
  track.events.push_back({program, track.waitBegin, now(), program->channelCommands[channel], true});
  track.waitBegin = -1;
}

Status Trace::write(const std::string &path) const {
  std::FILE *stream = std::fopen(path.c_str(), "wb");
  if (!stream)
    return systemError(fmt::format("cannot write trace '{}': {}", path, std::strerror(errno)));
  auto quoted = [](std::string_view text) { return nlohmann::json(text).dump(); };
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                     "{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\","
                     "\"args\":{\"name\":\"lockstep\"}}";
  bool good = true;
  for (size_t replica = 0; replica < tracks.size() && good; ++replica) {
    text += fmt::format(",\n{{\"ph\":\"M\",\"pid\":0,\"tid\":{},\"name\":\"thread_name\","
                        "\"args\":{{\"name\":\"replica {}\"}}}}",
                        replica, replica);
    for (const Event &event : tracks[replica].events) {
      const Instruction &instruction = event.program->code[event.command];
      std::string what = event.program->describe(event.command);
      std::string_view category = event.isWait                              ? "wait"
                                  : instruction.opcode == Opcode::launch    ? "kernel"
                                  : instruction.opcode == Opcode::start     ? "collective"
                                                                            : "copy";
      std::string name = event.isWait ? fmt::format("wait channel {}", instruction.a)
                         : instruction.opcode == Opcode::launch
                             ? std::string(event.program->kernelName(event.command))
                             : what;
      text += fmt::format(",\n{{\"ph\":\"X\",\"pid\":0,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},"
                          "\"name\":{},\"cat\":\"{}\",\"args\":{{\"command\":{},\"program\":{},"
                          "\"location\":{}}}}}",
                          replica, double(event.begin) / 1000,
                          double(event.end - event.begin) / 1000, quoted(name), category,
                          event.command, quoted(event.program->name()),
                          quoted(event.program->location(event.command)));
    }
    good = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
    text.clear();
  }
  text += "\n]}\n";
  good = good && std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  good = std::fclose(stream) == 0 && good;
  if (!good)
    return systemError(fmt::format("cannot write trace '{}': {}", path, std::strerror(errno)));
  return Status::success();
}

} // namespace lockstep::runtime
