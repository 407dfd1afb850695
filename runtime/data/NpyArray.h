//===- NpyArray.h - an array in NumPy's format ------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_NPYARRAY_H
#define LOCKSTEP_RUNTIME_DATA_NPYARRAY_H

#include "runtime/artifact/Types.h"
#include "runtime/data/AlignedBytes.h"
#include "runtime/data/MappedFile.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <span>
#include <string>

namespace lockstep::runtime {

/// An array of an .npy file: row-major, little endian, owned or mapped. Move-only.
class NpyArray {
public:
  /// Maps `path`. Errors name the file.
  static Expected<NpyArray> open(const std::string &path);
  /// Takes the bytes of a whole .npy file. Errors do not say where they come from.
  static Expected<NpyArray> fromMemory(AlignedBytes file);

  const TensorInfo &type() const { return tensorType; }
  /// `type().bytes` bytes. Elements are aligned when the writer was NumPy, which aligns to 64; do
  /// not rely on it.
  std::span<const std::byte> data() const { return tensorData; }

private:
  NpyArray() = default;
  Status parse(std::span<const std::byte> file);

  TensorInfo tensorType;
  std::span<const std::byte> tensorData;
  AlignedBytes owned;
  MappedFile mapped;
};

/// Whether every byte is 0 or 1, as kernels expect of an i1.
bool areBooleans(std::span<const std::byte> bytes);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_NPYARRAY_H
