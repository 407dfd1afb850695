//===- InputFile.cpp ------------------------------------------------------===//

#include "runtime/data/InputFile.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lockstep::runtime {

InputFile::~InputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Expected<InputFile> InputFile::open(const std::string &path) {
  InputFile file;
  file.path = path;
  // O_NONBLOCK: opening a pipe would wait for its writer.
  file.descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor < 0)
    return systemError(
        fmt::format("'{}': cannot open: {}", path, std::strerror(errno)));
  struct stat info = {};
  if (::fstat(file.descriptor, &info) != 0)
    return systemError(
        fmt::format("'{}': cannot read: {}", path, std::strerror(errno)));
  if (!S_ISREG(info.st_mode))
    return invalidArgument(
        fmt::format("'{}': expected a file, found {}", path,
                    S_ISDIR(info.st_mode) ? "a folder" : "a special file"));
  file.bytes = static_cast<uint64_t>(info.st_size);
  return file;
}

Status InputFile::read(uint64_t offset, std::span<std::byte> target) const {
  for (size_t done = 0; done < target.size();) {
    ssize_t count =
        ::pread(descriptor, target.data() + done, target.size() - done,
                static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(
          fmt::format("'{}': cannot read: {}", path, std::strerror(errno)));
    if (count == 0)
      return corrupted(fmt::format(
          "'{}': truncated since it was opened: expected {} bytes, found {}",
          path, bytes, offset + done));
    done += static_cast<size_t>(count);
  }
  return Status::success();
}

} // namespace lockstep::runtime
