//===- MemoryFile.h - bytes under a path ------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_FUZZ_MEMORYFILE_H
#define LOCKSTEP_TEST_RUNTIME_FUZZ_MEMORYFILE_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace lockstep::runtime::test {

/// A file in memory with the given bytes, for readers that want a path.
class MemoryFile {
public:
  MemoryFile(const uint8_t *bytes, size_t size)
      : descriptor(memfd_create("input", MFD_CLOEXEC)) {
    if (descriptor < 0 ||
        write(descriptor, bytes, size) != static_cast<ssize_t>(size))
      std::abort();
  }
  ~MemoryFile() { close(descriptor); }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  int descriptor;
};

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_FUZZ_MEMORYFILE_H
