//===- TraceFile.cpp ------------------------------------------------------===//

#include "runtime/support/TraceFile.h"

#include "runtime/support/JsonText.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace lockstep::runtime {

static std::string jsonText(std::string_view text) {
  return jsonText(nlohmann::json(text));
}

void TraceFile::nameProcess(size_t process, std::string_view name) {
  addName("process_name", process, 0, name);
}

void TraceFile::nameThread(size_t process, size_t thread, std::string_view name,
                           uint64_t replicas) {
  addName("thread_name", process, thread, name, replicas);
}

void TraceFile::addName(const char *what, size_t process, size_t thread,
                        std::string_view name, uint64_t replicas) {
  addLine(
      fmt::format("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\","
                  "\"args\":{{\"name\":{}{}}}}}",
                  process, thread, what, jsonText(name),
                  replicas ? fmt::format(",\"replicas\":{}", replicas) : ""));
}

void TraceFile::addEvent(const Event &event) {
  addLine(fmt::format(
      "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},"
      "\"name\":{},\"cat\":\"{}\",\"args\":{{\"command\":{},\"program\":{},"
      "\"location\":{}}}}}",
      event.process, event.thread, event.begin, event.duration,
      jsonText(event.name), event.category, event.command,
      jsonText(event.program), jsonText(event.location)));
}

void TraceFile::addLine(std::string_view line) {
  if (!lines.empty())
    lines += ",\n";
  lines += line;
}

Status TraceFile::write(const std::string &path) const {
  std::FILE *stream = std::fopen(path.c_str(), "wb");
  if (!stream)
    return systemError(
        fmt::format("cannot write trace '{}': {}", path, std::strerror(errno)));
  std::string text =
      "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + lines + "\n]}\n";
  bool good = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  good = std::fclose(stream) == 0 && good;
  if (!good)
    return systemError(
        fmt::format("cannot write trace '{}': {}", path, std::strerror(errno)));
  return Status::success();
}

} // namespace lockstep::runtime
