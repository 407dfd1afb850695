//===- AtomicFile.cpp - atomic writes of files ----------------------------===//

#include "runtime/checkpoint/AtomicFile.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <regex>
#include <unistd.h>
#include <utility>

namespace lockstep::runtime {

static constexpr std::string_view temporarySuffix = ".tmp";

bool isTemporaryName(std::string_view name) {
  static const std::regex pattern(R"(.+\.[0-9]+-[0-9]+\.tmp)");
  return std::regex_match(name.begin(), name.end(), pattern);
}

Expected<AtomicFile> AtomicFile::create(const std::string &path,
                                        FileCalls &calls) {
  // `calls.create` does not open an existing file. If the temporary name
  // exists, because a killed process or an attacker has created it, the next
  // number is tried.
  constexpr int attempts = 100;
  static std::atomic<uint64_t> counter = 0;
  AtomicFile file(path, calls);
  for (int i = 0; i < attempts; ++i) {
    file.temporary =
        fmt::format("{}.{}-{}{}", path, ::getpid(), counter++, temporarySuffix);
    file.descriptor = calls.create(file.temporary.c_str());
    if (file.descriptor >= 0)
      return file;
    if (errno != EEXIST)
      break;
  }
  return file.failure("create");
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      calls(other.calls), descriptor(std::exchange(other.descriptor, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  calls->close(descriptor);
  calls->remove(temporary.c_str());
}

Status AtomicFile::failure(const char *what) const {
  return systemError(
      fmt::format("'{}': cannot {}: {}", path, what, strerror(errno)));
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = calls->write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return failure("write");
    bytes = bytes.subspan(written);
  }
  return Status::success();
}

Status AtomicFile::commit() {
  if (calls->sync(descriptor) != 0)
    return failure("write");
  // Some file systems report a failed write only when the file is closed.
  if (calls->close(std::exchange(descriptor, -1)) != 0) {
    Status status = failure("write");
    calls->remove(temporary.c_str());
    return status;
  }
  if (calls->rename(temporary.c_str(), path.c_str()) != 0) {
    Status status = failure("rename");
    calls->remove(temporary.c_str());
    return status;
  }
  std::string folder = std::filesystem::path(path).parent_path().string();
  int handle = calls->openFolder(folder.empty() ? "." : folder.c_str());
  if (handle < 0)
    return failure("sync the folder");
  Status status =
      calls->sync(handle) == 0 ? Status() : failure("sync the folder");
  calls->close(handle);
  return status;
}

} // namespace lockstep::runtime
