//===- GpuLibraryPhases.h - phases that a library may compute ---*- C++ -*-===//
//
// What GpuProducts.h, GpuConvolutions.h and GpuAttention.h have in common: an
// image describes the phases of a kernel that a library may compute by arrays
// of i64, which have the words of one description after the other, in ascending
// order of phases. The functions of these phases are in the image, too, for
// what the library does not support; but for attention, which only a library
// computes.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_GPULIBRARYPHASES_H
#define LOCKSTEP_RUNTIME_ARTIFACT_GPULIBRARYPHASES_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace lockstep::runtime {

/// Sizes and strides are below 2^31, for which libraries are made.
inline constexpr uint64_t mostInLibraries = std::numeric_limits<int32_t>::max();

/// The largest alignment, in bytes, that a library asks for.
inline constexpr uint64_t mostLibraryAlignment = 16;

inline bool isLibrarySize(uint64_t size) {
  return size >= 1 && size <= mostInLibraries;
}

inline bool isLibraryStride(int64_t stride) {
  return stride >= 0 && uint64_t(stride) <= mostInLibraries;
}

/// The `Description`s in an array of an image, of a kernel with buffers of
/// these sizes and so many phases. None if these are not the words of
/// descriptions that are valid.
template <typename Description>
std::optional<std::vector<Description>>
readLibraryPhases(std::span<const uint64_t> image,
                  std::span<const uint64_t> bufferBytes, size_t phases) {
  using Words = typename Description::Words;
  constexpr size_t count = std::tuple_size_v<Words>;
  if (image.size() % count != 0)
    return std::nullopt;
  std::vector<Description> found;
  for (; !image.empty(); image = image.subspan(count)) {
    Words words{};
    std::ranges::copy(image.first(count), words.begin());
    auto next = std::bit_cast<Description>(words);
    bool isNext = next.phase < phases &&
                  (found.empty() || next.phase > found.back().phase);
    if (!isNext || !next.isValid(bufferBytes))
      return std::nullopt;
    found.push_back(next);
  }
  return found;
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_GPULIBRARYPHASES_H
