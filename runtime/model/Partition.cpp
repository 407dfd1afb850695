//===- Partition.cpp - number of shards of a variable ---------------------===//

#include "runtime/model/Partition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace lockstep::runtime {

namespace {

constexpr int64_t noLimit = std::numeric_limits<int64_t>::max();

Status checkPositive(const char *name, int64_t value) {
  if (value > 0)
    return Status::success();
  return invalidArgument(fmt::format(
      "expected a positive '{}', found {} [E_OPTION_VALUE]", name, value));
}

uint64_t ceilDivide(uint64_t value, uint64_t divisor) {
  return value / divisor + (value % divisor != 0);
}

} // namespace

Expected<Partitioner> Partitioner::fixedShards(int64_t shards) {
  LOCKSTEP_RETURN_IF_ERROR(checkPositive("num_shards", shards));
  return Partitioner(Rule::fixed, 0, shards);
}

Expected<Partitioner> Partitioner::minSize(int64_t minShardBytes,
                                           int64_t maxShards) {
  LOCKSTEP_RETURN_IF_ERROR(checkPositive("min_shard_bytes", minShardBytes));
  LOCKSTEP_RETURN_IF_ERROR(checkPositive("max_shards", maxShards));
  return Partitioner(Rule::minSize, minShardBytes, maxShards);
}

Expected<Partitioner> Partitioner::maxSize(int64_t maxShardBytes,
                                           std::optional<int64_t> maxShards) {
  LOCKSTEP_RETURN_IF_ERROR(checkPositive("max_shard_bytes", maxShardBytes));
  if (maxShards)
    LOCKSTEP_RETURN_IF_ERROR(checkPositive("max_shards", *maxShards));
  return Partitioner(Rule::maxSize, maxShardBytes, maxShards.value_or(noLimit));
}

std::vector<int64_t> Partitioner::partitions(std::span<const int64_t> shape,
                                             uint64_t elementBytes) const {
  std::vector<int64_t> result(shape.size(), 1);
  if (shape.empty())
    return result;
  uint64_t rows = static_cast<uint64_t>(shape.front()), rowBytes = elementBytes;
  for (int64_t size : shape.subspan(1))
    rowBytes *= static_cast<uint64_t>(size);

  uint64_t shards = rows;
  if (rule == Rule::minSize)
    shards = ceilDivide(rows * rowBytes, static_cast<uint64_t>(bytes));
  else if (rule == Rule::maxSize && rowBytes > 0)
    shards = ceilDivide(
        rows, std::max<uint64_t>(1, static_cast<uint64_t>(bytes) / rowBytes));
  shards = std::min({shards, rows, static_cast<uint64_t>(maxShards)});
  result.front() = static_cast<int64_t>(std::max<uint64_t>(shards, 1));
  return result;
}

Expected<int64_t> shardsOfPartitions(std::span<const int64_t> partitions,
                                     size_t rank) {
  bool onlyFirst = partitions.size() == rank && rank > 0 &&
                   partitions.front() > 0 &&
                   std::all_of(partitions.begin() + 1, partitions.end(),
                               [](int64_t count) { return count == 1; });
  if (!onlyFirst)
    return invalidArgument(
        fmt::format("expected partitions [k, 1, ...] with a positive k for "
                    "each of {} axes, found [{}] "
                    "[E_PARTITION_AXIS]",
                    rank, fmt::join(partitions, ", ")));
  return partitions.front();
}

} // namespace lockstep::runtime
