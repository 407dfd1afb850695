//===- ServerCluster.cpp - placement on servers ---------------------------===//

#include "runtime/model/ServerCluster.h"

#include "runtime/model/Shards.h"

#include <fmt/format.h>

namespace lockstep::runtime {

Expected<ServerCluster> ServerCluster::create(unsigned workers,
                                              unsigned servers) {
  if (workers == 0 || servers == 0)
    return invalidArgument(fmt::format(
        "expected a worker and a server at least, found {} and {} [E_CLUSTER]",
        workers, servers));
  return ServerCluster{workers, servers};
}

Expected<std::vector<PlacedShard>>
Layout::place(std::span<const int64_t> shape,
              std::span<const int64_t> partitions) {
  if (shape.empty())
    return std::vector<PlacedShard>{{{}, next.next()}};
  Expected<int64_t> count = shardsOfPartitions(partitions, shape.size());
  if (!count)
    return count.status();
  Shards shards = Shards::divided(static_cast<uint64_t>(shape.front()),
                                  static_cast<uint64_t>(*count));
  std::vector<PlacedShard> placed;
  for (uint64_t shard = 0; shard < shards.count(); ++shard) {
    PlacedShard &part = placed.emplace_back(
        PlacedShard{{shape.begin(), shape.end()}, next.next()});
    part.shape.front() = static_cast<int64_t>(shards.size(shard));
  }
  return placed;
}

PlacedShard Layout::placeBeside(const PlacedShard &other,
                                std::span<const int64_t> shape) {
  return {{shape.begin(), shape.end()}, other.server};
}

} // namespace lockstep::runtime
