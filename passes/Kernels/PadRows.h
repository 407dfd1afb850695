//===- PadRows.h - Rows that a library multiplies fast ----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_PADROWS_H
#define LOCKSTEP_PASSES_KERNELS_PADROWS_H

#include <cstdint>

namespace lockstep {

/// On tensor cores, a library has much slower code for matrices whose rows in
/// memory are no multiples of so many elements: of the 16-bit types, these are
/// 16 bytes.
inline constexpr int64_t kRowMultiple = 8;

/// Products of fewer multiply-adds take no longer than copies of their
/// matrices.
inline constexpr int64_t kLargeProduct = int64_t(1) << 30;

} // namespace lockstep

#endif
