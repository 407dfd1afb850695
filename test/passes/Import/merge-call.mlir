// RUN: lockstep-opt %s --allow-unregistered-dialect --import-stablehlo --split-input-file --verify-each | FileCheck %s

// The function of a merge_call becomes a region; a merged value is mirrored, and is cast to a plain tensor for computations.
// CHECK-LABEL: replica.step @reduce
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: %[[R:.*]]:2 = replica.merge_call(%[[X]] : tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32> {
// CHECK-NEXT: ^bb0(%[[P:.*]]: !replica.per_replica<tensor<4xf32>>):
// CHECK-NEXT: %[[S:.*]] = replica.reduce_to sum %[[P]] : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
// CHECK-NEXT: %[[PLAIN:.*]] = builtin.unrealized_conversion_cast %[[S]] : !replica.mirrored<tensor<4xf32>> to tensor<4xf32>
// CHECK-NEXT: %[[E:.*]] = math.exp %[[PLAIN]] : tensor<4xf32>
// CHECK-NEXT: replica.yield %[[S]], %[[E]] : !replica.mirrored<tensor<4xf32>>, tensor<4xf32>
// CHECK-NOT: func.func
replica.step @reduce(%x: tensor<4xf32>) -> (tensor<4xf32> {replica.result = "a"}, tensor<4xf32> {replica.result = "b"}) {
  %0:2 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.merge_call", called_computations = [@merge], has_side_effect = true, backend_config = {per_replica = []}}> : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  replica.return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @merge(%p: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "stablehlo.custom_call"(%p) <{call_target_name = "replica.reduce_to", has_side_effect = true, backend_config = {reduction = "SUM"}}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// All operations of cross-replica context. An argument that is returned is each replica's own component again.
// CHECK-LABEL: replica.step @others
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<f32>)
// CHECK: replica.merge_call(%[[X]], %[[Y]] : tensor<2xf32>, tensor<f32>)
// CHECK-NEXT: ^bb0(%[[P:.*]]: !replica.per_replica<tensor<2xf32>>, %[[Q:.*]]: !replica.per_replica<tensor<f32>>):
// CHECK-NEXT: %[[G:.*]] = replica.gather %[[P]] axis 0 : !replica.per_replica<tensor<2xf32>> -> tensor<4xf32>
// CHECK-NEXT: %[[L:.*]]:2 = replica.local_results %[[Q]] : !replica.per_replica<tensor<f32>> -> tensor<f32>, tensor<f32>
// CHECK-NEXT: %[[B:.*]] = replica.broadcast_to %[[L]]#1 : tensor<f32> -> !replica.mirrored<tensor<f32>>
// CHECK-NEXT: %[[M:.*]] = replica.reduce_to mean %[[L]]#0 : tensor<f32> -> !replica.mirrored<tensor<f32>>
// CHECK-NEXT: replica.yield %[[G]], %[[B]], %[[M]], %[[P]] : tensor<4xf32>, !replica.mirrored<tensor<f32>>, !replica.mirrored<tensor<f32>>, !replica.per_replica<tensor<2xf32>>
replica.step @others(%x: tensor<2xf32>, %y: tensor<f32>) {
  %0:4 = "stablehlo.custom_call"(%x, %y) <{call_target_name = "replica.merge_call", called_computations = [@merge], has_side_effect = true, backend_config = {per_replica = [3]}}> : (tensor<2xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<2xf32>)
  replica.return
}
func.func private @merge(%p: tensor<2xf32>, %q: tensor<f32>) -> (tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<2xf32>) {
  %g = "stablehlo.custom_call"(%p) <{call_target_name = "replica.gather", has_side_effect = true, backend_config = {axis = 0 : i64}}> : (tensor<2xf32>) -> tensor<4xf32>
  %l:2 = "stablehlo.custom_call"(%q) <{call_target_name = "replica.local_results", has_side_effect = true, backend_config = {}}> : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %b = "stablehlo.custom_call"(%l#1) <{call_target_name = "replica.broadcast_to", has_side_effect = true, backend_config = {}}> : (tensor<f32>) -> tensor<f32>
  %m = "stablehlo.custom_call"(%l#0) <{call_target_name = "replica.reduce_to", has_side_effect = true, backend_config = {reduction = "MEAN"}}> : (tensor<f32>) -> tensor<f32>
  return %g, %b, %m, %p : tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<2xf32>
}

// -----

// A computation on one replica's component alone (here the conversion for a mean of integers) moves before the call, where
// each replica executes it.
// CHECK-LABEL: replica.step @hoisted
// CHECK-SAME: (%[[X:.*]]: tensor<4xi32>)
// CHECK: %[[F:.*]] = arith.sitofp %[[X]] : tensor<4xi32> to tensor<4xf64>
// CHECK: replica.merge_call(%[[F]] : tensor<4xf64>)
// CHECK-NEXT: ^bb0(%[[P:.*]]: !replica.per_replica<tensor<4xf64>>):
// CHECK-NEXT: replica.reduce_to mean %[[P]]
replica.step @hoisted(%x: tensor<4xi32>) {
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.merge_call", called_computations = [@merge], has_side_effect = true, backend_config = {per_replica = []}}> : (tensor<4xi32>) -> tensor<4xf64>
  replica.return
}
func.func private @merge(%p: tensor<4xi32>) -> tensor<4xf64> {
  %f = arith.sitofp %p : tensor<4xi32> to tensor<4xf64>
  %0 = "stablehlo.custom_call"(%f) <{call_target_name = "replica.reduce_to", has_side_effect = true, backend_config = {reduction = "MEAN"}}> : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
