//===- GpuProducts.h - products that a library may compute ------*- C++ -*-===//
//
// For a kernel SYM of which a library may compute phases, an image defines
//
//   SYM$products       i64: the words of `GpuProduct`, one after the other, in
//                      ascending order of phases
//
// besides the symbols of GpuSymbols.h. The functions of these phases are there,
// too: for shapes that the library does not support.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_GPUPRODUCTS_H
#define LOCKSTEP_RUNTIME_ARTIFACT_GPUPRODUCTS_H

#include "runtime/schema/Types.h"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

inline constexpr std::string_view gpuProductsSuffix = "$products";

/// A matrix in one of the buffers of a launch. Strides are in elements; the
/// smaller one of rows and columns is 1.
struct GpuMatrix {
  uint64_t buffer = 0;
  /// Bytes from the begin of the buffer.
  uint64_t offset = 0;
  /// An `artifact::ElementType`.
  uint64_t element = 0;
  int64_t rowStride = 0, columnStride = 0;
  /// To the next matrix of a batch, and of the next batch.
  int64_t batchStride = 0, repeatStride = 0;

  artifact::ElementType type() const { return artifact::ElementType(element); }
};

/// What a phase of a kernel computes: `repeats` batches of `batches` products
/// `result = left * right`, or `result += left * right`. Products of floats of
/// 16 and 32 bits are summed in 32 bits, and rounded once.
struct GpuProduct {
  uint64_t phase = 0;
  /// Of the result, and the columns of `left`.
  uint64_t rows = 0, columns = 0, depth = 0;
  uint64_t batches = 1, repeats = 1;
  /// 1: the products are added to the result.
  uint64_t accumulates = 0;
  /// 1: factors of 32 bits may be rounded to tf32.
  uint64_t roundsFactors = 0;
  GpuMatrix left, right, result;

  static constexpr size_t words = 29;
  std::array<int64_t, words> toWords() const;
  /// The products of an image. None if the words are not those of products that
  /// can be computed: sizes of 0, sizes and strides from 2^31 on, other element
  /// types, or buffers and phases that a kernel with so many does not have.
  static std::optional<std::vector<GpuProduct>>
  read(std::span<const uint64_t> words, size_t buffers, size_t phases);
};
static_assert(sizeof(GpuProduct) == GpuProduct::words * sizeof(int64_t));

inline std::array<int64_t, GpuProduct::words> GpuProduct::toWords() const {
  return std::bit_cast<std::array<int64_t, words>>(*this);
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_GPUPRODUCTS_H
