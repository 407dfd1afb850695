//===- GpuProducts.cpp - products that a library may compute --------------===//

#include "runtime/artifact/GpuProducts.h"

namespace lockstep::runtime {

using artifact::ElementType;

/// Whether a matrix of so many rows and columns is in its buffer.
static bool isMatrix(const GpuProduct &product, const GpuMatrix &matrix,
                     uint64_t rows, uint64_t columns,
                     std::span<const uint64_t> bufferBytes) {
  if (matrix.buffer >= bufferBytes.size() ||
      matrix.element > uint64_t(ElementType::MAX) || !isFloat(matrix.type()) ||
      !isLibraryStride(matrix.rowStride) ||
      !isLibraryStride(matrix.columnStride) ||
      !isLibraryStride(matrix.batchStride) ||
      !isLibraryStride(matrix.repeatStride))
    return false;
  bool isRowMajor = matrix.columnStride == 1;
  uint64_t leading = isRowMajor ? matrix.rowStride : matrix.columnStride;
  if ((!isRowMajor && matrix.rowStride != 1) ||
      leading < (isRowMajor ? columns : rows))
    return false;
  // Sizes and strides are below 2^31.
  using Wide = unsigned __int128;
  auto distance = [](uint64_t count, int64_t stride) {
    return Wide(count - 1) * Wide(stride);
  };
  Wide elements = distance(rows, matrix.rowStride) +
                  distance(columns, matrix.columnStride) +
                  distance(product.batches, matrix.batchStride) +
                  distance(product.repeats, matrix.repeatStride) + 1;
  uint64_t size = elementSize(matrix.type()),
           bytes = bufferBytes[matrix.buffer];
  return matrix.offset % size == 0 && matrix.offset <= bytes &&
         elements * size <= bytes - matrix.offset;
}

/// Whether the types are those of a product with one rounding.
static bool hasTypes(const GpuProduct &product) {
  ElementType factor = product.left.type(), result = product.result.type();
  bool isNarrow = elementSize(factor) == 2;
  return factor == product.right.type() &&
         (result == factor || (isNarrow && result == ElementType::f32)) &&
         !(product.accumulates && isNarrow && result == factor);
}

static bool hasValidEpilogue(const GpuProduct &product,
                             std::span<const uint64_t> bufferBytes) {
  const GpuEpilogue &epilogue = product.epilogue;
  bool isSingle =
      !product.accumulates && product.batches == 1 && product.repeats == 1;
  return (epilogue.isNone() || isSingle) &&
         epilogue.isValid(product.result.type(), product.columns, bufferBytes);
}

bool GpuProduct::isValid(std::span<const uint64_t> bufferBytes) const {
  return isLibrarySize(rows) && isLibrarySize(columns) &&
         isLibrarySize(depth) && isLibrarySize(batches) &&
         isLibrarySize(repeats) && accumulates <= 1 && roundsFactors <= 1 &&
         isMatrix(*this, left, rows, depth, bufferBytes) &&
         isMatrix(*this, right, depth, columns, bufferBytes) &&
         isMatrix(*this, result, rows, columns, bufferBytes) &&
         hasTypes(*this) && result.columnStride == 1 &&
         hasValidEpilogue(*this, bufferBytes);
}

} // namespace lockstep::runtime
