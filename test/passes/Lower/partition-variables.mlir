// RUN: lockstep-opt %s --partition-variables | FileCheck %s

// Scalars and small variables are not divided; each shard is placed on the next server.
// CHECK-DAG: device.role @worker ranks 0 count 2
// CHECK-DAG: device.role @server0 ranks 2 count 1
// CHECK-DAG: device.role @server1 ranks 3 count 1
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 2 : i64, partitioner = #replica.partitioner<fixed 2>}

// CHECK: replica.variable @step : tensor<i64> {device.role = @server0}
replica.variable @step : tensor<i64>
// CHECK: replica.variable @w.shard0 : tensor<3x2xf32> {device.role = @server1, device.shard = #device.shard<"params/w" row 0 of 5>, initial = dense<{{.*}}1.000000e+00, 2.000000e+00{{.*}}5.000000e+00, 6.000000e+00{{.*}}>{{.*}}, path = "params/w.shard0"}
// CHECK: replica.variable @w.shard1 : tensor<2x2xf32> {device.role = @server0, device.shard = #device.shard<"params/w" row 3 of 5>, initial = dense<{{.*}}7.000000e+00{{.*}}1.000000e+01{{.*}}>{{.*}}, path = "params/w.shard1"}
// CHECK-NOT: replica.variable @w :
replica.variable @w : tensor<5x2xf32> {path = "params/w",
    initial = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]> : tensor<5x2xf32>}
// CHECK: replica.variable @table.shard0 : tensor<2x1xf32> {aggregation = #replica.aggregation<sum>, device.role = @server1
// CHECK: replica.variable @table.shard1 : tensor<2x1xf32> {aggregation = #replica.aggregation<sum>, device.role = @server0
replica.variable @table : tensor<4x1xf32> {aggregation = #replica.aggregation<sum>}
// A variable that is colocated with a divided one is not divided, and is on the server of the first shard.
// CHECK: replica.variable @momentum : tensor<5x2xf32> {device.role = @server1}
replica.variable @momentum : tensor<5x2xf32> {colocate_with = @w}

// CHECK-LABEL: replica.step @step_
replica.step @step_(%x: tensor<5x2xf32> {replica.batch = "x"}, %i: tensor<3xi32> {replica.batch = "i"}, %v: tensor<3x1xf32> {replica.batch = "v"}) {
  // CHECK: %[[A:.*]] = replica.read @w.shard0 : tensor<3x2xf32>
  // CHECK: %[[B:.*]] = replica.read @w.shard1 : tensor<2x2xf32>
  // CHECK: %[[W:.*]] = tensor.concat dim(0) %[[A]], %[[B]] : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %w = replica.read @w : tensor<5x2xf32>
  // CHECK: %[[F:.*]] = tensor.extract_slice %[[W]][0, 0] [3, 2] [1, 1] {replica.shard_of_value}
  // CHECK: replica.assign @w.shard0, %[[F]] : tensor<3x2xf32>
  // CHECK: %[[S:.*]] = tensor.extract_slice %[[W]][3, 0] [2, 2] [1, 1] {replica.shard_of_value}
  // CHECK: replica.assign @w.shard1, %[[S]] : tensor<2x2xf32>
  replica.assign @w, %w : tensor<5x2xf32>
  // Indices are relative to the first row of the shard; rows that are outside of it change nothing.
  // CHECK: %[[FIRST:.*]] = arith.constant 0 : i32
  // CHECK: replica.scatter add @table.shard0, %{{.*}}, %{{.*}} : tensor<3xi32>, tensor<3x1xf32>
  // CHECK: arith.constant 2 : i32
  // CHECK: arith.subi
  // CHECK: replica.scatter add @table.shard1, %{{.*}}, %{{.*}} : tensor<3xi32>, tensor<3x1xf32>
  replica.scatter add @table, %i, %v : tensor<3xi32>, tensor<3x1xf32>
  replica.return
}

// A narrow index type cannot hold the first row of every shard: indices are extended before the subtraction.
// CHECK-LABEL: replica.step @narrow(
replica.step @narrow(%i: tensor<3xi8> {replica.batch = "i"}, %v: tensor<3x1xf32> {replica.batch = "v"}) {
  // CHECK: %[[WIDE:.*]] = arith.extsi %{{.*}} : i8 to i64
  // CHECK: arith.subi %[[WIDE]], %{{.*}} : i64
  // CHECK: replica.scatter add @table.shard0, %{{.*}}, %{{.*}} : tensor<3xi64>, tensor<3x1xf32>
  replica.scatter add @table, %i, %v : tensor<3xi8>, tensor<3x1xf32>
  replica.return
}
