//===- RankPartition.h - Which ranks hold equal values ----------*- C++ -*-===//
//
// A value may be equal on all ranks, different on each, or equal within groups
// of them. A partition of the ranks says which: ranks of one class hold equal
// values. Each partition is stored once and named by a number; there are few in
// a program.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_RANKPARTITION_H
#define LOCKSTEP_PASSES_ANALYSIS_RANKPARTITION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace lockstep {

/// The name of a partition in its table.
using PartitionId = uint32_t;

/// Two ranks that differ.
using RankPair = std::pair<unsigned, unsigned>;

class PartitionTable {
public:
  /// All ranks are in one class.
  static constexpr PartitionId kWhole = 0;
  /// No two ranks are.
  static constexpr PartitionId kSingletons = 1;

  /// Partitions of the ranks [0, `ranks`). If `isOpen`, there may be more
  /// ranks, each of which is in a class of its own, except in `kWhole`.
  PartitionTable(unsigned ranks, bool isOpen);

  unsigned getNumRanks() const { return ranks; }

  /// Ranks with equal numbers are in one class.
  PartitionId get(llvm::ArrayRef<uint32_t> classes);

  /// The members of a group are in one class, every other rank is in a class of
  /// its own.
  PartitionId getGroup(const llvm::BitVector &members);

  /// The coarsest common refinement: ranks are in one class if they are in one
  /// class of both partitions. It is the partition of a value that is computed
  /// from two values.
  PartitionId meet(PartitionId lhs, PartitionId rhs);

  /// `partition` within `ranks`; all other ranks are in one additional class.
  /// It is the partition of a value that only `ranks` contribute.
  PartitionId restrict(PartitionId partition, const llvm::BitVector &ranks);

  /// The first two of `ranks` that are in different classes; nullopt if all are
  /// in one.
  std::optional<RankPair> findSeparated(PartitionId partition,
                                        const llvm::BitVector &ranks) const;

  /// False if the ranks are in different classes.
  bool areInSameClass(PartitionId partition, RankPair ranks) const;

private:
  unsigned ranks;
  bool isOpen;
  /// The class of each rank, by its first member.
  std::vector<std::vector<uint32_t>> partitions;
  std::map<std::vector<uint32_t>, PartitionId> ids;
  llvm::DenseMap<std::pair<PartitionId, PartitionId>, PartitionId> meets;
};

} // namespace lockstep

#endif
