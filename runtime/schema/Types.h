//===- Types.h - element types and shapes -----------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SCHEMA_TYPES_H
#define LOCKSTEP_RUNTIME_SCHEMA_TYPES_H

#include "runtime/schema/artifact_generated.h"
#include "runtime/support/Checked.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// An element type, a shape and the size in bytes. Dimensions of -1 are
/// dynamic.
struct TensorInfo {
  artifact::ElementType element = artifact::ElementType::f32;
  std::vector<int64_t> shape;
  /// Bytes of the whole tensor, row-major without padding; of its bound if the
  /// shape is dynamic.
  uint64_t bytes = 0;
};

/// Bytes of one element; an i1 takes one byte, 0 or 1. 0 for a value outside of
/// the enum.
inline uint64_t elementSize(artifact::ElementType type) {
  using artifact::ElementType;
  switch (type) {
  case ElementType::i1:
  case ElementType::i8:
  case ElementType::u8:
    return 1;
  case ElementType::i16:
  case ElementType::u16:
  case ElementType::f16:
  case ElementType::bf16:
    return 2;
  case ElementType::i32:
  case ElementType::u32:
  case ElementType::f32:
    return 4;
  case ElementType::i64:
  case ElementType::u64:
  case ElementType::f64:
    return 8;
  }
  return 0;
}

inline bool isFloat(artifact::ElementType type) {
  using artifact::ElementType;
  return type == ElementType::f16 || type == ElementType::bf16 ||
         type == ElementType::f32 || type == ElementType::f64;
}

/// Bytes of the type in which elements are reduced: f32 for f16 and bf16, else
/// their own type.
inline uint64_t accumulatorSize(artifact::ElementType type) {
  return isFloat(type) ? std::max<uint64_t>(elementSize(type), 4)
                       : elementSize(type);
}

/// Name as in MLIR, for example "bf16".
inline const char *elementName(artifact::ElementType type) {
  return artifact::EnumNameElementType(type);
}

/// Bytes of a static shape; none if a dimension is negative or the size does
/// not fit.
template <typename Shape>
std::optional<uint64_t> staticBytes(artifact::ElementType element,
                                    const Shape &shape) {
  uint64_t bytes = elementSize(element);
  for (int64_t dimension : shape) {
    if (dimension < 0)
      return std::nullopt;
    std::optional<uint64_t> product =
        checkedMultiply(bytes, static_cast<uint64_t>(dimension));
    if (!product)
      return std::nullopt;
    bytes = *product;
  }
  return bytes;
}

/// As in MLIR without "tensor": "32x?xf32".
std::string typeName(artifact::ElementType element,
                     const std::vector<int64_t> &shape);
inline std::string typeName(const TensorInfo &type) {
  return typeName(type.element, type.shape);
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SCHEMA_TYPES_H
