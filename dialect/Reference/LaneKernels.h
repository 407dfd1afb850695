//===- LaneKernels.h - Element-wise operations ------------------*- C++ -*-===//
//
// Operations of `arith` and `math` on `count` contiguous elements in memory,
// which are floats, doubles or integers of 64 bits (`Lane` in Value.h). The
// same kernels compute scalars (one element), tensors (all elements) and the
// bodies of `linalg.generic` (a strip: elements of consecutive points).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_LANEKERNELS_H
#define LOCKSTEP_DIALECT_REFERENCE_LANEKERNELS_H

#include "dialect/Reference/Value.h"

#include "mlir/IR/Operation.h"

namespace lockstep::interpret {

struct LaneKernel {
  using Function = void (*)(const LaneKernel &kernel, void *to,
                            const void *const *from, int64_t count);

  Function function = nullptr;
  /// The element types of the first operand and of the result.
  Element operand, result;
  /// For comparisons: the outcomes for which they are true, as bits: 1 less, 2
  /// equal, 4 greater, 8 unordered (`Outcome` in ArithKernels.cpp).
  unsigned accepted = 0;
  /// The element type of the second operand, which may differ from that of the
  /// first (`arith.select`, `math.fpowi`).
  Element second;

  void run(void *to, const void *const *from, int64_t count) const {
    function(*this, to, from, count);
    roundLanes(result.rounding, static_cast<float *>(to),
               result.rounding == Rounding::None ? 0 : count);
  }
};

/// The kernel of an operation with one result; nullopt if the operation is not
/// element-wise, or not supported. Integers follow the signedness of the
/// operation. Cases that are undefined in MLIR have a value here: a division by
/// zero results in all ones (its remainder is the dividend), a shift by the
/// width or more in zeros or copies of the sign, and conversions to integers
/// saturate, with 0 for NaN.
std::optional<LaneKernel> getLaneKernel(mlir::Operation *op);

/// Parts of `getLaneKernel`; null if the operation is not of the dialect or not
/// supported.
LaneKernel::Function getArithFunction(mlir::Operation *op, LaneKernel &kernel);
LaneKernel::Function getMathFunction(mlir::Operation *op, LaneKernel &kernel);

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

template <typename To, typename From, auto F>
void unaryLoop(const LaneKernel &, void *to, const void *const *from,
               int64_t count) {
  auto *result = static_cast<To *>(to);
  auto *a = static_cast<const From *>(from[0]);
  for (int64_t i = 0; i < count; ++i)
    result[i] = F(a[i]);
}

template <typename T, auto F>
void binaryLoop(const LaneKernel &, void *to, const void *const *from,
                int64_t count) {
  auto *result = static_cast<T *>(to);
  auto *a = static_cast<const T *>(from[0]),
       *b = static_cast<const T *>(from[1]);
  for (int64_t i = 0; i < count; ++i)
    result[i] = F(a[i], b[i]);
}

template <typename T, auto F>
void ternaryLoop(const LaneKernel &, void *to, const void *const *from,
                 int64_t count) {
  auto *result = static_cast<T *>(to);
  auto *a = static_cast<const T *>(from[0]),
       *b = static_cast<const T *>(from[1]),
       *c = static_cast<const T *>(from[2]);
  for (int64_t i = 0; i < count; ++i)
    result[i] = F(a[i], b[i], c[i]);
}

/// Operations on floats, as loops on float or double.
template <auto F> LaneKernel::Function floatUnary(const LaneKernel &kernel) {
  return kernel.operand.lane == Lane::Float ? &unaryLoop<float, float, F>
                                            : &unaryLoop<double, double, F>;
}
template <auto F> LaneKernel::Function floatBinary(const LaneKernel &kernel) {
  return kernel.operand.lane == Lane::Float ? &binaryLoop<float, F>
                                            : &binaryLoop<double, F>;
}
template <auto F> LaneKernel::Function floatTernary(const LaneKernel &kernel) {
  return kernel.operand.lane == Lane::Float ? &ternaryLoop<float, F>
                                            : &ternaryLoop<double, F>;
}

} // namespace lockstep::interpret

#endif
