//===- FuzzCheckpoint.cpp - any bytes as a checkpoint ---------------------===//

#include "MemoryFile.h"

#include "runtime/checkpoint/Checkpoint.h"

#include <algorithm>
#include <array>

using namespace lockstep::runtime;
using lockstep::artifact::ElementType;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  constexpr std::byte before{0xa5};
  std::array<std::byte, 16> weights;
  std::array<std::byte, 8> counters;
  weights.fill(before);
  counters.fill(before);
  // One variable that is mirrored, one with a value for each of two replicas.
  const std::array<VariableView, 2> variables = {
      VariableView{"w",
                   {ElementType::f32, {2, 2}, 16},
                   false,
                   false,
                   {std::span<std::byte>(weights)}},
      VariableView{
          "n",
          {ElementType::i32, {}, 4},
          false,
          true,
          {std::span(counters).first(4), std::span(counters).last(4)}}};
  test::MemoryFile input(bytes, size);
  bool restored = restoreCheckpoint(input.path(), variables).ok();
  auto changed = [&](std::span<const std::byte> memory) {
    return std::any_of(memory.begin(), memory.end(),
                       [&](std::byte byte) { return byte != before; });
  };
  // On an error no variable has changed.
  if (!restored && (changed(weights) || changed(counters)))
    std::abort();
  return 0;
}
