//===- ElementBytes.h - How much memory an element takes --------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_ELEMENTBYTES_H
#define LOCKSTEP_DIALECT_INTERFACES_ELEMENTBYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

namespace lockstep {

/// The bytes of an integer, a float or an index in memory: whole bytes, and an
/// index has 64 bits.
inline int64_t getElementBytes(mlir::Type element) {
  return element.isIndex() ? 8
                           : static_cast<int64_t>(llvm::divideCeil(
                                 element.getIntOrFloatBitWidth(), 8));
}

/// The bytes of a tensor in memory; dynamic dimensions count as one.
inline int64_t getStaticBytes(mlir::RankedTensorType type) {
  int64_t bytes = getElementBytes(type.getElementType());
  for (int64_t size : type.getShape())
    bytes *= mlir::ShapedType::isDynamic(size) ? 1 : size;
  return bytes;
}

} // namespace lockstep

#endif
