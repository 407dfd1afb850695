//===- ServerCluster.h - placement on servers -------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_MODEL_SERVERCLUSTER_H
#define LOCKSTEP_RUNTIME_MODEL_SERVERCLUSTER_H

#include "runtime/model/Partition.h"

namespace lockstep::runtime {

/// Workers with one replica each, and servers that own the variables.
struct ServerCluster {
  unsigned workers = 0, servers = 0;

  /// Error: no workers or no servers [E_CLUSTER].
  static Expected<ServerCluster> create(unsigned workers, unsigned servers);
};

/// One part of a variable and the server that has it.
struct PlacedShard {
  std::vector<int64_t> shape;
  unsigned server = 0;
};

/// The placement of variables in the order of creation.
class Layout {
public:
  explicit Layout(const ServerCluster &cluster) : next(cluster.servers) {}

  /// Splits a variable along its first axis according to `partitions` and
  /// assigns each shard to the next server. Scalars and variables with one
  /// shard are not split. Error: partitions of another axis, or none
  /// [E_PARTITION_AXIS].
  Expected<std::vector<PlacedShard>> place(std::span<const int64_t> shape,
                                           std::span<const int64_t> partitions);
  /// Places a variable, unsplit, on the server of another.
  static PlacedShard placeBeside(const PlacedShard &other,
                                 std::span<const int64_t> shape);

private:
  RoundRobin next;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_MODEL_SERVERCLUSTER_H
