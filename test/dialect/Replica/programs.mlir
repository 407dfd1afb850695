// RUN: lockstep-opt %s | lockstep-opt | FileCheck %s
// RUN: lockstep-opt %s --mlir-print-op-generic | lockstep-opt | FileCheck %s

replica.strategy @s {kind = #replica.kind<central_storage>, replicas = 2}
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<sum>, synchronization = #replica.synchronization<auto>}

// CHECK-LABEL: replica.step @double(
replica.step @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: replica.literal dense<2.000000e+00> : tensor<4xf32>
  %two = replica.literal dense<2.0> : tensor<4xf32>
  %0 = arith.mulf %x, %two : tensor<4xf32>
  replica.return %0 : tensor<4xf32>
}

// A run calls a step by name, or has a region. [1.1-run]
// CHECK-LABEL: replica.program @runs(%arg0: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) -> (!replica.per_replica<tensor<4xf32>> {replica.result = "y"})
replica.program @runs(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"})
    -> (!replica.per_replica<tensor<4xf32>> {replica.result = "y"}) {
  // CHECK: replica.run @double(%{{.*}} : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<4xf32>>
  %y = replica.run @double(%x : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<4xf32>>
  // CHECK: replica.run(%{{.*}} : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<4xf32>> {
  %z = replica.run (%y : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<4xf32>> {
  // CHECK-NEXT: ^bb0(%[[MINE:.*]]: tensor<4xf32>):
  ^bb0(%mine: tensor<4xf32>):
    // CHECK-NEXT: replica.yield %[[MINE]] : tensor<4xf32>
    replica.yield %mine : tensor<4xf32>
  }
  // CHECK: replica.run {
  replica.run {
    replica.yield
  }
  replica.return %z : !replica.per_replica<tensor<4xf32>>
}

// CHECK-LABEL: replica.program @reductions(
replica.program @reductions(%x: !replica.per_replica<tensor<?x4xf32>> {replica.batch = "x", replica.bounds = array<i64: 8>},
    %k: tensor<4xf32> {replica.scalar = "k"}, %i: !replica.per_replica<tensor<4xi64>> {replica.batch = "i"}) {  // [1.1-scope, 1.2-per-replica, 3.1-slices]
  // CHECK: replica.reduce mean %{{.*}} axes [0] : !replica.per_replica<tensor<?x4xf32>> -> tensor<4xf32>
  %0 = replica.reduce mean %x axes [0] : !replica.per_replica<tensor<?x4xf32>> -> tensor<4xf32>
  // CHECK: replica.reduce mean %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %1 = replica.reduce mean %k : tensor<4xf32> -> tensor<4xf32>
  // CHECK: replica.batch_reduce_to mean %{{.*}}, %{{.*}} to [@w, @w] : !replica.per_replica<tensor<4xi64>>, tensor<4xf32> -> !replica.mirrored<tensor<4xf64>>, tensor<4xf32>
  %2, %3 = replica.batch_reduce_to mean %i, %k to [@w, @w] : !replica.per_replica<tensor<4xi64>>, tensor<4xf32> -> !replica.mirrored<tensor<4xf64>>, tensor<4xf32>
  // CHECK: replica.reduce_slices sum %{{.*}} at %{{.*}} : <tensor<?x4xf32>>, <tensor<4xi64>> -> tensor<?x4xf32>, tensor<8xi64>
  %4, %5 = replica.reduce_slices sum %x at %i : !replica.per_replica<tensor<?x4xf32>>, !replica.per_replica<tensor<4xi64>> -> tensor<?x4xf32>, tensor<8xi64>
  replica.return
}

// CHECK-LABEL: replica.program @others(
replica.program @others(%k: tensor<f32> {replica.scalar = "k"}) {
  // CHECK: replica.values_from_function -> !replica.per_replica<tensor<i32>> {
  %0 = replica.values_from_function -> !replica.per_replica<tensor<i32>> {
  ^bb0(%id: tensor<i32>):
    replica.yield %id : tensor<i32>
  }
  // CHECK: replica.update_non_slot(%{{.*}} : tensor<f32>) -> !replica.mirrored<tensor<f32>> {
  %1 = replica.update_non_slot (%k : tensor<f32>) -> !replica.mirrored<tensor<f32>> {
  ^bb0(%a: tensor<f32>):
    replica.yield %a : tensor<f32>
  }
  replica.return
}

// CHECK-LABEL: replica.step @slices(
replica.step @slices(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}, %n: tensor<2xi32> {replica.batch = "n"}) {
  // CHECK: replica.all_reduce_slices mean %{{.*}} at %{{.*}} : tensor<2xf32>, tensor<2xi64> -> tensor<4xf32>, tensor<4xi64>
  %0, %1 = replica.all_reduce_slices mean %v at %i : tensor<2xf32>, tensor<2xi64> -> tensor<4xf32>, tensor<4xi64>
  // CHECK: replica.scatter add @w, %{{.*}}, %{{.*}} : tensor<2xi64>, tensor<2xf32>
  replica.scatter add @w, %i, %v : tensor<2xi64>, tensor<2xf32>
  // The mean of integers is f64, unless a result type is given. [2.1-mean-int]
  // CHECK: replica.all_reduce mean %{{.*}} : tensor<2xi32>{{$}}
  %2 = replica.all_reduce mean %n : tensor<2xi32>
  // CHECK: replica.all_reduce mean %{{.*}} : tensor<2xi32> -> tensor<2xi32>
  %3 = replica.all_reduce mean %n : tensor<2xi32> -> tensor<2xi32>
  replica.return
}

replica.step @train(%x: tensor<?x4xf32>, %k: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  replica.return %k, %k : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: replica.program @loop(%arg0: !replica.iterator<tensor<?x4xf32>, tensor<i32>> {replica.batches = ["x", "y"], replica.bounds = array<i64: 8>}
replica.program @loop(%it: !replica.iterator<tensor<?x4xf32>, tensor<i32>> {replica.batches = ["x", "y"], replica.bounds = array<i64: 8>}) {  // [6.1-next]
  // CHECK: replica.num_batches %arg0 : <tensor<?x4xf32>, tensor<i32>> -> tensor<i64>
  %n = replica.num_batches %it : !replica.iterator<tensor<?x4xf32>, tensor<i32>> -> tensor<i64>
  // CHECK: replica.next %arg0 : <tensor<?x4xf32>, tensor<i32>>
  %x, %y = replica.next %it : !replica.iterator<tensor<?x4xf32>, tensor<i32>>
  replica.return
}

// CHECK-LABEL: replica.program @steps(
replica.program @steps(%it: !replica.iterator<tensor<?x4xf32>> {replica.batches = ["x"], replica.bounds = array<i64: 8>},
                       %k: tensor<f32> {replica.scalar = "k"}) {
  // CHECK: replica.run_steps 100 @train(%arg0, %arg1 : <tensor<?x4xf32>>, tensor<f32>) {reductions = ["mean", "none"]} -> tensor<f32>, !replica.per_replica<tensor<f32>>
  %l, %e = replica.run_steps 100 @train(%it, %k : !replica.iterator<tensor<?x4xf32>>, tensor<f32>) {reductions = ["mean", "none"]}
      -> tensor<f32>, !replica.per_replica<tensor<f32>>
  // CHECK: {non_tensor_outputs = {epoch = 3 : i64, labels = ["cat", "dog"]}, reductions = ["mean", "none"]}
  %m, %f = replica.run_steps 1 @train(%it, %k : !replica.iterator<tensor<?x4xf32>>, tensor<f32>)
      {reductions = ["mean", "none"], non_tensor_outputs = {epoch = 3, labels = ["cat", "dog"]}}
      -> tensor<f32>, !replica.per_replica<tensor<f32>>
  replica.return
}
