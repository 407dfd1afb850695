//===- Moves.cpp - from parts of operands to parts of results -------------===//

#include "runtime/collectives/Moves.h"

#include "runtime/collectives/CollectivePlan.h"

#include <cstdlib>

namespace lockstep::runtime {

using artifact::CollectiveKind;

namespace {

/// Adds the moves to the plan, in the same order in all executors: by operand,
/// source and target.
class MovePlanner {
public:
  explicit MovePlanner(CollectivePlan &plan)
      : plan(plan), members(uint32_t(plan.members.size())) {}

  void run(const artifact::Start &start) {
    for (operand = 0; operand < plan.gathers.size(); ++operand) {
      if (plan.kind == CollectiveKind::all_to_all)
        exchangeParts(plan.gathers[operand]);
      else if (plan.kind == CollectiveKind::permute)
        permute(*start.sources());
      else if (plan.kind == CollectiveKind::send)
        addWhole(plan.root, 1 - plan.root);
      else if (plan.kind == CollectiveKind::recv)
        addWhole(1 - plan.root, plan.root);
      else
        std::abort(); // A kind that is moved, and of which no moves are known.
    }
  }

private:
  /// Copies part j of member i's operand to part i of member j's result.
  void exchangeParts(const GatherOperand &gather) {
    uint64_t outer = 1, inner = gather.elementSize;
    for (size_t i = 0; i < gather.shape.size(); ++i)
      if (i != size_t(gather.axis))
        (i < size_t(gather.axis) ? outer : inner) *= uint64_t(gather.shape[i]);
    uint64_t part = uint64_t(gather.shape[size_t(gather.axis)]) / members;
    for (uint32_t source = 0; source < members; ++source)
      for (uint32_t target = 0; target < members; ++target)
        add({.operand = operand,
             .source = source,
             .target = target,
             .from = target * part * inner,
             .to = source * part * inner,
             .rows = outer,
             .rowBytes = part * inner,
             .stride = members * part * inner});
  }

  void permute(const flatbuffers::Vector<int32_t> &sources) {
    std::vector<uint32_t> targetOf(members, Move::none);
    for (uint32_t target = 0; target < members; ++target)
      if (int32_t rank = sources.Get(target); rank < 0)
        addWhole(Move::none, target);
      else
        targetOf[plan.positionOf(uint32_t(rank))] = target;
    for (uint32_t source = 0; source < members; ++source)
      if (targetOf[source] != Move::none)
        addWhole(source, targetOf[source]);
  }

  void addWhole(uint32_t source, uint32_t target) {
    uint64_t bytes = plan.gathers[operand].operandBytes;
    add({.operand = operand,
         .source = source,
         .target = target,
         .rowBytes = bytes,
         .stride = bytes});
  }

  void add(Move move) {
    bool isHere = move.source != Move::none && plan.isLocal(move.source);
    if (move.rowBytes == 0)
      return;
    if (plan.isLocal(move.target)) {
      move.firstRow = arriving;
      if (move.source != Move::none && !isHere)
        arriving += move.rows;
      plan.moves.push_back(move);
    } else if (isHere) {
      plan.sends.push_back(move);
    }
  }

  CollectivePlan &plan;
  const uint32_t members;
  uint32_t operand = 0;
  size_t arriving = 0;
};

} // namespace

void planMoves(CollectivePlan &plan, const artifact::Start &start) {
  MovePlanner(plan).run(start);
}

void copyMove(const CollectivePlan &plan, const CollectiveMemory &memory,
              const Move &move, CopySink &sink) {
  const GatherOperand &gather = plan.gathers[move.operand];
  std::byte *to =
      gather.result.in(memory.bases[move.target - plan.firstLocal]) + move.to;
  if (move.source == Move::none)
    return sink.clear(to, move.rowBytes);
  if (plan.isLocal(move.source)) {
    const std::byte *from =
        gather.operand.in(memory.bases[move.source - plan.firstLocal]) +
        move.from;
    if (to != from)
      sink.copy({to, from, move.rows, move.rowBytes, move.stride, move.stride});
    return;
  }
  for (uint64_t row = 0; row < move.rows; ++row)
    sink.copy({to + row * move.stride, memory.remote[move.firstRow + row], 1,
               move.rowBytes, move.rowBytes, move.rowBytes});
}

} // namespace lockstep::runtime
