//===- RankRange.h - consecutive ranks --------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_RANKRANGE_H
#define LOCKSTEP_RUNTIME_SUPPORT_RANKRANGE_H

#include <cstdint>
#include <ranges>

namespace lockstep::runtime {

/// The ranks first, first + 1, ..., first + count - 1.
struct RankRange {
  uint32_t first = 0, count = 0;

  bool contains(uint32_t rank) const {
    return rank >= first && rank - first < count;
  }
  /// The rank after the last one.
  uint32_t end() const { return first + count; }
  bool operator==(const RankRange &) const = default;
};

/// To iterate over them.
inline auto ranksOf(const RankRange &range) {
  return std::views::iota(range.first, range.end());
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_RANKRANGE_H
