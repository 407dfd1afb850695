// RUN: lockstep-opt %s --split-input-file | lockstep-opt --split-input-file | FileCheck %s

// Every kind of strategy, and of partitioner. [1.3-kinds, 1.3-parameter-server]

// CHECK: replica.strategy @s {kind = #replica.kind<parameter_server>, servers = 3 : i64}
replica.strategy @s {kind = #replica.kind<parameter_server>, servers = 3}

// -----
// CHECK: #replica.kind<parameter_server_sync>, partitioner = #replica.partitioner<fixed 5>, replicas = 4 : i64, servers = 2 : i64
replica.strategy @s {kind = #replica.kind<parameter_server_sync>, replicas = 4, servers = 2, partitioner = #replica.partitioner<fixed 5>}

// -----
// CHECK: #replica.partitioner<min_size>
replica.strategy @s {kind = #replica.kind<parameter_server_sync>, partitioner = #replica.partitioner<min_size>}

// -----
// CHECK: #replica.partitioner<min_size bytes 262144 shards 2>
replica.strategy @s {kind = #replica.kind<parameter_server_sync>, partitioner = #replica.partitioner<min_size bytes 262144 shards 2>}

// -----
// CHECK: #replica.partitioner<max_size bytes 24>
replica.strategy @s {kind = #replica.kind<parameter_server_sync>, partitioner = #replica.partitioner<max_size bytes 24>}

// -----
// CHECK: #replica.partitioner<max_size bytes 24 shards 2>
replica.strategy @s {kind = #replica.kind<parameter_server_sync>, partitioner = #replica.partitioner<max_size bytes 24 shards 2>}
