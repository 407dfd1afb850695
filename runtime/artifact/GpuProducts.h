//===- GpuProducts.h - products that a library may compute ------*- C++ -*-===//
//
// For a kernel SYM of which a library may compute phases, an image defines
//
//   SYM$products       i64: the words of `GpuProduct`, one after the other, in
//                      ascending order of phases
//
// besides the symbols of GpuSymbols.h (see GpuLibraryPhases.h).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_GPUPRODUCTS_H
#define LOCKSTEP_RUNTIME_ARTIFACT_GPUPRODUCTS_H

#include "runtime/artifact/GpuEpilogue.h"
#include "runtime/artifact/GpuLibraryPhases.h"
#include "runtime/schema/Types.h"

#include <string_view>

namespace lockstep::runtime {

inline constexpr std::string_view gpuProductsSuffix = "$products";

/// A matrix in one of the buffers of a launch. Strides are in elements; the
/// smaller of the strides of rows and columns is 1.
struct GpuMatrix {
  uint64_t buffer = 0;
  /// Bytes from the beginning of the buffer.
  uint64_t offset = 0;
  /// An `artifact::ElementType`.
  uint64_t element = 0;
  int64_t rowStride = 0, columnStride = 0;
  /// From a matrix of a batch to the next one, and from a batch to the next
  /// one.
  int64_t batchStride = 0, repeatStride = 0;

  artifact::ElementType type() const { return artifact::ElementType(element); }
};

/// What a phase of a kernel computes: `repeats` batches of `batches` products
/// `result = left * right`, or `result += left * right`. Products of floats of
/// 16 and 32 bits are summed in 32 bits, and rounded once. Only a single
/// product that is stored in f32 may have an epilogue.
struct GpuProduct {
  using Words = std::array<uint64_t, 33>;

  uint64_t phase = 0;
  /// Of the result, and the columns of `left`.
  uint64_t rows = 0, columns = 0, depth = 0;
  uint64_t batches = 1, repeats = 1;
  /// 1: the products are added to the result.
  uint64_t accumulates = 0;
  /// 1: factors of 32 bits may be rounded to tf32.
  uint64_t roundsFactors = 0;
  GpuMatrix left, right, result;
  GpuEpilogue epilogue;

  Words toWords() const { return std::bit_cast<Words>(*this); }
  /// Whether it can be computed in buffers of these sizes: not if a size is 0,
  /// if a size or a stride is 2^31 or more, if rows or columns of a matrix
  /// overlap, if it exceeds its buffer, or with other element types or
  /// epilogues.
  bool isValid(std::span<const uint64_t> bufferBytes) const;
};
static_assert(sizeof(GpuProduct) == sizeof(GpuProduct::Words));

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_GPUPRODUCTS_H
