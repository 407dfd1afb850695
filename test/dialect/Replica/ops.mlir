// RUN: lockstep-opt %s | lockstep-opt | FileCheck %s
// RUN: lockstep-opt %s --mlir-print-op-generic | lockstep-opt | FileCheck %s

// CHECK: replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}

// CHECK: replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
// CHECK: replica.variable @"params/b" : tensor<4xf32>
replica.variable @"params/b" : tensor<4xf32>
// CHECK: replica.variable @seen : tensor<i64> {aggregation = #replica.aggregation<sum>, initial = dense<0> : tensor<i64>, is_unsigned, synchronization = #replica.synchronization<on_read>}
replica.variable @seen : tensor<i64> {aggregation = #replica.aggregation<sum>, initial = dense<0> : tensor<i64>, is_unsigned, synchronization = #replica.synchronization<on_read>}

// Arguments and results with their bindings, variables, and every operation of replica context.
// CHECK-LABEL: replica.step @train(
// CHECK-SAME: tensor<4xf32> {replica.batch = "x"}
// CHECK-SAME: tensor<f32> {replica.default = 1.000000e-01 : f32, replica.scalar = "lr"}
// CHECK-SAME: -> (tensor<4xf32> {replica.metric = "loss"})
replica.step @train(%x: tensor<4xf32> {replica.batch = "x"}, %v: tensor<?x3xf32> {replica.batch = "v"},
                    %n: tensor<4xi32> {replica.batch = "n", replica.unsigned},
                    %lr: tensor<f32> {replica.default = 1.0e-01 : f32, replica.scalar = "lr"}) -> (tensor<4xf32> {replica.metric = "loss"}) {
  // CHECK: replica.read @w : tensor<4xf32>
  %w = replica.read @w : tensor<4xf32>
  // CHECK: replica.read @w {aggregated} : tensor<4xf32>
  %together = replica.read @w {aggregated} : tensor<4xf32>
  // CHECK: replica.id : tensor<i32>
  %id = replica.id : tensor<i32>
  // CHECK: replica.num_in_sync : tensor<i32>
  %count = replica.num_in_sync : tensor<i32>
  // CHECK: replica.all_reduce sum %{{.*}}, %{{.*}} {bytes_per_pack = 1024 : i64} : tensor<4xf32>, tensor<f32>
  %r:2 = replica.all_reduce sum %x, %lr {bytes_per_pack = 1024 : i64} : tensor<4xf32>, tensor<f32>
  // The mean %m of the integers %n is f64.
  // CHECK: replica.all_reduce product %{{.*}} : tensor<4xf32>
  %product = replica.all_reduce product %x : tensor<4xf32>
  // CHECK: replica.all_reduce min %{{.*}} : tensor<4xf32>
  %min = replica.all_reduce min %x : tensor<4xf32>
  // CHECK: replica.all_reduce max %{{.*}} : tensor<4xf32>
  %max = replica.all_reduce max %x : tensor<4xf32>
  // CHECK: %[[MEAN:.*]] = replica.all_reduce mean %{{.*}} : tensor<4xi32>
  %m = replica.all_reduce mean %n : tensor<4xi32>
  // CHECK: math.absf %[[MEAN]] : tensor<4xf64>
  %abs = math.absf %m : tensor<4xf64>
  // CHECK: replica.all_gather %{{.*}} axis 0 : tensor<?x3xf32> -> tensor<?x3xf32>
  %all = replica.all_gather %v axis 0 : tensor<?x3xf32> -> tensor<?x3xf32>
  // CHECK: replica.assign @w, %{{.*}} : tensor<4xf32>
  replica.assign @w, %x : tensor<4xf32>
  // CHECK: replica.assign_add @w, %{{.*}} : tensor<4xf32>
  replica.assign_add @w, %x : tensor<4xf32>
  // CHECK: replica.assign_sub @w, %{{.*}} : tensor<4xf32>
  replica.assign_sub @w, %x : tensor<4xf32>
  // CHECK: replica.return %{{.*}} : tensor<4xf32>
  replica.return %r#0 : tensor<4xf32>
}

// Cross-replica context.
// CHECK-LABEL: replica.step @merge
replica.step @merge(%x: tensor<4xf32> {replica.batch = "x"}, %lr: tensor<4xf32> {replica.scalar = "lr"}) {
  // CHECK: replica.merge_call(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
  // CHECK-NEXT: ^bb0(%{{.*}}: !replica.per_replica<tensor<4xf32>>, %{{.*}}: tensor<4xf32>):
  %r:3 = replica.merge_call (%x, %lr : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %plain: tensor<4xf32>):
    // CHECK: replica.reduce_to sum %{{.*}}, @w : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
    %s = replica.reduce_to sum %p, @w : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
    // The mean of a plain value is the value.
    // CHECK: replica.reduce_to mean %{{.*}} : tensor<4xf32> -> !replica.mirrored<tensor<4xf32>>
    %mean = replica.reduce_to mean %plain : tensor<4xf32> -> !replica.mirrored<tensor<4xf32>>
    // CHECK: replica.broadcast_to %{{.*}}, @w : tensor<4xf32> -> !replica.mirrored<tensor<4xf32>>
    %b = replica.broadcast_to %plain, @w : tensor<4xf32> -> !replica.mirrored<tensor<4xf32>>
    // CHECK: replica.gather %{{.*}} axis 0 : !replica.per_replica<tensor<4xf32>> -> tensor<16xf32>
    %g = replica.gather %p axis 0 : !replica.per_replica<tensor<4xf32>> -> tensor<16xf32>
    // CHECK: replica.local_results %{{.*}} : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    %l:4 = replica.local_results %p : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    // CHECK: replica.update @w(%{{.*}}, %{{.*}} : !replica.mirrored<tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32> {
    // CHECK-NEXT: ^bb0(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
    %u = replica.update @w (%s, %plain : !replica.mirrored<tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%current: tensor<4xf32>, %d: tensor<4xf32>, %rate: tensor<4xf32>):
      %new = arith.subf %current, %d : tensor<4xf32>
      // CHECK: replica.yield %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
      replica.yield %new, %rate : tensor<4xf32>, tensor<4xf32>
    }
    // CHECK: replica.yield %{{.*}}, %{{.*}}, %{{.*}} : !replica.per_replica<tensor<4xf32>>, !replica.mirrored<tensor<4xf32>>, tensor<4xf32>
    replica.yield %p, %s, %u : !replica.per_replica<tensor<4xf32>>, !replica.mirrored<tensor<4xf32>>, tensor<4xf32>
  }
  // A merge_call without operands and results is only a rendezvous of the replicas.
  // CHECK: replica.merge_call {
  // CHECK-NEXT: }
  replica.merge_call {
  }
  replica.return
}

// Rows of a variable, and slices.
// CHECK: replica.variable @table : tensor<9x2xf32>
replica.variable @table : tensor<9x2xf32>
// CHECK: replica.variable @momentum : tensor<9x2xf32> {colocate_with = @table}
replica.variable @momentum : tensor<9x2xf32> {colocate_with = @table}
// CHECK-LABEL: replica.step @rows
replica.step @rows(%ids: tensor<?xi64> {replica.batch = "ids"}, %i: tensor<3xi32> {replica.batch = "i"}) {
  // CHECK: replica.lookup @table, %{{.*}} : tensor<?xi64> -> tensor<?x2xf32>
  %r = replica.lookup @table, %ids : tensor<?xi64> -> tensor<?x2xf32>
  // CHECK: replica.lookup @table, %{{.*}} : tensor<3xi32> -> tensor<3x2xf32>
  %f = replica.lookup @table, %i : tensor<3xi32> -> tensor<3x2xf32>
  // CHECK: replica.slices_to_dense %{{.*}} at %{{.*}} : tensor<?x2xf32>, tensor<?xi64> -> tensor<9x2xf32>
  %d = replica.slices_to_dense %r at %ids : tensor<?x2xf32>, tensor<?xi64> -> tensor<9x2xf32>
  replica.return
}
