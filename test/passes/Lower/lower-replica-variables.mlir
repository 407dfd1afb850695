// RUN: lockstep-opt %s --splice-contexts --lower-replica --split-input-file | FileCheck %s

// What an assignment in replica context means depends on the variable's aggregation and synchronization.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
replica.variable @plain : tensor<4xf32>
replica.variable @summed : tensor<4xf32> {aggregation = #replica.aggregation<sum>}
replica.variable @meant : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
replica.variable @first : tensor<4xf32> {aggregation = #replica.aggregation<only_first_replica>}
replica.variable @counter : tensor<4xf32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
// CHECK-LABEL: replica.step @assign(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32> {replica.batch = "x"}, %[[S:[a-z0-9]*]]: tensor<4xf32>
replica.step @assign(%x: tensor<4xf32> {replica.batch = "x"}, %s: tensor<4xf32> {replica.scalar = "s"}) {
  // Aggregation 'none': the value as it is.
  // CHECK-NEXT: replica.assign @plain, %[[S]]
  replica.assign @plain, %s : tensor<4xf32>
  // Aggregation 'sum': the sum over replicas. [5.2-sum]
  // CHECK: %[[SUM:.*]] = collective.wait
  // CHECK-NEXT: replica.assign_add @summed, %[[SUM]]
  replica.assign_add @summed, %x : tensor<4xf32>
  // Aggregation 'mean': the sum, divided. [5.2-mean]
  // CHECK: collective.start all_reduce sum
  // CHECK: %[[MEAN:.*]] = linalg.generic
  // CHECK: arith.mulf
  // CHECK: replica.assign_sub @meant, %[[MEAN]]
  replica.assign_sub @meant, %x : tensor<4xf32>
  // Aggregation 'only_first_replica': the value of replica 0. [5.2-first]
  // CHECK: %[[B:.*]] = collective.start broadcast none @all(%[[X]] : tensor<4xf32>)
  // CHECK: %[[OF_FIRST:.*]] = collective.wait %[[B]]
  // CHECK-NEXT: replica.assign @first, %[[OF_FIRST]]
  replica.assign @first, %x : tensor<4xf32>
  // Synchronized on read: each replica assigns its own copy; cross-replica reads combine the copies. [5.3-own]
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

// -----

// The mean of a literal, which all replicas share and which may be an integer, is that literal.
replica.strategy @dp {kind = #replica.kind<central_storage>, replicas = 4}
replica.variable @count : tensor<i32> {aggregation = #replica.aggregation<mean>}
// CHECK-LABEL: replica.step @literal_mean(
replica.step @literal_mean() {
  // CHECK-NEXT: %[[FIVE:.*]] = arith.constant dense<5>
  // CHECK-NEXT: replica.assign_add @count, %[[FIVE]]
  // CHECK-NEXT: replica.return
  %five = arith.constant dense<5> : tensor<i32>
  replica.assign_add @count, %five : tensor<i32>
  replica.return
}

// -----

// A cross-replica read of an on_read variable combines its copies; a replica reads its own. [4-read-var, 5.3-read-sum, 5.3-read-mean, 5.3-read-first]
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
replica.variable @sum : tensor<4xf32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
replica.variable @mean : tensor<4xf32> {aggregation = #replica.aggregation<mean>, synchronization = #replica.synchronization<on_read>}
replica.variable @first : tensor<4xf32> {aggregation = #replica.aggregation<only_first_replica>, synchronization = #replica.synchronization<on_read>}
// CHECK-LABEL: replica.step @read_across(
replica.step @read_across() -> (tensor<4xf32> {replica.result = "a"}, tensor<4xf32> {replica.result = "b"}, tensor<4xf32> {replica.result = "c"}, tensor<4xf32> {replica.result = "d"}) {
  // CHECK-NEXT: %[[OWN:.*]] = replica.read @sum
  %own = replica.read @sum : tensor<4xf32>
  %r:3 = replica.merge_call -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
    // CHECK-NEXT: collective.barrier @all
    // CHECK-NEXT: %[[A:.*]] = replica.read @sum
    // CHECK-NEXT: collective.start all_reduce sum @all(%[[A]]
    // CHECK-NEXT: %[[SUM:.*]] = collective.wait
    %a = replica.read @sum : tensor<4xf32>
    // CHECK: %[[B:.*]] = replica.read @mean
    // CHECK-NEXT: collective.start all_reduce sum @all(%[[B]]
    // CHECK: %[[MEAN:.*]] = linalg.generic
    %b = replica.read @mean : tensor<4xf32>
    // CHECK: %[[C:.*]] = replica.read @first
    // CHECK-NEXT: collective.start broadcast none @all(%[[C]]
    // CHECK-NEXT: %[[FIRST:.*]] = collective.wait
    %c = replica.read @first : tensor<4xf32>
    replica.yield %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: replica.return %[[OWN]], %[[SUM]], %[[MEAN]], %[[FIRST]]
  replica.return %own, %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// An aggregated read in replica context combines the copies too; where copies are equal, it reads the replica's own. [5.3-read-context]
replica.variable @equal : tensor<4xf32>
// CHECK-LABEL: replica.step @read_together(
replica.step @read_together() -> (tensor<4xf32> {replica.result = "a"}, tensor<4xf32> {replica.result = "b"}) {
  // CHECK-NEXT: %[[A:.*]] = replica.read @sum : tensor<4xf32>
  // CHECK-NEXT: collective.start all_reduce sum @all(%[[A]]
  // CHECK-NEXT: %[[SUM:.*]] = collective.wait
  %a = replica.read @sum {aggregated} : tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = replica.read @equal : tensor<4xf32>
  %b = replica.read @equal {aggregated} : tensor<4xf32>
  // CHECK-NEXT: replica.return %[[SUM]], %[[B]]
  replica.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// A cross-replica assignment to an on_read variable that is summed assigns an equal part to each copy, truncated for integers. Other copies are
// assigned the value. The same holds in control flow. [5.3-assign-sum, 5.3-assign-other]
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
replica.variable @sum : tensor<4xi32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
replica.variable @half : tensor<4xbf16> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<on_read>}
replica.variable @mirrored : tensor<4xi32> {aggregation = #replica.aggregation<sum>}
// CHECK-LABEL: replica.step @assign_across(
replica.step @assign_across(%n: tensor<4xi32> {replica.scalar = "n"}, %h: tensor<4xbf16> {replica.scalar = "h"}, %c: tensor<i1> {replica.scalar = "c"}) {
  replica.merge_call (%n, %h, %c : tensor<4xi32>, tensor<4xbf16>, tensor<i1>) {
  ^bb0(%m: tensor<4xi32>, %k: tensor<4xbf16>, %d: tensor<i1>):
    // CHECK: arith.divsi
    // CHECK: replica.assign @sum
    replica.assign @sum, %m : tensor<4xi32>
    // CHECK: arith.extf
    // CHECK: arith.mulf %{{.*}} : f32
    // CHECK: arith.truncf
    // CHECK: replica.assign @half
    replica.assign @half, %k : tensor<4xbf16>
    %condition = tensor.extract %d[] : tensor<i1>
    // CHECK: scf.if
    scf.if %condition {
      // CHECK-NEXT: replica.assign @mirrored, %arg0
      replica.assign @mirrored, %m : tensor<4xi32>
      // CHECK: arith.divsi
      // CHECK: replica.assign @sum
      replica.assign @sum, %m : tensor<4xi32>
    }
    replica.yield
  }
  replica.return
}
