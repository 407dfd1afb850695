//===- NpyArray.h - an array in NumPy's format ------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_NPYARRAY_H
#define LOCKSTEP_RUNTIME_DATA_NPYARRAY_H

#include "runtime/data/AlignedBytes.h"
#include "runtime/data/InputFile.h"
#include "runtime/schema/Types.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <span>
#include <string>

namespace lockstep::runtime {

/// An array of an .npy file: row-major, little endian. A large one stays in its
/// file and is read in pieces. Move-only.
class NpyArray {
public:
  /// Files of up to this size are read into memory when they are opened.
  static constexpr uint64_t mostInMemory = uint64_t(64) << 20;

  /// Errors name the file.
  static Expected<NpyArray>
  open(const std::string &path, uint64_t mostInMemory = NpyArray::mostInMemory);
  /// Takes the bytes of a whole .npy file. Errors do not name a file.
  static Expected<NpyArray> fromMemory(AlignedBytes file);

  const TensorInfo &type() const { return tensorType; }
  /// Fills `target` from byte `offset` of the elements on. Errors, for an array
  /// in a file: the file has been shortened or cannot be read.
  Status read(uint64_t offset, std::span<std::byte> target) const;
  /// The elements of an array in memory, `type().bytes` bytes; empty if they
  /// are in a file. Elements are aligned when the writer was NumPy, which
  /// aligns to 64; do not rely on it.
  std::span<const std::byte> data() const { return tensorData; }

private:
  NpyArray() = default;
  /// `begin` are the first bytes of a file of `size` bytes. Returns the offset
  /// of the elements.
  Expected<uint64_t> parse(std::span<const std::byte> begin, uint64_t size);
  Status checkBooleans() const;

  TensorInfo tensorType;
  std::span<const std::byte> tensorData;
  AlignedBytes owned;
  /// The file of the elements if they are not in memory.
  InputFile file;
  uint64_t fileOffset = 0;
};

/// Whether every byte is 0 or 1, as kernels expect of an i1.
bool areBooleans(std::span<const std::byte> bytes);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_NPYARRAY_H
