//===- GpuProducts.cpp - products that a library may compute --------------===//

#include "runtime/artifact/GpuProducts.h"

#include <algorithm>
#include <limits>

namespace lockstep::runtime {

using artifact::ElementType;

static bool isSize(uint64_t size) {
  return size >= 1 && size <= uint64_t(std::numeric_limits<int32_t>::max());
}

static bool isStride(int64_t stride) {
  return stride >= 0 && stride <= std::numeric_limits<int32_t>::max();
}

static bool isMatrix(const GpuMatrix &matrix, size_t buffers) {
  bool isAligned =
      isFloat(matrix.type()) && matrix.offset % elementSize(matrix.type()) == 0;
  return matrix.buffer < buffers && isAligned && isStride(matrix.rowStride) &&
         isStride(matrix.columnStride) && isStride(matrix.batchStride) &&
         isStride(matrix.repeatStride) &&
         std::min(matrix.rowStride, matrix.columnStride) == 1;
}

/// Whether the types are those of a product with one rounding.
static bool hasTypes(const GpuProduct &product) {
  ElementType factor = product.left.type(), result = product.result.type();
  bool isNarrow = elementSize(factor) == 2;
  return factor == product.right.type() &&
         (result == factor || (isNarrow && result == ElementType::f32)) &&
         (!product.accumulates || result != factor || !isNarrow);
}

std::optional<std::vector<GpuProduct>>
GpuProduct::read(std::span<const uint64_t> given, size_t buffers,
                 size_t phases) {
  if (given.size() % words != 0)
    return std::nullopt;
  std::vector<GpuProduct> products;
  for (; !given.empty(); given = given.subspan(words)) {
    std::array<uint64_t, words> own{};
    std::ranges::copy(given.first(words), own.begin());
    auto product = std::bit_cast<GpuProduct>(own);
    bool isNext = product.phase < phases &&
                  (products.empty() || product.phase > products.back().phase);
    bool hasSizes = isSize(product.rows) && isSize(product.columns) &&
                    isSize(product.depth) && isSize(product.batches) &&
                    isSize(product.repeats);
    bool hasFlags = product.accumulates <= 1 && product.roundsFactors <= 1;
    if (!isNext || !hasSizes || !hasFlags || !isMatrix(product.left, buffers) ||
        !isMatrix(product.right, buffers) ||
        !isMatrix(product.result, buffers) || !hasTypes(product) ||
        product.result.columnStride != 1)
      return std::nullopt;
    products.push_back(product);
  }
  return products;
}

} // namespace lockstep::runtime
