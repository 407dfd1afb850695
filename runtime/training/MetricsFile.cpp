//===- MetricsFile.cpp - metrics as JSON lines ----------------------------===//

#include "runtime/training/MetricsFile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <unistd.h>

namespace lockstep::training {

using runtime::Status;

namespace {

constexpr size_t bufferSize = 1 << 16;

/// The parts of a line that `resume` reads.
struct Line {
  bool valid = false;
  bool isEvaluation = false;
  uint64_t step = 0;
};

Line readLine(const std::string &text) {
  nlohmann::json json =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return {};
  auto step = json.find("step");
  if (step == json.end() || !step->is_number_unsigned())
    return {};
  return {true, json.contains("evaluate"), step->get<uint64_t>()};
}

} // namespace

MetricsFile::~MetricsFile() {
  if (!isOpen())
    return;
  // Callers that check errors have called `flush` before.
  (void)flush();
  close(descriptor);
}

Status MetricsFile::failure(const char *what) const {
  return runtime::systemError(
      fmt::format("'{}': cannot {}: {}", path, what, strerror(errno)));
}

Status MetricsFile::create(const std::string &file) {
  path = file;
  buffer.reserve(bufferSize + 4096);
  descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  // Truncated only now, so that the path may be a device or a pipe.
  if (descriptor < 0)
    return failure("create");
  if (ftruncate(descriptor, 0) != 0 && errno != EINVAL)
    return failure("create");
  lastWrite = std::chrono::steady_clock::now();
  return Status::success();
}

Status MetricsFile::resume(const std::string &file, uint64_t step) {
  std::ifstream existing(file, std::ios::binary);
  uint64_t keep = 0, number = 0;
  std::string text;
  // A line without a newline was incomplete when the run stopped; it is
  // removed.
  while (existing && std::getline(existing, text) && !existing.eof()) {
    ++number;
    Line line = readLine(text);
    if (!line.valid)
      return runtime::invalidArgument(
          fmt::format("'{}', line {}: expected metrics of the run that is "
                      "resumed, found something else",
                      file, number));
    if (line.isEvaluation ? line.step > step : line.step >= step)
      break;
    if (line.isEvaluation)
      lastEvaluation = line.step + 1;
    keep += text.size() + 1;
  }
  existing.close();
  if (number > 0 && truncate(file.c_str(), static_cast<off_t>(keep)) != 0) {
    path = file;
    return failure("shorten");
  }
  if (number == 0)
    return create(file);
  path = file;
  buffer.reserve(bufferSize + 4096);
  descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0)
    return failure("open");
  lastWrite = std::chrono::steady_clock::now();
  return Status::success();
}

Status MetricsFile::endLine() {
  if (!isOpen()) {
    buffer.clear();
    return Status::success();
  }
  auto now = std::chrono::steady_clock::now();
  if (buffer.size() < bufferSize && now - lastWrite < std::chrono::seconds(1))
    return Status::success();
  lastWrite = now;
  return flush();
}

Status MetricsFile::flush() {
  if (!isOpen() || buffer.empty())
    return Status::success();
  std::optional<FileWatch::Scope> scope;
  if (watch)
    scope.emplace(*watch, "writing metrics to '" + path + "'");
  size_t done = 0;
  while (done < buffer.size()) {
    ssize_t written =
        write(descriptor, buffer.data() + done, buffer.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0) {
      buffer.clear();
      return failure("write");
    }
    done += written;
  }
  buffer.clear();
  return Status::success();
}

} // namespace lockstep::training
