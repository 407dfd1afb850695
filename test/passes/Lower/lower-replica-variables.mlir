// RUN: lockstep-opt %s --lower-replica --split-input-file | FileCheck %s

// What an assignment in replica context means depends on the variable's aggregation and synchronization.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
replica.variable @plain : tensor<4xf32>
replica.variable @summed : tensor<4xf32> {aggregation = #replica.aggregation<sum>}
replica.variable @meant : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
replica.variable @counter : tensor<4xf32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
// CHECK-LABEL: replica.step @assign(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32> {replica.batch = "x"}, %[[S:[a-z0-9]*]]: tensor<4xf32>
replica.step @assign(%x: tensor<4xf32> {replica.batch = "x"}, %s: tensor<4xf32> {replica.scalar = "s"}) {
  // Aggregation 'none': the value as it is.
  // CHECK-NEXT: replica.assign @plain, %[[S]]
  replica.assign @plain, %s : tensor<4xf32>
  // Aggregation 'sum': the sum over replicas.
  // CHECK: %[[SUM:.*]] = collective.wait
  // CHECK-NEXT: replica.assign_add @summed, %[[SUM]]
  replica.assign_add @summed, %x : tensor<4xf32>
  // Aggregation 'mean': the sum, divided.
  // CHECK: collective.start all_reduce sum
  // CHECK: %[[MEAN:.*]] = linalg.generic
  // CHECK: arith.mulf
  // CHECK: replica.assign_sub @meant, %[[MEAN]]
  replica.assign_sub @meant, %x : tensor<4xf32>
  // On read: each replica keeps its own; it is reduced when it is read across replicas.
  // CHECK-NOT: collective.
  // CHECK: replica.assign_add @counter, %[[X]]
  replica.assign_add @counter, %x : tensor<4xf32>
  replica.return
}

// -----

// On one replica there is nothing to combine.
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
replica.variable @summed : tensor<4xf32> {aggregation = #replica.aggregation<sum>}
replica.variable @first : tensor<4xf32> {aggregation = #replica.aggregation<only_first_replica>}
// CHECK-LABEL: replica.step @one_replica(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>
replica.step @one_replica(%x: tensor<4xf32> {replica.batch = "x"}) {
  // CHECK-NEXT: replica.assign @summed, %[[X]]
  // CHECK-NEXT: replica.assign @first, %[[X]]
  // CHECK-NEXT: replica.return
  replica.assign @summed, %x : tensor<4xf32>
  replica.assign @first, %x : tensor<4xf32>
  replica.return
}
