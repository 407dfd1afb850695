//===- Reduce.cu - reductions on a GPU ------------------------------------===//
//
// Also the search for an element that is NaN or infinite, in types of floats.
// The build compiles this file to PTX once for each element type, with
// LOCKSTEP_ELEMENT set to the type in ReduceArithmetic.h. It needs no CUDA SDK.
// The order of operands is that of ReduceTree.h. Contraction is off, so that
// results have the bits of the CPU's, except that NaNs may be other ones.
//
//===----------------------------------------------------------------------===//

// What clang's CUDA headers would define.
#define LOCKSTEP_GLOBAL extern "C" __attribute__((global))
#define LOCKSTEP_DEVICE __attribute__((device))

#pragma clang force_cuda_host_device begin
#include "runtime/collectives/ReduceArithmetic.h"
#pragma clang force_cuda_host_device end

#include "runtime/device/cuda/ReduceShape.h"

namespace lockstep::runtime {
namespace {

using Element = LOCKSTEP_ELEMENT;
using Accumulator = AccumulatorOf<Element>::Type;

template <typename T>
using GlobalPointer = __attribute__((address_space(1))) T *;

/// The addresses of up to `reduceDirect` operands and results are parameters;
/// if there are more, `table` has all of them, first those of the operands.
struct Addresses {
  uint64_t direct[reduceDirect];
  GlobalPointer<const uint64_t> table;

  /// `i` is `place` unless there is a table.
  LOCKSTEP_DEVICE uint64_t at(uint32_t i, uint32_t place) const {
    return table ? table[i] : direct[place];
  }
};

/// The reduction of `count` operands from `first`, at most a group of them: a
/// complete subtree of operands, of which those from `count` are left out.
template <typename Op>
LOCKSTEP_DEVICE Accumulator reduceGroup(const Addresses &operands,
                                        uint32_t first, uint32_t count,
                                        uint64_t i) {
  Accumulator values[reduceDirect];
#pragma unroll
  for (uint32_t k = 0; k < reduceDirect; ++k)
    if (k < count)
      values[k] = widen(reinterpret_cast<GlobalPointer<const Element>>(
          operands.at(first + k, k))[i]);
#pragma unroll
  for (uint32_t width = 1; width < reduceDirect; width *= 2)
#pragma unroll
    for (uint32_t k = 0; k + width < reduceDirect; k += 2 * width)
      if (k + width < count)
        values[k] = Op::apply(values[k], values[k + width]);
  return values[0];
}

/// Groups are added like ones to a binary number: `partial[level]` is the
/// reduction of 2^level groups where the number of groups has that bit. The
/// loops are unrolled, so that partial results are in registers.
template <typename Op>
LOCKSTEP_DEVICE Accumulator reduceAll(const Addresses &operands, uint32_t count,
                                      uint64_t i) {
  Accumulator partial[reduceLevels], sum;
  uint32_t groups = (count + reduceDirect - 1) / reduceDirect;
  for (uint32_t group = 0;; ++group) {
    uint32_t first = group * reduceDirect, rest = count - first;
    sum = reduceGroup<Op>(operands, first,
                          rest < reduceDirect ? rest : reduceDirect, i);
    if (group + 1 == groups)
      break;
    bool isPlaced = false;
#pragma unroll
    for (uint32_t level = 0; level < reduceLevels; ++level) {
      bool isTaken = group >> level & 1;
      if (!isPlaced && isTaken)
        sum = Op::apply(partial[level], sum);
      if (!isPlaced && !isTaken)
        partial[level] = sum;
      isPlaced |= !isTaken;
    }
  }
  // What is left is to the left of the last group, the nearest first.
#pragma unroll
  for (uint32_t level = 0; level < reduceLevels; ++level)
    if ((groups - 1) >> level & 1)
      sum = Op::apply(partial[level], sum);
  return sum;
}

template <typename Result>
LOCKSTEP_DEVICE void storeAt(uint64_t address, uint64_t i, Accumulator value) {
  Result result;
  narrow(result, value);
  reinterpret_cast<GlobalPointer<Result>>(address)[i] = result;
}

template <typename Op, typename Result>
LOCKSTEP_DEVICE void
reduceElements(uint64_t elements, uint32_t operandCount, uint32_t resultCount,
               const Addresses &operands, const Addresses &results) {
  uint64_t block = __nvvm_read_ptx_sreg_ctaid_x(),
           threads = __nvvm_read_ptx_sreg_ntid_x(),
           blocks = __nvvm_read_ptx_sreg_nctaid_x();
  for (uint64_t i = block * threads + __nvvm_read_ptx_sreg_tid_x();
       i < elements; i += blocks * threads) {
    Accumulator value = reduceAll<Op>(operands, operandCount, i);
#pragma unroll
    for (uint32_t k = 0; k < reduceDirect; ++k)
      if (k < resultCount)
        storeAt<Result>(results.at(k, k), i, value);
    for (uint32_t k = reduceDirect; k < resultCount; ++k)
      storeAt<Result>(results.table[k], i, value);
  }
}

} // namespace
} // namespace lockstep::runtime

using namespace lockstep::runtime;

#define LOCKSTEP_REDUCE(name, Op, Result)                                      \
  LOCKSTEP_GLOBAL void name(                                                   \
      uint64_t elements, uint64_t operandCount, uint64_t resultCount,          \
      const uint64_t *table, uint64_t from0, uint64_t from1, uint64_t from2,   \
      uint64_t from3, uint64_t from4, uint64_t from5, uint64_t from6,          \
      uint64_t from7, uint64_t to0, uint64_t to1, uint64_t to2, uint64_t to3,  \
      uint64_t to4, uint64_t to5, uint64_t to6, uint64_t to7) {                \
    auto addresses = (GlobalPointer<const uint64_t>)table;                     \
    Addresses operands{                                                        \
        {from0, from1, from2, from3, from4, from5, from6, from7}, addresses};  \
    Addresses results{{to0, to1, to2, to3, to4, to5, to6, to7},                \
                      addresses ? addresses + operandCount : addresses};       \
    reduceElements<Op, Result>(elements, uint32_t(operandCount),               \
                               uint32_t(resultCount), operands, results);      \
  }

LOCKSTEP_REDUCE(lockstep_reduce_sum, Sum, Element)
LOCKSTEP_REDUCE(lockstep_reduce_product, Product, Element)
LOCKSTEP_REDUCE(lockstep_reduce_min, Min, Element)
LOCKSTEP_REDUCE(lockstep_reduce_max, Max, Element)
#ifdef LOCKSTEP_HAS_ACCUMULATORS
LOCKSTEP_REDUCE(lockstep_reduce_sum_accumulators, Sum, Accumulator)
LOCKSTEP_REDUCE(lockstep_reduce_product_accumulators, Product, Accumulator)
LOCKSTEP_REDUCE(lockstep_reduce_min_accumulators, Min, Accumulator)
LOCKSTEP_REDUCE(lockstep_reduce_max_accumulators, Max, Accumulator)
#endif

#ifdef LOCKSTEP_BITS
/// See FiniteSearch.h. `words` are the order and the code of a finding. A
/// search behind that of the finding has nothing to add to it.
LOCKSTEP_GLOBAL void lockstep_search(uint64_t elements, const void *tensor,
                                     uint64_t *words, uint64_t order,
                                     uint64_t exponentBits) {
  using Bits = LOCKSTEP_BITS;
  auto bits = (GlobalPointer<const Bits>)tensor;
  auto finding = (GlobalPointer<uint64_t>)words;
  if (finding[0] < order)
    return;
  auto exponent = Bits(exponentBits);
  constexpr uint32_t unroll = 4;
  uint64_t block = __nvvm_read_ptx_sreg_ctaid_x(),
           threads = __nvvm_read_ptx_sreg_ntid_x(),
           stride = __nvvm_read_ptx_sreg_nctaid_x() * threads;
  // All of a round are loaded before one is inspected.
  for (uint64_t first = block * threads + __nvvm_read_ptx_sreg_tid_x();
       first < elements; first += unroll * stride) {
    Bits values[unroll];
#pragma unroll
    for (uint32_t k = 0; k < unroll; ++k)
      values[k] =
          first + k * stride < elements ? bits[first + k * stride] : Bits(0);
#pragma unroll
    for (uint32_t k = 0; k < unroll; ++k) {
      if ((values[k] & exponent) != exponent)
        continue;
      Bits mantissa = (exponent & -exponent) - 1;
      uint64_t kind = values[k] & mantissa                      ? 0
                      : values[k] >> (8 * sizeof(Bits) - 1) & 1 ? 2
                                                                : 1;
      __scoped_atomic_fetch_min(&finding[0], order, __ATOMIC_RELAXED,
                                __MEMORY_SCOPE_DEVICE);
      __scoped_atomic_fetch_min(&finding[1], 4 * (first + k * stride) + kind,
                                __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
      return;
    }
  }
}
#endif

/// Writes addresses to a table. As parameters, they are read when the launch is
/// enqueued, so that no memory of the host must outlive it.
LOCKSTEP_GLOBAL void lockstep_reduce_addresses(uint64_t *table, uint64_t a0,
                                               uint64_t a1, uint64_t a2,
                                               uint64_t a3, uint64_t a4,
                                               uint64_t a5, uint64_t a6,
                                               uint64_t a7) {
  auto out = (GlobalPointer<uint64_t>)table;
  uint64_t values[reduceDirect] = {a0, a1, a2, a3, a4, a5, a6, a7};
#pragma unroll
  for (uint32_t k = 0; k < reduceDirect; ++k)
    out[k] = values[k];
}
