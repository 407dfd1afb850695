// RUN: lockstep-opt %s --splice-contexts --lower-replica --split-input-file | FileCheck %s

// The body is spliced into the step between two barriers: all replicas enter and leave it together. [1.1-merge, 2.3-meet, 4-reduce-to, 4-update]
// A reduce_to of per-replica values is a collective; an update reads, computes and assigns, without aggregating a second time.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<sum>}
// CHECK-LABEL: replica.step @update(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>
replica.step @update(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "old"}) {
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: %[[H:.*]] = collective.start all_reduce sum @all(%[[X]] : tensor<4xf32>)
  // CHECK-NEXT: %[[S:.*]] = collective.wait %[[H]]
  // CHECK-NEXT: %[[W:.*]] = replica.read @w : tensor<4xf32>
  // CHECK-NEXT: %[[NEW:.*]] = arith.subf %[[W]], %[[S]]
  // CHECK-NEXT: replica.assign @w, %[[NEW]] : tensor<4xf32>
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: replica.return %[[W]]
  %r = replica.merge_call (%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>):
    %s = replica.reduce_to sum %p, @w : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
    %u = replica.update @w (%s : !replica.mirrored<tensor<4xf32>>) -> tensor<4xf32> {
    ^bb0(%current: tensor<4xf32>, %d: tensor<4xf32>):
      %new = arith.subf %current, %d : tensor<4xf32>
      replica.yield %new, %current : tensor<4xf32>, tensor<4xf32>
    }
    replica.yield %u : tensor<4xf32>
  }
  replica.return %r : tensor<4xf32>
}

// -----

// An update whose results have no uses is still executed.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<4xf32>
// CHECK-LABEL: replica.step @unused(
// CHECK-SAME: %[[LR:[a-z0-9]*]]: tensor<4xf32>
replica.step @unused(%lr: tensor<4xf32> {replica.scalar = "lr"}) {
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: %[[W:.*]] = replica.read @w
  // CHECK-NEXT: %[[NEW:.*]] = arith.mulf %[[W]], %[[LR]]
  // CHECK-NEXT: replica.assign @w, %[[NEW]]
  // CHECK-NEXT: collective.barrier @all
  replica.merge_call (%lr : tensor<4xf32>) {
  ^bb0(%plain: tensor<4xf32>):
    %u = replica.update @w (%plain : tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%current: tensor<4xf32>, %rate: tensor<4xf32>):
      %new = arith.mulf %current, %rate : tensor<4xf32>
      replica.yield %new, %new : tensor<4xf32>, tensor<4xf32>
    }
    replica.yield
  }
  replica.return
}

// -----

// A reduce_to or broadcast_to of a plain value is that value, since all replicas have it.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<4xf32>
// CHECK-LABEL: replica.step @plain(
// CHECK-SAME: %[[LR:[a-z0-9]*]]: tensor<4xf32>
replica.step @plain(%lr: tensor<4xf32> {replica.scalar = "lr"}) -> (tensor<4xf32> {replica.metric = "a"}, tensor<4xf32> {replica.metric = "b"}) {
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: replica.return %[[LR]], %[[LR]]
  %r:2 = replica.merge_call (%lr : tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32> {
  ^bb0(%plain: tensor<4xf32>):
    %mean = replica.reduce_to mean %plain : tensor<4xf32> -> !replica.mirrored<tensor<4xf32>>
    %b = replica.broadcast_to %plain, @w : tensor<4xf32> -> !replica.mirrored<tensor<4xf32>>
    replica.yield %mean, %b : !replica.mirrored<tensor<4xf32>>, !replica.mirrored<tensor<4xf32>>
  }
  replica.return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A gather of components is a collective; local_results is one gather, cut into pieces in the order of ranks. [1.2-local-results]
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
// CHECK-LABEL: replica.step @components(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<3xf32>
replica.step @components(%x: tensor<3xf32> {replica.batch = "x"})
    -> (tensor<6xf32> {replica.metric = "g"}, tensor<3xf32> {replica.metric = "first"}, tensor<3xf32> {replica.metric = "second"}) {
  // CHECK: collective.start all_gather none @all axis 0(%[[X]] : tensor<3xf32>) -> <tensor<6xf32>>
  // CHECK: %[[G:.*]] = collective.wait
  // CHECK: %[[ROW:.*]] = tensor.expand_shape %[[X]] {{\[}}[0, 1]] output_shape [1, 3] : tensor<3xf32> into tensor<1x3xf32>
  // CHECK: collective.start all_gather none @all axis 0(%[[ROW]] : tensor<1x3xf32>) -> <tensor<2x3xf32>>
  // CHECK: %[[ALL:.*]] = collective.wait
  // CHECK: tensor.extract_slice %[[ALL]][0, 0] [1, 3] [1, 1]
  // CHECK: %[[FIRST:.*]] = tensor.collapse_shape
  // CHECK: tensor.extract_slice %[[ALL]][1, 0] [1, 3] [1, 1]
  // CHECK: %[[SECOND:.*]] = tensor.collapse_shape
  // CHECK: replica.return %[[G]], %[[FIRST]], %[[SECOND]]
  %r:3 = replica.merge_call (%x : tensor<3xf32>) -> tensor<6xf32>, tensor<3xf32>, tensor<3xf32> {
  ^bb0(%p: !replica.per_replica<tensor<3xf32>>):
    %g = replica.gather %p axis 0 : !replica.per_replica<tensor<3xf32>> -> tensor<6xf32>
    %l:2 = replica.local_results %p : !replica.per_replica<tensor<3xf32>> -> tensor<3xf32>, tensor<3xf32>
    replica.yield %g, %l#0, %l#1 : tensor<6xf32>, tensor<3xf32>, tensor<3xf32>
  }
  replica.return %r#0, %r#1, %r#2 : tensor<6xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// A per-replica value that the region yields is each replica's own component again. [2.3-returns]
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
// CHECK-LABEL: replica.step @pass(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<3xf32>
replica.step @pass(%x: tensor<3xf32> {replica.batch = "x"}) -> (tensor<3xf32> {replica.result = "x"}) {
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: replica.return %[[X]]
  %r = replica.merge_call (%x : tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%p: !replica.per_replica<tensor<3xf32>>):
    replica.yield %p : !replica.per_replica<tensor<3xf32>>
  }
  replica.return %r : tensor<3xf32>
}

// -----

// An assignment in a merge_call is executed once, whatever the aggregation; the attribute that marks it is removed. [5.2-cross]
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
replica.variable @n : tensor<f32> {aggregation = #replica.aggregation<sum>}
// CHECK-LABEL: replica.step @assign_once(
// CHECK-SAME: %[[ONE:[a-z0-9]*]]: tensor<f32>
replica.step @assign_once(%one: tensor<f32> {replica.scalar = "one"}) {
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: replica.assign_add @n, %[[ONE]] : tensor<f32>
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: replica.return
  replica.merge_call (%one : tensor<f32>) {
  ^bb0(%plain: tensor<f32>):
    replica.assign_add @n, %plain : tensor<f32>
    replica.yield
  }
  replica.return
}

// -----

// In a loop, the collective and the update are executed in every iteration.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<4xf32>
// CHECK-LABEL: replica.step @in_loop(
replica.step @in_loop(%x: tensor<4xf32> {replica.batch = "x"}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  // CHECK: scf.for
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: collective.start
  // CHECK-NEXT: %[[S:.*]] = collective.wait
  // CHECK-NEXT: replica.read @w
  // CHECK-NEXT: replica.assign @w, %[[S]]
  // CHECK-NEXT: collective.barrier @all
  // CHECK-NEXT: }
  scf.for %i = %zero to %two step %one {
    replica.merge_call (%x : tensor<4xf32>) {
    ^bb0(%p: !replica.per_replica<tensor<4xf32>>):
      %s = replica.reduce_to sum %p, @w : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
      replica.update @w (%s : !replica.mirrored<tensor<4xf32>>) {
      ^bb0(%current: tensor<4xf32>, %d: tensor<4xf32>):
        replica.yield %d : tensor<4xf32>
      }
      replica.yield
    }
  }
  replica.return
}

// -----

// local_results gathers the values of all replicas and takes them apart; values without elements are not exchanged.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
// CHECK-LABEL: replica.step @local_results(
replica.step @local_results(%x: tensor<3xf32> {replica.batch = "x"}, %e: tensor<2x0xf32> {replica.batch = "e"})
    -> (tensor<3xf32> {replica.result = "x1"}, tensor<2x0xf32> {replica.result = "e1"}) {
  // CHECK: collective.start all_gather
  // CHECK-NOT: collective.start
  // CHECK: %[[X:.*]] = tensor.extract_slice %{{.*}}[1, 0] [1, 3]
  // CHECK: %[[X1:.*]] = tensor.collapse_shape %[[X]]
  // CHECK: %[[E1:.*]] = tensor.empty() : tensor<2x0xf32>
  // CHECK: replica.return %[[X1]], %[[E1]]
  %r:2 = replica.merge_call (%x, %e : tensor<3xf32>, tensor<2x0xf32>) -> tensor<3xf32>, tensor<2x0xf32> {
  ^bb0(%px: !replica.per_replica<tensor<3xf32>>, %pe: !replica.per_replica<tensor<2x0xf32>>):
    %x0, %x1 = replica.local_results %px : !replica.per_replica<tensor<3xf32>> -> tensor<3xf32>, tensor<3xf32>
    %e0, %e1 = replica.local_results %pe : !replica.per_replica<tensor<2x0xf32>> -> tensor<2x0xf32>, tensor<2x0xf32>
    replica.yield %x1, %e1 : tensor<3xf32>, tensor<2x0xf32>
  }
  replica.return %r#0, %r#1 : tensor<3xf32>, tensor<2x0xf32>
}
