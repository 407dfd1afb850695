//===- Moves.h - copies between members -------------------------*- C++ -*-===//
//
// An all_to_all, a permute, a send and a recv copy bytes of one member to
// another. All sizes are static, so all copies are planned when the program is
// loaded.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_COLLECTIVES_MOVES_H
#define LOCKSTEP_RUNTIME_COLLECTIVES_MOVES_H

#include <cstddef>
#include <cstdint>

namespace lockstep::artifact {
struct Start;
} // namespace lockstep::artifact

namespace lockstep::runtime {

struct CollectivePlan;
struct CollectiveMemory;
class CopySink;

/// A copy of a part of a member's operand to a part of another member's result:
/// `rows` of `rowBytes` with the distance `stride` in both.
struct Move {
  static constexpr uint32_t none = ~0u;

  /// Index in `CollectivePlan::gathers`.
  uint32_t operand = 0;
  /// Positions of members. The source `none` means zeros.
  uint32_t source = none, target = 0;
  /// Offsets of the first row in the operand and in the result.
  uint64_t from = 0, to = 0;
  uint64_t rows = 1, rowBytes = 0, stride = 0;
  /// For a source in another executor: index of the first row in
  /// `CollectiveMemory::remote`.
  size_t firstRow = 0;
};

/// Fills `moves` and `given` of a plan whose members and operands are set.
void planMoves(CollectivePlan &plan, const artifact::Start &start);

/// Issues the copies of one of `CollectivePlan::moves`.
void copyMove(const CollectivePlan &plan, const CollectiveMemory &memory,
              const Move &move, CopySink &sink);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_COLLECTIVES_MOVES_H
