// RUN: lockstep-opt %s --partition-variables | FileCheck %s

// 5 rows on two servers: ids are relative to a shard's first row; a row is taken from the last shard whose first row is not above its id.
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 2 : i64, partitioner = #replica.partitioner<fixed 2>}
replica.variable @t : tensor<5x2xf32>

// CHECK-LABEL: replica.step @lookup(
// CHECK-SAME: %[[IDS:.*]]: tensor<?xi64>
replica.step @lookup(%ids: tensor<?xi64> {replica.batch = "ids"}) -> tensor<?x2xf32> {
  // CHECK: %[[FIRST:.*]] = replica.lookup @t.shard0, %{{.*}} : tensor<?xi64> -> tensor<?x2xf32>
  // CHECK: arith.constant 3 : i64
  // CHECK: arith.subi
  // CHECK: %[[SECOND:.*]] = replica.lookup @t.shard1, %{{.*}} : tensor<?xi64> -> tensor<?x2xf32>
  // CHECK: %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[IDS]], %[[SECOND]], %[[FIRST]] :
  // CHECK: arith.cmpi sge
  // CHECK: arith.select
  // CHECK: replica.return %[[ROWS]]
  %rows = replica.lookup @t, %ids : tensor<?xi64> -> tensor<?x2xf32>
  replica.return %rows : tensor<?x2xf32>
}
