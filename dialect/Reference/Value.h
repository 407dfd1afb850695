//===- Value.h - Values of the interpreter ----------------------*- C++ -*-===//
//
// Every element is held in one of three forms, whatever its type: floats up to
// 32 bits as float, f64 as double, integers and indices of all widths
// zero-extended to 64 bits. So an operation needs at most three loops. Elements
// have the width of their type only in files and NumPy arrays.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_VALUE_H
#define LOCKSTEP_DIALECT_REFERENCE_VALUE_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace lockstep::interpret {

/// The form in which elements are held in memory (see above).
enum class Lane : uint8_t { Float, Double, Int };

/// The type to which a computed float is rounded: none, f16 or bf16.
enum class Rounding : uint8_t { None, Half, BFloat };

/// The properties of an element type.
struct Element {
  Lane lane = Lane::Int;
  Rounding rounding = Rounding::None;
  /// In bits; 64 for `index`.
  unsigned width = 64;
};

/// The element type of a scalar or tensor type, or of the component of a
/// per-replica or mirrored type; nullopt for types that the interpreter does
/// not support (complex numbers, 8-bit floats, integers above 64 bits).
std::optional<Element> getElement(mlir::Type type);

inline size_t laneBytes(Lane lane) { return lane == Lane::Float ? 4 : 8; }
inline uint64_t widthMask(unsigned width) {
  return width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
}
/// The low `width` bits as a number in two's complement.
inline int64_t signExtend(uint64_t bits, unsigned width) {
  unsigned shift = width >= 64 ? 0 : 64 - width;
  return static_cast<int64_t>(bits << shift) >> shift;
}

/// Rounds to nearest, ties to even.
float roundToHalf(float value);
float roundToBFloat(float value);
void roundLanes(Rounding rounding, float *lanes, int64_t count);

using Shape = llvm::SmallVector<int64_t, 4>;

int64_t numElements(llvm::ArrayRef<int64_t> shape);
/// Row-major strides, in elements.
Shape rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// A scalar, a tensor (row-major), or the components of all replicas. Copies
/// share their elements until one is written.
class Value {
public:
  Value() = default;
  /// Zeros. A tensor of rank 0 and a scalar are the same.
  Value(Lane lane, llvm::ArrayRef<int64_t> shape);
  /// Zeros that share memory until they are written, and whose sums and
  /// concatenations cost nothing.
  static Value zeros(Lane lane, llvm::ArrayRef<int64_t> shape);
  static Value ofInt(uint64_t bits);
  static Value perReplica(std::vector<Value> components);

  Lane lane() const { return heldLane; }
  llvm::ArrayRef<int64_t> shape() const { return dims; }
  int64_t size() const { return count; }

  const void *data() const {
    return elements ? static_cast<const void *>(elements.get()) : &scalar;
  }
  /// The elements, for writing; copies them first if other values share them.
  void *mutableData();
  template <typename T> const T *as() const {
    return static_cast<const T *>(data());
  }
  template <typename T> T *mutableAs() {
    return static_cast<T *>(mutableData());
  }
  uint64_t intAt(int64_t index) const { return as<uint64_t>()[index]; }

  /// The same elements in another shape of the same size.
  Value reshaped(llvm::ArrayRef<int64_t> shape) const;
  /// True if lane, shape and all bits are equal.
  bool isIdentical(const Value &other) const;

  /// True if all elements are known to be zero; false does not exclude it.
  bool isZero() const { return knownZero; }

  bool isPerReplica() const { return parts != nullptr; }
  const std::vector<Value> &components() const { return *parts; }

private:
  size_t bytes() const { return count * laneBytes(heldLane); }

  Lane heldLane = Lane::Int;
  Shape dims;
  int64_t count = 1;
  /// The element, if the rank is 0.
  uint64_t scalar = 0;
  std::shared_ptr<std::byte[]> elements;
  /// `elements` is the shared array of zeros, which is read-only.
  bool knownZero = false;
  std::shared_ptr<const std::vector<Value>> parts;
};

/// Copies a box of `sizes` elements between two buffers with the given strides
/// (in elements of `bytes` bytes).
void copyStrided(std::byte *to, llvm::ArrayRef<int64_t> toStrides,
                 const std::byte *from, llvm::ArrayRef<int64_t> fromStrides,
                 llvm::ArrayRef<int64_t> sizes, size_t bytes);

/// Concatenates along `axis`; lanes, ranks and all other dimensions are equal.
Value concatenate(llvm::ArrayRef<Value> values, int64_t axis);

/// Bytes of one element in files and NumPy arrays; an i1 takes one byte.
inline size_t storedBytes(const Element &element) {
  return element.width <= 8 ? 1 : element.width / 8;
}
/// Conversions between values and the little-endian, row-major bytes of files.
Value fromBytes(const Element &element, llvm::ArrayRef<int64_t> shape,
                std::span<const std::byte> bytes);
std::vector<std::byte> toBytes(const Element &element, const Value &value);

/// The value of an attribute of type `type`; nullopt if it is neither a number
/// nor dense elements.
std::optional<Value> fromAttribute(mlir::Attribute attribute, mlir::Type type);

} // namespace lockstep::interpret

#endif
