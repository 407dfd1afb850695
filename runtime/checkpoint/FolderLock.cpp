//===- FolderLock.cpp -----------------------------------------------------===//

#include "runtime/checkpoint/FolderLock.h"

#include "runtime/checkpoint/AtomicFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>

namespace lockstep::runtime {

namespace fs = std::filesystem;

/// Called with the lock, so no other run writes to the folder.
static void removeTemporaryFiles(const std::string &folder) {
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end;
       !ignored && entry != end; entry.increment(ignored))
    if (std::string name = entry->path().filename().string();
        name.starts_with("checkpoint-") && isTemporaryName(name))
      ::unlink(entry->path().c_str());
}

Expected<FolderLock> FolderLock::acquire(const std::string &folder) {
  std::string path = fs::path(folder) / "lock";
  FolderLock lock;
  lock.descriptor =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (lock.descriptor < 0)
    return systemError(
        fmt::format("'{}': cannot open: {}", path, std::strerror(errno)));
  if (::flock(lock.descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      return systemError(
          fmt::format("'{}': cannot lock: {}", path, std::strerror(errno)));
    char holder[32] = {};
    ssize_t size = ::pread(lock.descriptor, holder, sizeof(holder) - 1, 0);
    return systemError(fmt::format(
        "'{}': expected a folder that no other run saves to, found it locked "
        "by process {}",
        folder, size > 0 ? std::string(holder, size_t(size)) : "(unknown)"));
  }
  std::string number = std::to_string(::getpid());
  if (::ftruncate(lock.descriptor, 0) != 0 ||
      ::pwrite(lock.descriptor, number.data(), number.size(), 0) < 0)
    return systemError(
        fmt::format("'{}': cannot write: {}", path, std::strerror(errno)));
  removeTemporaryFiles(folder);
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor >= 0)
    ::close(descriptor);
}

} // namespace lockstep::runtime
