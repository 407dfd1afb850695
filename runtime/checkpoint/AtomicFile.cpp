//===- AtomicFile.cpp - files that are there whole or not at all ----------===//

#include "runtime/checkpoint/AtomicFile.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <utility>

namespace lockstep::runtime {

Expected<AtomicFile> AtomicFile::create(const std::string &path) {
  AtomicFile file(path, -1);
  file.descriptor = open(file.temporary().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file.descriptor < 0)
    return file.failure("create");
  return file;
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept : path(std::move(other.path)), descriptor(std::exchange(other.descriptor, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  close(descriptor);
  unlink(temporary().c_str());
}

Status AtomicFile::failure(const char *what) const { return systemError(fmt::format("'{}': cannot {}: {}", path, what, strerror(errno))); }

Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return failure("write");
    bytes = bytes.subspan(written);
  }
  return Status::success();
}

Status AtomicFile::commit() {
  if (fsync(descriptor) != 0)
    return failure("write");
  // File systems may report a failed write only here.
  if (close(std::exchange(descriptor, -1)) != 0) {
    Status status = failure("write");
    unlink(temporary().c_str());
    return status;
  }
  if (std::rename(temporary().c_str(), path.c_str()) != 0) {
    Status status = failure("rename");
    unlink(temporary().c_str());
    return status;
  }
  std::string folder = std::filesystem::path(path).parent_path().string();
  int handle = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0)
    return failure("sync the folder");
  Status status = fsync(handle) == 0 ? Status() : failure("sync the folder");
  close(handle);
  return status;
}

} // namespace lockstep::runtime
