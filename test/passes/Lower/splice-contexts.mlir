// RUN: lockstep-opt %s --splice-contexts --split-input-file | FileCheck %s

replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @v : tensor<4xf32> {aggregation = #replica.aggregation<sum>}

// A program becomes a step: per-replica values become components, and the body of a run is inlined. [1.1-scope, 3.1-none]
// CHECK-LABEL: replica.step @main(%arg0: tensor<4xf32> {replica.batch = "x"}, %arg1: tensor<4xf32> {replica.scalar = "k"}) -> (tensor<4xf32> {replica.result = "y"}, tensor<4xf32> {replica.result = "r"})
replica.program @main(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}, %k: tensor<4xf32> {replica.scalar = "k"})
    -> (!replica.per_replica<tensor<4xf32>> {replica.result = "y"}, tensor<4xf32> {replica.result = "r"}) {
  // CHECK-NEXT: %[[Y:.*]] = arith.mulf %arg0, %arg1
  // CHECK-NEXT: replica.assign_add @v, %[[Y]] : tensor<4xf32>
  %y = replica.run (%x, %k : !replica.per_replica<tensor<4xf32>>, tensor<4xf32>) -> !replica.per_replica<tensor<4xf32>> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = arith.mulf %a, %b : tensor<4xf32>
    replica.assign_add @v, %0 : tensor<4xf32>
    replica.yield %0 : tensor<4xf32>
  }
  // CHECK-NEXT: %[[R:.*]] = replica.all_reduce mean %[[Y]] : tensor<4xf32>
  %r = replica.reduce_to mean %y, @v : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
  // The mean of a value that is equal on all replicas is that value. [3.1-none-plain-mean]
  %m = replica.reduce_to mean %r : !replica.mirrored<tensor<4xf32>> -> tensor<4xf32>
  // Reads and writes in cross-replica context are marked.
  // CHECK-NEXT: replica.assign @v, %[[R]] {replica.cross_replica}
  replica.assign @v, %m : tensor<4xf32>
  // CHECK-NEXT: replica.return %[[Y]], %[[R]]
  replica.return %y, %m : !replica.per_replica<tensor<4xf32>>, tensor<4xf32>
}

// -----

replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}

// Along axes, each replica adds its own elements first; the mean divides by the number of elements of all replicas. [3.1-axis-sum, 3.1-axis-mean]
// CHECK-LABEL: replica.step @axes(
replica.program @axes(%x: !replica.per_replica<tensor<?x3xf32>> {replica.batch = "x", replica.bounds = array<i64: 4>},
                      %y: !replica.per_replica<tensor<3xi32>> {replica.batch = "y"}) {
  // CHECK: linalg.reduce {{.*}} dimensions = [0]
  // CHECK: %[[SUM:.*]] = replica.all_reduce sum %reduced : tensor<3xf32>
  // CHECK: %[[ROWS:.*]] = tensor.dim %arg0, %{{.*}} : tensor<?x3xf32>
  // CHECK: replica.all_reduce sum %{{.*}} : tensor<i64>
  // CHECK: linalg.generic {{.*}} ins(%[[SUM]] : tensor<3xf32>)
  // CHECK: arith.divf
  %0 = replica.reduce mean %x axes [0] : !replica.per_replica<tensor<?x3xf32>> -> tensor<3xf32>
  // A static number of elements is a constant, and the mean of integers is f64. [3.1-axis-int]
  // CHECK: replica.all_reduce sum %{{.*}} : tensor<i32>
  // CHECK-NOT: replica.all_reduce
  // CHECK: arith.sitofp %{{.*}} : i32 to f64
  // CHECK: arith.divf
  %1 = replica.reduce mean %y axes [0] : !replica.per_replica<tensor<3xi32>> -> tensor<f64>
  replica.return
}

// -----

replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}

// A run in a merge_call in a run: all of them are spliced into one context. [2.3-run-inside]
// CHECK-LABEL: replica.step @nested(
// CHECK-NOT: replica.merge_call
// CHECK-NOT: replica.run
// CHECK: %[[A:.*]] = replica.all_reduce sum %arg0
// CHECK: %[[B:.*]] = arith.addf %[[A]], %[[A]]
// CHECK: replica.all_reduce mean %[[B]]
replica.program @nested(%x: !replica.per_replica<tensor<f32>> {replica.batch = "x"}) {
  replica.run (%x : !replica.per_replica<tensor<f32>>) {
  ^bb0(%mine: tensor<f32>):
    replica.merge_call (%mine : tensor<f32>) {
    ^bb0(%p: !replica.per_replica<tensor<f32>>):
      %s = replica.reduce sum %p : !replica.per_replica<tensor<f32>> -> tensor<f32>
      replica.run (%s : tensor<f32>) {
      ^bb0(%all: tensor<f32>):
        %two = arith.addf %all, %all : tensor<f32>
        %0 = replica.all_reduce mean %two : tensor<f32>
        replica.yield
      }
    }
    replica.yield
  }
  replica.return
}

// -----

replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}

// A batch is loaded; the number of batches is a host scalar. [6.1-next]
// CHECK-LABEL: replica.step @batches(%arg0: tensor<i64> {replica.scalar = "num_batches"}) -> (tensor<i64> {replica.result = "n"})
replica.program @batches(%it: !replica.iterator<tensor<?x3xf32>, tensor<i32>> {replica.batches = ["x", "y"], replica.bounds = array<i64: 8>})
    -> (tensor<i64> {replica.result = "n"}) {
  // CHECK: %[[B:.*]]:3 = device.load_batch ["x", "x.dim0", "y"] : tensor<8x3xf32>, tensor<i64>, tensor<i32>
  // CHECK: %[[N:.*]] = tensor.extract %[[B]]#1[]
  // CHECK: %[[R:.*]] = arith.index_cast %[[N]]
  // CHECK: %[[X:.*]] = tensor.extract_slice %[[B]]#0[0, 0] [%[[R]], 3] [1, 1] : tensor<8x3xf32> to tensor<?x3xf32>
  // CHECK: replica.all_gather %[[X]] axis 0
  %x, %y = replica.next %it : !replica.iterator<tensor<?x3xf32>, tensor<i32>>
  %g = replica.gather %x axis 0 : !replica.per_replica<tensor<?x3xf32>> -> tensor<?x3xf32>
  %n = replica.num_batches %it : !replica.iterator<tensor<?x3xf32>, tensor<i32>> -> tensor<i64>
  // CHECK: replica.return %arg0
  replica.return %n : tensor<i64>
}
