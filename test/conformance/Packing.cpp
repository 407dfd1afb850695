//===- Packing.cpp - tensors that are reduced together --------------------===//

#include "test/conformance/Packing.h"

#include <algorithm>

namespace lockstep::runtime {

std::vector<Pack> packBySize(std::span<const std::optional<uint64_t>> bytes,
                             uint64_t bytesPerPack) {
  bool allKnown = std::all_of(
      bytes.begin(), bytes.end(),
      [](const std::optional<uint64_t> &size) { return size.has_value(); });
  bool bounded = bytesPerPack > 0 && allKnown;
  std::vector<Pack> packs;
  // Bytes that may still be added to the last pack.
  uint64_t room = 0;
  bool open = false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!open) {
      packs.emplace_back();
      room = bytesPerPack;
      open = true;
    }
    packs.back().push_back(i);
    if (!bounded)
      continue;
    open = *bytes[i] <= room;
    room -= open ? *bytes[i] : 0;
  }
  return packs;
}

std::vector<Pack> packReversed(std::span<const std::optional<uint64_t>> bytes,
                               uint64_t bytesPerPack) {
  std::vector<std::optional<uint64_t>> reversed(bytes.rbegin(), bytes.rend());
  std::vector<Pack> packs = packBySize(reversed, bytesPerPack);
  for (Pack &pack : packs)
    for (size_t &index : pack)
      index = bytes.size() - 1 - index;
  return packs;
}

} // namespace lockstep::runtime
