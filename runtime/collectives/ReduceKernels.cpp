//===- ReduceKernels.cpp - compiled once for each x86-64 level ------------===//
//
// The build compiles this file several times with LOCKSTEP_LEVEL set to
// `baseline`, `v3` or `v4`. It uses no inline function of any library: the
// linker would keep one copy of it, possibly the one with instructions that the
// CPU lacks.
//
//===----------------------------------------------------------------------===//

#include "runtime/collectives/ReduceKernels.h"

#include "runtime/collectives/ReduceArithmetic.h"

namespace lockstep::runtime {
namespace {

void copyBytes(void *outPointer, const void *inPointer, int64_t n) {
  // A whole cache line at a time; the compiler splits it into registers of the
  // level.
  typedef long long Line
      __attribute__((vector_size(64), aligned(1), may_alias));
  char *__restrict out = static_cast<char *>(outPointer);
  const char *__restrict in = static_cast<const char *>(inPointer);
  int64_t i = 0;
  for (; i + 64 <= n; i += 64)
    *reinterpret_cast<Line *>(out + i) =
        *reinterpret_cast<const Line *>(in + i);
  for (; i < n; ++i)
    out[i] = in[i];
}

template <typename T, typename Op> struct Loops {
  using A = typename AccumulatorOf<T>::Type;

  static void load(void *accPointer, const void *aPointer, int64_t n) {
    A *__restrict acc = static_cast<A *>(accPointer);
    const T *__restrict a = static_cast<const T *>(aPointer);
    for (int64_t i = 0; i < n; ++i)
      acc[i] = widen(a[i]);
  }
  static void reduce2(void *accPointer, const void *aPointer,
                      const void *bPointer, int64_t n) {
    A *__restrict acc = static_cast<A *>(accPointer);
    const T *a = static_cast<const T *>(aPointer);
    const T *b = static_cast<const T *>(bPointer);
    for (int64_t i = 0; i < n; ++i)
      acc[i] = Op::apply(widen(a[i]), widen(b[i]));
  }
  static void reduce4(void *accPointer, const void *aPointer,
                      const void *bPointer, const void *cPointer,
                      const void *dPointer, int64_t n) {
    A *__restrict acc = static_cast<A *>(accPointer);
    const T *a = static_cast<const T *>(aPointer);
    const T *b = static_cast<const T *>(bPointer);
    const T *c = static_cast<const T *>(cPointer);
    const T *d = static_cast<const T *>(dPointer);
    for (int64_t i = 0; i < n; ++i)
      acc[i] = Op::apply(Op::apply(widen(a[i]), widen(b[i])),
                         Op::apply(widen(c[i]), widen(d[i])));
  }
  static void addElement(void *accPointer, const void *aPointer, int64_t n) {
    A *__restrict acc = static_cast<A *>(accPointer);
    const T *__restrict a = static_cast<const T *>(aPointer);
    for (int64_t i = 0; i < n; ++i)
      acc[i] = Op::apply(acc[i], widen(a[i]));
  }
  static void addAccumulator(void *accPointer, const void *otherPointer,
                             int64_t n) {
    A *__restrict acc = static_cast<A *>(accPointer);
    const A *__restrict other = static_cast<const A *>(otherPointer);
    for (int64_t i = 0; i < n; ++i)
      acc[i] = Op::apply(acc[i], other[i]);
  }
  static void store(void *outPointer, const void *accPointer, int64_t n) {
    T *__restrict out = static_cast<T *>(outPointer);
    const A *__restrict acc = static_cast<const A *>(accPointer);
    for (int64_t i = 0; i < n; ++i)
      narrow(out[i], acc[i]);
  }

  static constexpr ReduceFunctions functions = {
      sizeof(T),  sizeof(A),      load,  reduce2,  reduce4,
      addElement, addAccumulator, store, copyBytes};
};

template <typename T>
const ReduceFunctions *pick(artifact::Reduction reduction) {
  switch (reduction) {
  case artifact::Reduction::sum:
    return &Loops<T, Sum>::functions;
  case artifact::Reduction::product:
    return &Loops<T, Product>::functions;
  case artifact::Reduction::min:
    return &Loops<T, Min>::functions;
  case artifact::Reduction::max:
    return &Loops<T, Max>::functions;
  case artifact::Reduction::none:
    break;
  }
  return nullptr;
}

const ReduceFunctions *pick(artifact::ElementType element,
                            artifact::Reduction reduction) {
  using artifact::ElementType;
  switch (element) {
  case ElementType::i1: // a byte of 0 or 1: min and max are "and" and "or"
  case ElementType::u8:
    return pick<uint8_t>(reduction);
  case ElementType::i8:
    return pick<int8_t>(reduction);
  case ElementType::i16:
    return pick<int16_t>(reduction);
  case ElementType::u16:
    return pick<uint16_t>(reduction);
  case ElementType::i32:
    return pick<int32_t>(reduction);
  case ElementType::u32:
    return pick<uint32_t>(reduction);
  case ElementType::i64:
    return pick<int64_t>(reduction);
  case ElementType::u64:
    return pick<uint64_t>(reduction);
  case ElementType::f16:
    return pick<Half>(reduction);
  case ElementType::bf16:
    return pick<BFloat>(reduction);
  case ElementType::f32:
    return pick<float>(reduction);
  case ElementType::f64:
    return pick<double>(reduction);
  }
  return nullptr;
}

} // namespace

#define LOCKSTEP_CONCAT_(a, b) a##b
#define LOCKSTEP_CONCAT(a, b) LOCKSTEP_CONCAT_(a, b)

const ReduceFunctions *LOCKSTEP_CONCAT(reduceFunctions_, LOCKSTEP_LEVEL)(
    artifact::ElementType element, artifact::Reduction reduction);
const ReduceFunctions *LOCKSTEP_CONCAT(reduceFunctions_, LOCKSTEP_LEVEL)(
    artifact::ElementType element, artifact::Reduction reduction) {
  return pick(element, reduction);
}

} // namespace lockstep::runtime
