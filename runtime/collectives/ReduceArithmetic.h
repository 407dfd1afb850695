//===- ReduceArithmetic.h - one step of a reduction -------------*- C++ -*-===//
//
// Accumulators, conversions and operators, for the sources that are compiled
// once for each kind of processor: ReduceKernels.cpp and the kernels of GPUs.
// Everything is local to the source that includes it, since functions of one
// name for several processors must not become one at link time. GPUs have no
// standard library, so it needs none.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_COLLECTIVES_REDUCEARITHMETIC_H
#define LOCKSTEP_RUNTIME_COLLECTIVES_REDUCEARITHMETIC_H

#include <stdint.h>

namespace lockstep::runtime {
namespace {

struct Half {
  using Accumulator = float;
  uint16_t bits;
};
struct BFloat {
  using Accumulator = float;
  uint16_t bits;
};

template <typename T> struct AccumulatorOf {
  using Type = T;
};
template <> struct AccumulatorOf<Half> {
  using Type = float;
};
template <> struct AccumulatorOf<BFloat> {
  using Type = float;
};

template <typename T> inline T widen(T value) { return value; }
inline float widen(Half value) {
  _Float16 half;
  __builtin_memcpy(&half, &value, sizeof(half));
  return float(half);
}
inline float widen(BFloat value) {
  uint32_t bits = uint32_t(value.bits) << 16;
  float result;
  __builtin_memcpy(&result, &bits, sizeof(result));
  return result;
}

template <typename T> inline void narrow(T &out, T value) { out = value; }
inline void narrow(Half &out, float value) {
  _Float16 half = _Float16(value);
  __builtin_memcpy(&out, &half, sizeof(half));
}
inline void narrow(BFloat &out, float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  uint32_t quietNaN = bits >> 16 | 0x40;
  bool isNaN = (bits & 0x7fffffff) > 0x7f800000;
  out.bits = uint16_t(isNaN ? quietNaN : rounded);
}

/// Integers wrap around: computed without a sign, where overflow is defined.
template <typename T> struct Unsigned {
  using Type = T;
};
template <> struct Unsigned<int8_t> {
  using Type = uint8_t;
};
template <> struct Unsigned<int16_t> {
  using Type = uint16_t;
};
template <> struct Unsigned<int32_t> {
  using Type = uint32_t;
};
template <> struct Unsigned<int64_t> {
  using Type = uint64_t;
};

struct Sum {
  template <typename A> static A apply(A a, A b) {
    using U = typename Unsigned<A>::Type;
    return A(U(a) + U(b));
  }
};
struct Product {
  static uint16_t apply(uint16_t a, uint16_t b) {
    return uint16_t(uint32_t(a) * uint32_t(b));
  }
  static int16_t apply(int16_t a, int16_t b) {
    return int16_t(uint32_t(a) * uint32_t(b));
  }
  template <typename A> static A apply(A a, A b) {
    using U = typename Unsigned<A>::Type;
    return A(U(a) * U(b));
  }
};
/// Both return a NaN if either argument is one.
struct Min {
  template <typename A> static A apply(A a, A b) {
    return a < b || a != a ? a : b;
  }
};
struct Max {
  template <typename A> static A apply(A a, A b) {
    return a > b || a != a ? a : b;
  }
};

} // namespace
} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_COLLECTIVES_REDUCEARITHMETIC_H
