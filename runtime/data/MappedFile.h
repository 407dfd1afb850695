//===- MappedFile.h - a whole file as read-only memory ----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_MAPPEDFILE_H
#define LOCKSTEP_RUNTIME_DATA_MAPPEDFILE_H

#include "runtime/support/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace lockstep::runtime {

/// Maps a regular file, so that data larger than memory can be read page by
/// page. The file must not be shortened while it is mapped. Move-only; moving
/// it does not move the bytes.
class MappedFile {
public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept
      : memory(std::exchange(other.memory, {})) {}
  MappedFile &operator=(MappedFile &&other) noexcept {
    std::swap(memory, other.memory);
    return *this;
  }

  /// Errors name the file: not found, not readable, not a regular file.
  static Expected<MappedFile> open(const std::string &path);

  std::span<const std::byte> bytes() const { return memory; }

private:
  explicit MappedFile(std::span<const std::byte> memory) : memory(memory) {}

  std::span<const std::byte> memory;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_MAPPEDFILE_H
