//===- Partition.h - number of shards of a variable -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_MODEL_PARTITION_H
#define LOCKSTEP_RUNTIME_MODEL_PARTITION_H

#include "runtime/support/Status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lockstep::runtime {

/// Decides into how many shards a variable is split along its first axis.
class Partitioner {
public:
  static constexpr int64_t defaultMinShardBytes = 256 * 1024;

  /// `shards` shards, or as many as there are rows.
  static Expected<Partitioner> fixedShards(int64_t shards);
  /// The size of the variable divided by `minShardBytes`, rounded up, at most
  /// `maxShards`. So shards can be smaller.
  static Expected<Partitioner>
  minSize(int64_t minShardBytes = defaultMinShardBytes, int64_t maxShards = 1);
  /// Shards of as many whole rows as fit into `maxShardBytes`, at least one; at
  /// most `maxShards` shards, if set, which may then be larger.
  static Expected<Partitioner>
  maxSize(int64_t maxShardBytes,
          std::optional<int64_t> maxShards = std::nullopt);
  // Error of all three: a number that is not positive [E_OPTION_VALUE].

  /// The partitions of each axis: the number of shards, 1, 1, ...; for a
  /// scalar, empty. `elementBytes`: 16 for a string.
  std::vector<int64_t> partitions(std::span<const int64_t> shape,
                                  uint64_t elementBytes) const;

private:
  enum class Rule : uint8_t { fixed, minSize, maxSize };
  Partitioner(Rule rule, int64_t bytes, int64_t maxShards)
      : rule(rule), bytes(bytes), maxShards(maxShards) {}

  Rule rule;
  int64_t bytes;
  int64_t maxShards;
};

/// The number of shards in a list of partitions from any source. Errors:
/// partitions of an axis other than the first, or an empty list
/// [E_PARTITION_AXIS].
Expected<int64_t> shardsOfPartitions(std::span<const int64_t> partitions,
                                     size_t rank);

/// Assigns servers in round-robin order to variables, or to each shard of a
/// sharded variable.
class RoundRobin {
public:
  explicit RoundRobin(unsigned servers) : servers(servers) {}
  /// The server of the next variable or shard.
  unsigned next() { return assigned++ % servers; }

private:
  unsigned servers;
  uint64_t assigned = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_MODEL_PARTITION_H
