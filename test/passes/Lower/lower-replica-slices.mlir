// RUN: lockstep-opt %s --lower-replica --split-input-file | FileCheck %s

replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @t : tensor<8x2xf32> {aggregation = #replica.aggregation<mean>}

// The rows of all replicas, one after the other; how many there are is exchanged once for values and indices.
// CHECK-LABEL: replica.step @ragged(
replica.step @ragged(%v: tensor<?x2xf32> {replica.batch = "v"}, %i: tensor<?xi64> {replica.batch = "i"}) {
  // CHECK-COUNT-3: collective.start all_gather
  // CHECK-NOT: collective.start
  %0, %1 = replica.all_reduce_slices sum %v at %i : tensor<?x2xf32>, tensor<?xi64> -> tensor<?x2xf32>, tensor<?xi64>
  replica.return
}

// Sizes that are known are not exchanged. Aggregated, then scattered row by row; an index outside changes nothing.
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
