//===- ElementBytes.h - Sizes of elements and tensors -----------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_ELEMENTBYTES_H
#define LOCKSTEP_DIALECT_INTERFACES_ELEMENTBYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

namespace lockstep {

/// Alignment of all tensors in memory, in bytes: a cache line, and the widest
/// vector.
constexpr int64_t kAlignment = 64;

/// The size of an element in memory in bytes, rounded up: of an integer, a
/// float or an index, which has 64 bits. Other types are not supported.
inline int64_t getElementBytes(mlir::Type element) {
  return element.isIndex() ? 8
                           : static_cast<int64_t>(llvm::divideCeil(
                                 element.getIntOrFloatBitWidth(), 8));
}

/// The size in bytes of a tensor of static shape, stored without gaps.
inline int64_t getByteSize(mlir::RankedTensorType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

/// The size of a tensor in bytes, as if each dynamic dimension were 1.
inline int64_t getStaticByteSize(mlir::RankedTensorType type) {
  int64_t bytes = getElementBytes(type.getElementType());
  for (int64_t size : type.getShape())
    bytes *= mlir::ShapedType::isDynamic(size) ? 1 : size;
  return bytes;
}

} // namespace lockstep

#endif
