// RUN: lockstep-opt %s --lower-replica --split-input-file | FileCheck %s

replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @t : tensor<8x2xf32> {aggregation = #replica.aggregation<mean>}

// The rows of all replicas are concatenated; their numbers are exchanged once for values and indices. [2.1-slices]
// CHECK-LABEL: replica.step @ragged(
replica.step @ragged(%v: tensor<?x2xf32> {replica.batch = "v"}, %i: tensor<?xi64> {replica.batch = "i"}) {
  // CHECK-COUNT-3: collective.start all_gather
  // CHECK-NOT: collective.start
  %0, %1 = replica.all_reduce_slices sum %v at %i : tensor<?x2xf32>, tensor<?xi64> -> tensor<?x2xf32>, tensor<?xi64>
  replica.return
}

// Static sizes are not exchanged. Rows are aggregated, then scattered one by one; an index that is out of range changes nothing. [5.2-scatter-add]
// CHECK-LABEL: replica.step @scatter(
replica.step @scatter(%v: tensor<3x2xf32> {replica.batch = "v"}, %i: tensor<3xi64> {replica.batch = "i"}) {
  // CHECK-COUNT-2: collective.start all_gather
  // CHECK-NOT: collective.start
  // CHECK: arith.mulf
  // CHECK: %[[T:.*]] = replica.read @t
  // CHECK: %[[N:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[T]])
  // CHECK: arith.cmpi ult
  // CHECK: scf.if
  // CHECK: arith.addf
  // CHECK: tensor.insert
  // CHECK: replica.assign @t, %[[N]]
  replica.scatter add @t, %i, %v : tensor<3xi64>, tensor<3x2xf32>
  replica.return
}

// Rows are read from the whole table; those of ids that are out of range are zeros. [8-lookup]
// CHECK-LABEL: replica.step @lookup(
// CHECK-SAME: %[[IDS:.*]]: tensor<?xi32>
replica.step @lookup(%ids: tensor<?xi32> {replica.batch = "ids"}) -> tensor<?x2xf32> {
  // CHECK: %[[T:.*]] = replica.read @t : tensor<8x2xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[IDS]] : tensor<?xi32>)
  // CHECK: %[[I:.*]] = arith.index_cast %{{.*}} : i32 to index
  // CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[I]]
  // CHECK: %[[ROW:.*]] = arith.select %[[INSIDE]], %[[I]]
  // CHECK: %[[E:.*]] = tensor.extract %[[T]][%[[ROW]], %{{.*}}]
  // CHECK: arith.select %[[INSIDE]], %[[E]]
  %0 = replica.lookup @t, %ids : tensor<?xi32> -> tensor<?x2xf32>
  replica.return %0 : tensor<?x2xf32>
}

// A lookup in a table without rows yields zeros, and reads nothing.
replica.variable @empty : tensor<0x2xf32>
// CHECK-LABEL: replica.step @lookup_nothing(
// CHECK: linalg.fill
// CHECK-NOT: tensor.extract
// CHECK: replica.return
replica.step @lookup_nothing(%ids: tensor<3xi32> {replica.batch = "ids"}) -> tensor<3x2xf32> {
  %0 = replica.lookup @empty, %ids : tensor<3xi32> -> tensor<3x2xf32>
  replica.return %0 : tensor<3x2xf32>
}

// Rows are added to zeros one by one.
// CHECK-LABEL: replica.step @dense(
replica.step @dense(%v: tensor<3x2xf32> {replica.batch = "v"}, %i: tensor<3xi64> {replica.batch = "i"}) -> tensor<8x2xf32> {
  // CHECK-NOT: collective.start
  // CHECK: %[[Z:.*]] = linalg.fill
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[Z]])
  // CHECK: arith.addf
  %0 = replica.slices_to_dense %v at %i : tensor<3x2xf32>, tensor<3xi64> -> tensor<8x2xf32>
  replica.return %0 : tensor<8x2xf32>
}
