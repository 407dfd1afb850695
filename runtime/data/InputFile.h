//===- InputFile.h - a file that others may shorten -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_INPUTFILE_H
#define LOCKSTEP_RUNTIME_DATA_INPUTFILE_H

#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace lockstep::runtime {

/// A regular file that is read piece by piece. It is not mapped: whoever reads
/// a page of a mapped file that has been shortened meanwhile is ended by a
/// signal, and here that is an error. Move-only; may be read by several
/// threads.
class InputFile {
public:
  InputFile() = default;
  ~InputFile();
  InputFile(InputFile &&other) noexcept
      : path(std::move(other.path)),
        descriptor(std::exchange(other.descriptor, -1)),
        bytes(std::exchange(other.bytes, 0)) {}
  InputFile &operator=(InputFile &&other) noexcept {
    std::swap(path, other.path);
    std::swap(descriptor, other.descriptor);
    std::swap(bytes, other.bytes);
    return *this;
  }

  /// Errors name the file: not there, not readable, not a regular file.
  static Expected<InputFile> open(const std::string &path);

  /// As it was when the file was opened.
  uint64_t size() const { return bytes; }
  /// Fills `target` from byte `offset` on. Errors name the file: it has fewer
  /// bytes now, cannot be read.
  Status read(uint64_t offset, std::span<std::byte> target) const;

private:
  std::string path;
  int descriptor = -1;
  uint64_t bytes = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_INPUTFILE_H
