//===- RankPartition.cpp - Which ranks hold equal values ------------------===//

#include "passes/Analysis/RankPartition.h"

#include "llvm/ADT/STLExtras.h"

using namespace lockstep;

PartitionTable::PartitionTable(unsigned ranks, bool isOpen)
    : ranks(ranks), isOpen(isOpen) {
  std::vector<uint32_t> singletons(ranks);
  for (unsigned rank = 0; rank < ranks; ++rank)
    singletons[rank] = rank;
  partitions = {std::vector<uint32_t>(ranks, 0), singletons};
  ids[singletons] = kSingletons;
  // A partition with a single class, also that of a single rank, is `kWhole`.
  // Not if there may be more ranks: classes do not describe those.
  if (!isOpen)
    ids[partitions[kWhole]] = kWhole;
}

PartitionId PartitionTable::get(llvm::ArrayRef<uint32_t> classes) {
  llvm::DenseMap<uint32_t, uint32_t> first;
  std::vector<uint32_t> canonical;
  canonical.reserve(ranks);
  for (unsigned rank = 0; rank < ranks; ++rank)
    canonical.push_back(first.try_emplace(classes[rank], rank).first->second);
  auto [it, isNew] =
      ids.try_emplace(canonical, static_cast<PartitionId>(partitions.size()));
  if (isNew)
    partitions.push_back(std::move(canonical));
  return it->second;
}

PartitionId PartitionTable::getGroup(const llvm::BitVector &members) {
  int first = members.find_first();
  std::vector<uint32_t> classes(ranks);
  for (unsigned rank = 0; rank < ranks; ++rank)
    classes[rank] = members[rank] ? first : rank;
  return get(classes);
}

PartitionId PartitionTable::meet(PartitionId lhs, PartitionId rhs) {
  if (lhs == kWhole || lhs == rhs || rhs == kSingletons)
    return rhs;
  if (rhs == kWhole || lhs == kSingletons)
    return lhs;
  if (lhs > rhs)
    std::swap(lhs, rhs);
  if (auto known = meets.find({lhs, rhs}); known != meets.end())
    return known->second;
  std::vector<uint32_t> classes(ranks);
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> numbers;
  for (unsigned rank = 0; rank < ranks; ++rank)
    classes[rank] =
        numbers
            .try_emplace({partitions[lhs][rank], partitions[rhs][rank]},
                         numbers.size())
            .first->second;
  PartitionId result = get(classes);
  meets[{lhs, rhs}] = result;
  return result;
}

PartitionId PartitionTable::restrict(PartitionId partition,
                                     const llvm::BitVector &kept) {
  if (isOpen)
    return partition;
  std::vector<uint32_t> classes = partitions[partition];
  for (unsigned rank = 0; rank < ranks; ++rank)
    if (!kept[rank])
      classes[rank] = ranks;
  return get(classes);
}

std::optional<RankPair>
PartitionTable::findSeparated(PartitionId partition,
                              const llvm::BitVector &among) const {
  int first = among.find_first();
  if (partition == kWhole || first < 0)
    return std::nullopt;
  for (unsigned rank : among.set_bits())
    if (partitions[partition][rank] != partitions[partition][first])
      return RankPair(first, rank);
  return std::nullopt;
}

bool PartitionTable::areInSameClass(PartitionId partition,
                                    RankPair pair) const {
  return partition == kWhole || partitions[partition][pair.first] ==
                                    partitions[partition][pair.second];
}
