//===- MappedFile.cpp - a whole file as read-only memory ------------------===//

#include "runtime/data/MappedFile.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lockstep::runtime {

MappedFile::~MappedFile() {
  if (!memory.empty())
    munmap(const_cast<std::byte *>(memory.data()), memory.size());
}

Expected<MappedFile> MappedFile::open(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError(
        fmt::format("'{}': cannot open: {}", path, strerror(errno)));
  struct stat info = {};
  Status status;
  void *mapping = nullptr;
  if (fstat(descriptor, &info) != 0) {
    status = systemError(
        fmt::format("'{}': cannot read: {}", path, strerror(errno)));
  } else if (!S_ISREG(info.st_mode)) {
    status = invalidArgument(
        fmt::format("'{}': expected a file, found {}", path,
                    S_ISDIR(info.st_mode) ? "a folder" : "a special file"));
  } else if (info.st_size > 0) {
    // A mapping of no bytes is an error of mmap; an empty file needs none.
    mapping =
        mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapping == MAP_FAILED)
      status = systemError(
          fmt::format("'{}': cannot map: {}", path, strerror(errno)));
  }
  close(descriptor);
  if (!status.ok())
    return status;
  return MappedFile({static_cast<const std::byte *>(mapping),
                     static_cast<size_t>(info.st_size)});
}

} // namespace lockstep::runtime
