//===- Warp.cpp - operations among the threads of a warp ------------------===//

#include "Block.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace lockstep::standin {

uint32_t Block::activeMask(const Thread &thread) const {
  uint32_t first = thread.linearIndex / warpSize * warpSize, mask = 0;
  for (uint32_t lane = 0; lane < warpSize && first + lane < threadCount; ++lane)
    if (threads[first + lane].state != State::Exited)
      mask |= uint32_t(1) << lane;
  return mask;
}

uint64_t Block::warp(Thread &thread, WarpOperation operation, uint32_t mask,
                     uint64_t value, uint32_t b, uint32_t c) {
  if (!(mask >> thread.linearIndex % warpSize & 1))
    fail(thread, FaultKind::LaunchFailed,
         fmt::format("the thread is not among the lanes {:#x} that it names",
                     mask));
  ThreadState &state = threads[thread.linearIndex];
  state.state = State::InWarp;
  state.operation = operation;
  state.mask = mask;
  state.value = value;
  state.b = b;
  state.c = c;
  uint32_t lane = thread.linearIndex % warpSize;
  finishWarp(thread.linearIndex - lane, lane);
  suspend(state);
  return state.result;
}

/// Continues a thread and its partners if these have all arrived.
void Block::finishWarp(uint32_t first, uint32_t lane) {
  uint32_t lanes = std::min(warpSize, threadCount - first), active = 0;
  const ThreadState &state = threads[first + lane];
  for (uint32_t other = 0; other < lanes; ++other) {
    const ThreadState &partner = threads[first + other];
    if (!(state.mask >> other & 1) || partner.state == State::Exited)
      continue;
    if (partner.state != State::InWarp)
      return;
    if (partner.operation != state.operation || partner.mask != state.mask)
      fail(threads[current].thread, FaultKind::LaunchFailed,
           fmt::format("lanes {} and {} of a warp wait for each other in "
                       "different instructions",
                       lane, other));
    active |= uint32_t(1) << other;
  }
  computeWarp(first, state.operation, active);
  for (uint32_t other = 0; other < lanes; ++other)
    if (active >> other & 1)
      makeReady(first + other);
}

/// As the instruction's pseudo-code in the reference of PTX.
uint64_t Block::shuffleResult(uint32_t first, uint32_t lane,
                              uint32_t active) const {
  const ThreadState &state = threads[first + lane];
  constexpr uint32_t laneMask = warpSize - 1;
  uint32_t b = state.b & laneMask, clamp = state.c & laneMask;
  uint32_t segment = state.c >> 8 & laneMask;
  auto most = int((lane & segment) | (clamp & ~segment & laneMask));
  auto least = int(lane & segment);
  int from = 0;
  bool isInside = false;
  switch (state.operation) {
  case WarpOperation::ShuffleUp:
    from = int(lane) - int(b);
    isInside = from >= most;
    break;
  case WarpOperation::ShuffleDown:
    from = int(lane + b);
    isInside = from <= most;
    break;
  case WarpOperation::ShuffleXor:
    from = int(lane ^ b);
    isInside = from <= most;
    break;
  default:
    from = least | int(b & ~segment);
    isInside = from <= most;
    break;
  }
  if (!isInside)
    from = int(lane);
  // The value of a thread that does not take part is undefined.
  uint64_t value =
      active >> from & 1 ? threads[first + uint32_t(from)].value : freshLocal;
  return (value & ~uint32_t(0)) | uint64_t(isInside) << 32;
}

void Block::computeWarp(uint32_t first, WarpOperation operation,
                        uint32_t active) {
  if (operation >= WarpOperation::MultiplyTf32)
    return multiplyMatrices(first, operation, active);
  bool isShuffle = operation <= WarpOperation::ShuffleIndex;
  bool isMatch = operation == WarpOperation::MatchAny;
  uint64_t common =
      isShuffle || isMatch ? 0 : reduceWarp(first, operation, active);
  // Results may not replace values, which other lanes read.
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    auto lane = uint32_t(std::countr_zero(lanes));
    ThreadState &state = threads[first + lane];
    if (isShuffle) {
      state.result = shuffleResult(first, lane, active);
    } else if (isMatch) {
      state.result = 0;
      for (uint32_t others = active; others; others &= others - 1) {
        auto other = uint32_t(std::countr_zero(others));
        state.result |= uint64_t(threads[first + other].value == state.value)
                        << other;
      }
    } else {
      state.result = common;
    }
  }
}

/// A factor's elements in a register: one of tf32, which has the upper bits of
/// an f32, or two of 16 bits.
static void unpack(uint32_t word, WarpOperation operation, float *elements) {
  constexpr uint32_t tf32 = ~uint32_t(0) << 13, upper = ~uint32_t(0) << 16;
  if (operation == WarpOperation::MultiplyTf32) {
    elements[0] = std::bit_cast<float>(word & tf32);
  } else if (operation == WarpOperation::MultiplyBF16) {
    elements[0] = std::bit_cast<float>(word << 16);
    elements[1] = std::bit_cast<float>(word & upper);
  } else {
    for (int i = 0; i < 2; ++i)
      elements[i] = float(std::bit_cast<_Float16>(uint16_t(word >> 16 * i)));
  }
}

/// As the tables of fragments in the reference of PTX. GPUs add the products of
/// an element in an order of their own, and cut off digits; here they are added
/// in f64.
void Block::multiplyMatrices(uint32_t first, WarpOperation operation,
                             uint32_t active) {
  if (active != ~uint32_t(0))
    fail(threads[current].thread, FaultKind::LaunchFailed,
         "lanes of a warp are missing in a product of matrices");
  // A register has elements that are neighbors along the depth.
  size_t width = operation == WarpOperation::MultiplyTf32 ? 1 : 2;
  constexpr size_t rows = 16, columns = 8, maxDepth = 16;
  float a[rows][maxDepth], b[columns][maxDepth];
  auto operands = [&](size_t lane) {
    return reinterpret_cast<MatrixOperands *>(threads[first + lane].value);
  };
  for (size_t lane = 0; lane < warpSize; ++lane) {
    const MatrixOperands &own = *operands(lane);
    size_t group = lane / 4, depth = lane % 4 * width;
    for (size_t half = 0; half < 2; ++half) {
      size_t k = depth + half * 4 * width;
      unpack(own.a[2 * half], operation, &a[group][k]);
      unpack(own.a[2 * half + 1], operation, &a[group + 8][k]);
      unpack(own.b[half], operation, &b[group][k]);
    }
  }
  for (size_t lane = 0; lane < warpSize; ++lane)
    for (size_t i = 0; i < 4; ++i) {
      size_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float &c = operands(lane)->c[i];
      double sum = c;
      for (size_t k = 0; k < 8 * width; ++k)
        sum += double(a[row][k]) * double(b[column][k]);
      c = float(sum);
    }
}

/// The result that all lanes have.
uint64_t Block::reduceWarp(uint32_t first, WarpOperation operation,
                           uint32_t active) const {
  uint64_t anyValue = threads[first + uint32_t(std::countr_zero(active))].value;
  bool areEqual = true;
  uint32_t votes = 0, sum = 0, parity = 0;
  uint32_t conjunction = ~uint32_t(0), disjunction = 0;
  int32_t least = INT32_MAX, greatest = INT32_MIN;
  uint32_t leastUnsigned = ~uint32_t(0), greatestUnsigned = 0;
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    auto lane = uint32_t(std::countr_zero(lanes));
    uint64_t value = threads[first + lane].value;
    auto word = uint32_t(value);
    areEqual &= value == anyValue;
    votes |= (word & 1) << lane;
    sum += word;
    conjunction &= word;
    disjunction |= word;
    parity ^= word;
    least = std::min(least, int32_t(word));
    greatest = std::max(greatest, int32_t(word));
    leastUnsigned = std::min(leastUnsigned, word);
    greatestUnsigned = std::max(greatestUnsigned, word);
  }
  switch (operation) {
  case WarpOperation::VoteAll:
    return votes == active;
  case WarpOperation::VoteAny:
    return votes != 0;
  case WarpOperation::VoteUniform:
    return votes == active || votes == 0;
  case WarpOperation::VoteBallot:
    return votes;
  case WarpOperation::MatchAll:
    return areEqual ? active | uint64_t(1) << 32 : 0;
  case WarpOperation::ReduceAdd:
    return sum;
  case WarpOperation::ReduceMinSigned:
    return uint32_t(least);
  case WarpOperation::ReduceMaxSigned:
    return uint32_t(greatest);
  case WarpOperation::ReduceMinUnsigned:
    return leastUnsigned;
  case WarpOperation::ReduceMaxUnsigned:
    return greatestUnsigned;
  case WarpOperation::ReduceAnd:
    return conjunction;
  case WarpOperation::ReduceOr:
    return disjunction;
  case WarpOperation::ReduceXor:
    return parity;
  default:
    return 0;
  }
}

} // namespace lockstep::standin
