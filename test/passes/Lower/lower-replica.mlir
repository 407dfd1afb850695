// RUN: lockstep-opt %s --lower-replica --split-input-file | FileCheck %s

// A sum is a collective over all ranks, whose start is followed by its wait. [2.1-mirrored]
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
// CHECK: collective.group @all
// CHECK-LABEL: replica.step @sum(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
replica.step @sum(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {
  // CHECK-NEXT: %[[H:.*]] = collective.start all_reduce sum @all(%[[X]] : tensor<4xf32>) -> <tensor<4xf32>>
  // CHECK-NEXT: %[[R:.*]] = collective.wait %[[H]](%[[X]] : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  // CHECK-NEXT: replica.return %[[R]]
  %r = replica.all_reduce sum %x : tensor<4xf32>
  replica.return %r : tensor<4xf32>
}

// -----

// The mean over a power of two is a multiplication, which is exact.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
// CHECK-LABEL: replica.step @mean_of_four(
replica.step @mean_of_four(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {
  // CHECK: %[[S:.*]] = collective.wait
  // CHECK: linalg.generic {{.*}} ins(%[[S]] : tensor<4xf32>)
  // CHECK: arith.constant 2.500000e-01 : f32
  // CHECK-NEXT: arith.mulf
  // CHECK-NOT: arith.divf
  %r = replica.all_reduce mean %x : tensor<4xf32>
  replica.return %r : tensor<4xf32>
}

// -----

// The mean over any other number is a division. [2.1-mirrored]
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3}
// CHECK-LABEL: replica.step @mean_of_three(
replica.step @mean_of_three(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {
  // CHECK: arith.constant 3.000000e+00 : f32
  // CHECK-NEXT: arith.divf
  // CHECK-NOT: arith.mulf
  %r = replica.all_reduce mean %x : tensor<4xf32>
  replica.return %r : tensor<4xf32>
}

// -----

// The mean of integers is their sum, divided in f64. [2.1-mean-int]
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3}
// CHECK-LABEL: replica.step @mean_of_integers(
replica.step @mean_of_integers(%n: tensor<i32> {replica.batch = "n"}) -> (tensor<f64> {replica.metric = "m"}) {
  // CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<i32>)
  // CHECK: arith.sitofp %{{.*}} : i32 to f64
  // CHECK: arith.divf %{{.*}} : f64
  %r = replica.all_reduce mean %n : tensor<i32>
  replica.return %r : tensor<f64>
}

// -----

// With one replica, nothing is left: no group, no collective, no arithmetic; its id is 0. [2.1-one-replica, 2-replica-id]
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
// CHECK-NOT: collective.
// CHECK-LABEL: replica.step @one_replica(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>
replica.step @one_replica(%x: tensor<4xf32> {replica.batch = "x"}, %v: tensor<?x3xf32> {replica.batch = "v"})
    -> (tensor<4xf32> {replica.metric = "m"}, tensor<?x3xf32> {replica.result = "all"}, tensor<i32> {replica.metric = "id"}) {
  // CHECK-NEXT: %[[ID:.*]] = arith.constant dense<0> : tensor<i32>
  // CHECK-NEXT: replica.return %[[X]], %{{.*}}, %[[ID]]
  %s = replica.all_reduce sum %x : tensor<4xf32>
  %m = replica.all_reduce mean %s : tensor<4xf32>
  %g = replica.all_gather %v axis 0 : tensor<?x3xf32> -> tensor<?x3xf32>
  %id = replica.id : tensor<i32>
  replica.return %m, %g, %id : tensor<4xf32>, tensor<?x3xf32>, tensor<i32>
}

// -----

// The mean of integers on one replica is still f64.
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
// CHECK-LABEL: replica.step @one_mean_of_integers(
replica.step @one_mean_of_integers(%n: tensor<i32> {replica.batch = "n"}) -> (tensor<f64> {replica.metric = "m"}) {
  // CHECK-NOT: collective.
  // CHECK: arith.sitofp %{{.*}} : i32 to f64
  %r = replica.all_reduce mean %n : tensor<i32>
  replica.return %r : tensor<f64>
}

// -----

// The number of replicas is a constant; the id of one of several is left to the executor. [2-num-replicas, 2-replica-id]
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3}
// CHECK-LABEL: replica.step @count
replica.step @count() -> (tensor<i32> {replica.metric = "n"}, tensor<i32> {replica.result = "id"}) {
  // CHECK-DAG: %[[N:.*]] = arith.constant dense<3> : tensor<i32>
  // CHECK-DAG: %[[ID:.*]] = replica.id : tensor<i32>
  // CHECK: replica.return %[[N]], %[[ID]]
  %n = replica.num_in_sync : tensor<i32>
  %id = replica.id : tensor<i32>
  replica.return %n, %id : tensor<i32>, tensor<i32>
}

// -----

// Each operand of a call is a collective of its own, with the bound of the call; buckets are formed later, where it is known [2.1-nest]
// when each operand is ready.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
// CHECK-LABEL: replica.step @nest(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32> {replica.batch = "x"}, %[[N:[a-z0-9]*]]: tensor<i32>
replica.step @nest(%x: tensor<4xf32> {replica.batch = "x"}, %n: tensor<i32> {replica.batch = "n"})
    -> (tensor<4xf32> {replica.metric = "m"}, tensor<i32> {replica.metric = "n"}) {
  // CHECK: collective.start all_reduce sum @all(%[[X]] : tensor<4xf32>) {bytes_per_pack = 1024 : i64} -> <tensor<4xf32>>
  // CHECK: collective.start all_reduce sum @all(%[[N]] : tensor<i32>) {bytes_per_pack = 1024 : i64} -> <tensor<i32>>
  %r:2 = replica.all_reduce sum %x, %n {bytes_per_pack = 1024} : tensor<4xf32>, tensor<i32>
  replica.return %r#0, %r#1 : tensor<4xf32>, tensor<i32>
}

// -----

// A gather of static sizes concatenates along its axis; the result is cast to the type of the operation, which may be dynamic.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3}
// CHECK-LABEL: replica.step @gather(
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>
replica.step @gather(%x: tensor<2x4xf32> {replica.batch = "x"})
    -> (tensor<2x12xf32> {replica.result = "static"}, tensor<?x4xf32> {replica.result = "dynamic"}) {
  // CHECK: %[[H:.*]] = collective.start all_gather none @all axis 1(%[[X]] : tensor<2x4xf32>) -> <tensor<2x12xf32>>
  // CHECK: %[[A:.*]] = collective.wait %[[H]]
  %a = replica.all_gather %x axis 1 : tensor<2x4xf32> -> tensor<2x12xf32>
  // CHECK: collective.start all_gather none @all axis 0(%[[X]] : tensor<2x4xf32>) -> <tensor<6x4xf32>>
  // CHECK: %[[W:.*]] = collective.wait {{.*}} -> tensor<6x4xf32>
  // CHECK: %[[B:.*]] = tensor.cast %[[W]] : tensor<6x4xf32> to tensor<?x4xf32>
  %b = replica.all_gather %x axis 0 : tensor<2x4xf32> -> tensor<?x4xf32>
  // CHECK: replica.return %[[A]], %[[B]]
  replica.return %a, %b : tensor<2x12xf32>, tensor<?x4xf32>
}

// -----

// Collectives in loops and branches are lowered in place.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
// CHECK-LABEL: replica.step @loop(
replica.step @loop(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  // CHECK: scf.for
  // CHECK-NEXT: collective.start all_reduce sum @all
  // CHECK-NEXT: collective.wait
  // CHECK-NEXT: scf.yield
  %r = scf.for %i = %zero to %four step %one iter_args(%c = %x) -> tensor<4xf32> {
    %s = replica.all_reduce sum %c : tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  replica.return %r : tensor<4xf32>
}

// -----

// If the module has a group of all replicas, whether its ranks are listed or not, that group is used.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
// CHECK-NOT: collective.group @all
// CHECK: collective.group @everybody
// CHECK-NOT: collective.group @all
// CHECK-LABEL: replica.step @with_barrier(
collective.group @first {ranks = array<i64: 0>}
collective.group @everybody {ranks = array<i64: 0, 1>}
replica.step @with_barrier(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {
  // CHECK: collective.barrier @everybody
  // CHECK-NEXT: collective.start all_reduce sum @everybody
  collective.barrier @everybody
  %r = replica.all_reduce sum %x : tensor<4xf32>
  replica.return %r : tensor<4xf32>
}
