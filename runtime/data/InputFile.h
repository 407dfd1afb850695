//===- InputFile.h - a file that may be shortened ---------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_INPUTFILE_H
#define LOCKSTEP_RUNTIME_DATA_INPUTFILE_H

#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace lockstep::runtime {

/// A regular file that is read in pieces. It is not mapped: a read past the end
/// of a mapped file that has been shortened raises a signal; here it is an
/// error. Move-only; may be read by several threads.
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

  /// Errors name the file: not found, not readable, not a regular file.
  static Expected<InputFile> open(const std::string &path);

  /// The size when the file was opened.
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
