//===- Packing.h - tensors that are reduced together ------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_PACKING_H
#define LOCKSTEP_TEST_CONFORMANCE_PACKING_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lockstep::runtime {

/// Indices of tensors, in their order.
using Pack = std::vector<size_t>;

/// Splits tensors of these bytes into packs: one is closed as soon as it has
/// more than `bytesPerPack`, so that all but the last have more. 0: no bound.
/// If the size of any tensor is unknown (none), there is one pack.
///
///   12, 4, 16 bytes in packs of 8: {0}, {1, 2}
std::vector<Pack> packBySize(std::span<const std::optional<uint64_t>> bytes,
                             uint64_t bytesPerPack);

/// The packs in which gradients are reduced: packed from the last tensor to the
/// first, because the gradients of the last layers are ready first.
std::vector<Pack> packReversed(std::span<const std::optional<uint64_t>> bytes,
                               uint64_t bytesPerPack);

} // namespace lockstep::runtime

#endif // LOCKSTEP_TEST_CONFORMANCE_PACKING_H
