//===- Moves.h - what members get as it is ----------------------*- C++ -*-===//
//
// An all_to_all, a permute, a send and a recv bring bytes of one member to
// another. All sizes are static, so that every copy is known when the program
// is loaded.
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

/// A part of one operand of a member that becomes a part of a result of
/// another: `rows` of `rowBytes`, which lie `stride` apart in both.
struct Move {
  static constexpr uint32_t nobody = ~0u;

  /// Index in `CollectivePlan::gathers`.
  uint32_t operand = 0;
  /// Positions of members. `nobody` gives zeros.
  uint32_t source = nobody, target = 0;
  /// Of the first row, in the operand and in the result.
  uint64_t from = 0, to = 0;
  uint64_t rows = 1, rowBytes = 0, stride = 0;
  /// Of a source elsewhere: index of the first row in
  /// `CollectiveMemory::remote`.
  size_t firstRow = 0;
};

/// Fills `moves` and `given` of a plan that has its members and operands.
void planMoves(CollectivePlan &plan, const artifact::Start &start);

/// What one of `CollectivePlan::moves` copies.
void copyMove(const CollectivePlan &plan, const CollectiveMemory &memory,
              const Move &move, CopySink &sink);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_COLLECTIVES_MOVES_H
