// RUN: lockstep-opt %s --pass-pipeline="builtin.module(split-variables{variable=w})" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(split-variables{variable=w},func.func(convert-elementwise,shard-updates{gradients}),shard-variables,func.func(canonicalize))" --split-input-file | FileCheck %s --check-prefix=DIVIDED

// The momentum is split with the parameter, since its elements are updated with it; the bias is not. The pieces of the parameter are
// concatenated before its first use, those of the momentum, which only the update reads, are not.
// CHECK: replica.variable @w.piece0 : tensor<8x4xf32> {device.shard = #device.shard<"w" row 0 of 16>}
// CHECK-NEXT: replica.variable @w.piece1 : tensor<8x4xf32> {device.shard = #device.shard<"w" row 8 of 16>}
// CHECK-NEXT: replica.variable @v.piece0 : tensor<8x4xf32> {device.shard = #device.shard<"v" row 0 of 16>, initial = dense<0.000000e+00> : tensor<8x4xf32>}
// CHECK-NEXT: replica.variable @v.piece1 : tensor<8x4xf32> {device.shard = #device.shard<"v" row 8 of 16>, initial = dense<0.000000e+00> : tensor<8x4xf32>}
// CHECK-NEXT: replica.variable @b : tensor<16x4xf32>
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W0:[^:]*]]: tensor<8x4xf32> {device.binding = #device.binding<variable "w.piece0">},
// CHECK-SAME: %[[W1:[^:]*]]: tensor<8x4xf32> {device.binding = #device.binding<variable "w.piece1">},
// CHECK-SAME: %[[V0:[^:]*]]: tensor<8x4xf32> {device.binding = #device.binding<variable "v.piece0">},
// CHECK-SAME: %[[V1:[^:]*]]: tensor<8x4xf32> {device.binding = #device.binding<variable "v.piece1">},
// CHECK-SAME: %{{[^:]*}}: tensor<16x4xf32> {device.binding = #device.binding<variable "b">},
// CHECK-SAME: -> (tensor<8x4xf32> {device.binding = #device.binding<variable "w.piece0">}, tensor<8x4xf32> {device.binding = #device.binding<variable "w.piece1">},
// CHECK-SAME: tensor<8x4xf32> {device.binding = #device.binding<variable "v.piece0">}, tensor<8x4xf32> {device.binding = #device.binding<variable "v.piece1">},
// CHECK-SAME: tensor<16x4xf32> {device.binding = #device.binding<variable "b">})
// CHECK: %[[W:.*]] = tensor.concat dim(0) %[[W0]], %[[W1]] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
// CHECK-NEXT: linalg.matmul ins(%{{.*}}, %[[W]]
// CHECK: %[[NW:.*]] = arith.subf %[[W]], %[[NV:.*]] : tensor<16x4xf32>
// CHECK: %[[NW0:.*]] = tensor.extract_slice %[[NW]][0, 0] [8, 4] [1, 1] {replica.shard_of_value}
// CHECK: %[[NW1:.*]] = tensor.extract_slice %[[NW]][8, 0] [8, 4] [1, 1] {replica.shard_of_value}
// CHECK: %[[NV0:.*]] = tensor.extract_slice %[[NV]][0, 0] [8, 4] [1, 1] {replica.shard_of_value}
// CHECK: %[[NV1:.*]] = tensor.extract_slice %[[NV]][8, 0] [8, 4] [1, 1] {replica.shard_of_value}
// CHECK: return %[[NW0]], %[[NW1]], %[[NV0]], %[[NV1]], %{{.*}} :
// CHECK-LABEL: func.func @evaluate(
// CHECK: tensor.concat dim(0)

// One gather has the pieces, as one view of adjacent results; each piece of the gradient is a product of its own, and so is its exchange.
// DIVIDED-LABEL: func.func @step(
// DIVIDED: collective.start all_gather none @all axis 0(%{{.*}}, %{{.*}} : tensor<16xf32>, tensor<16xf32>) -> <tensor<32xf32>, tensor<32xf32>>
// DIVIDED: %[[PARTS:.*]]:2 = collective.wait
// DIVIDED: %[[FLAT:.*]] = tensor.concat dim(0) %[[PARTS]]#0, %[[PARTS]]#1 : (tensor<32xf32>, tensor<32xf32>) -> tensor<64xf32>
// DIVIDED: %[[W:.*]] = tensor.expand_shape %[[FLAT]] {{.*}} : tensor<64xf32> into tensor<16x4xf32>
// DIVIDED: linalg.matmul ins(%{{.*}}, %[[W]]
// DIVIDED-NOT: -> tensor<16x4xf32>
// DIVIDED: %[[X0:.*]] = tensor.extract_slice %{{.*}}[0, 0] [2, 8] [1, 1]
// DIVIDED: %[[G0:.*]] = linalg.generic {{.*}} ins(%[[X0]], %{{.*}} : tensor<2x8xf32>, tensor<2x4xf32>) outs(%{{.*}} : tensor<8x4xf32>)
// DIVIDED: %[[F0:.*]] = tensor.collapse_shape %[[G0]]
// DIVIDED: collective.start reduce_scatter sum @all axis 0(%[[F0]] : tensor<32xf32>)
// DIVIDED: %[[X1:.*]] = tensor.extract_slice %{{.*}}[0, 8] [2, 8] [1, 1]
// DIVIDED: %[[G1:.*]] = linalg.generic {{.*}} ins(%[[X1]], %{{.*}} : tensor<2x8xf32>, tensor<2x4xf32>) outs(%{{.*}} : tensor<8x4xf32>)
// DIVIDED: %[[F1:.*]] = tensor.collapse_shape %[[G1]]
// DIVIDED: collective.start reduce_scatter sum @all axis 0(%[[F1]] : tensor<32xf32>)
// DIVIDED-NOT: tensor.extract_slice
// DIVIDED: return %{{.*}} : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x4xf32>
#lhs = affine_map<(m, n, k) -> (k, m)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @w : tensor<16x4xf32>
replica.variable @v : tensor<16x4xf32> {initial = dense<0.0> : tensor<16x4xf32>}
replica.variable @b : tensor<16x4xf32>
collective.group @all
func.func @step(%w: tensor<16x4xf32> {device.binding = #device.binding<variable "w">}, %v: tensor<16x4xf32> {device.binding = #device.binding<variable "v">},
    %b: tensor<16x4xf32> {device.binding = #device.binding<variable "b">}, %x: tensor<2x16xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<16x4xf32> {device.binding = #device.binding<variable "w">}, tensor<16x4xf32> {device.binding = #device.binding<variable "v">},
        tensor<16x4xf32> {device.binding = #device.binding<variable "b">}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x16xf32>, tensor<16x4xf32>) outs(%z : tensor<2x4xf32>) -> tensor<2x4xf32>
  %ge = tensor.empty() : tensor<16x4xf32>
  %gz = linalg.fill ins(%zero : f32) outs(%ge : tensor<16x4xf32>) -> tensor<16x4xf32>
  %g = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<2x16xf32>, tensor<2x4xf32>) outs(%gz : tensor<16x4xf32>) {
  ^bb0(%l: f32, %r: f32, %a: f32):
    %p = arith.mulf %l, %r : f32
    %q = arith.addf %a, %p : f32
    linalg.yield %q : f32
  } -> tensor<16x4xf32>
  %h = collective.start all_reduce sum @all (%g : tensor<16x4xf32>) -> <tensor<16x4xf32>>
  %s = collective.wait %h (%g : tensor<16x4xf32>) : <tensor<16x4xf32>> -> tensor<16x4xf32>
  %nv = arith.addf %v, %s : tensor<16x4xf32>
  %nw = arith.subf %w, %nv : tensor<16x4xf32>
  %nb = arith.addf %b, %b : tensor<16x4xf32>
  return %nw, %nv, %nb : tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>
}
func.func @evaluate(%w: tensor<16x4xf32> {device.binding = #device.binding<variable "w">}) -> (tensor<16x4xf32> {device.binding = #device.binding<result "y">}) {
  %y = arith.addf %w, %w : tensor<16x4xf32>
  return %y : tensor<16x4xf32>
}

// -----

// Something else needs the gradient as a whole: it is computed at once, and its slices are exchanged.
// DIVIDED-LABEL: func.func @step(
// DIVIDED: %[[G:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<16x4xf32>)
// DIVIDED: tensor.extract_slice %[[G]][0, 0] [8, 4] [1, 1]
// DIVIDED: tensor.extract_slice %[[G]][8, 0] [8, 4] [1, 1]
// DIVIDED: return %{{.*}}, %{{.*}}, %[[G]] :
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @w : tensor<16x4xf32>
collective.group @all
func.func @step(%w: tensor<16x4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<16x4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<16x4xf32> {device.binding = #device.binding<variable "w">}, tensor<16x4xf32> {device.binding = #device.binding<result "g">}) {
  %g = arith.mulf %w, %x : tensor<16x4xf32>
  %h = collective.start all_reduce sum @all (%g : tensor<16x4xf32>) -> <tensor<16x4xf32>>
  %s = collective.wait %h (%g : tensor<16x4xf32>) : <tensor<16x4xf32>> -> tensor<16x4xf32>
  %n = arith.subf %w, %s : tensor<16x4xf32>
  return %n, %g : tensor<16x4xf32>, tensor<16x4xf32>
}

// -----

// Another product has the same initial value, which is repeated for each piece. A piece is also read by itself, where the new value depends on
// the batch. A variable that is only read is not split: each replica takes its part of its rows.
// CHECK: replica.variable @scale : tensor<16x4xf32>
// DIVIDED-LABEL: func.func @step(
// DIVIDED: %[[PARTS:.*]]:2 = collective.wait %{{.*}} : <tensor<32xf32>, tensor<32xf32>> -> tensor<32xf32>, tensor<32xf32>
// DIVIDED: tensor.concat dim(0) %[[PARTS]]#0, %[[PARTS]]#1
// DIVIDED: %[[E0:.*]] = tensor.empty() : tensor<8x4xf32>
// DIVIDED: %[[Z0:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[E0]] : tensor<8x4xf32>)
// DIVIDED: linalg.generic {{.*}} outs(%[[Z0]] : tensor<8x4xf32>)
// DIVIDED: reduce_scatter
// DIVIDED: %[[E1:.*]] = tensor.empty() : tensor<8x4xf32>
// DIVIDED: %[[Z1:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[E1]] : tensor<8x4xf32>)
// DIVIDED: linalg.generic {{.*}} outs(%[[Z1]] : tensor<8x4xf32>)
// DIVIDED: reduce_scatter
// DIVIDED: return %{{.*}} : tensor<16xf32>, tensor<16xf32>, tensor<16x4xf32>
#lhs = affine_map<(m, n, k) -> (k, m)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @w : tensor<16x4xf32>
replica.variable @scale : tensor<16x4xf32>
collective.group @all
func.func @step(%w: tensor<16x4xf32> {device.binding = #device.binding<variable "w">}, %scale: tensor<16x4xf32> {device.binding = #device.binding<variable "scale">},
    %x: tensor<2x16xf32> {device.binding = #device.binding<batch "x">}, %y: tensor<2x4xf32> {device.binding = #device.binding<batch "y">},
    %mask: tensor<16x4xf32> {device.binding = #device.binding<batch "mask">})
    -> (tensor<16x4xf32> {device.binding = #device.binding<variable "w">}, tensor<16x4xf32> {device.binding = #device.binding<result "other">}) {
  %zero = arith.constant 0.0 : f32
  %ge = tensor.empty() : tensor<16x4xf32>
  %gz = linalg.fill ins(%zero : f32) outs(%ge : tensor<16x4xf32>) -> tensor<16x4xf32>
  %g = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<2x16xf32>, tensor<2x4xf32>) outs(%gz : tensor<16x4xf32>) {
  ^bb0(%l: f32, %r: f32, %a: f32):
    %p = arith.mulf %l, %r : f32
    %q = arith.addf %a, %p : f32
    linalg.yield %q : f32
  } -> tensor<16x4xf32>
  %other = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<2x16xf32>, tensor<2x4xf32>) outs(%gz : tensor<16x4xf32>) {
  ^bb0(%l: f32, %r: f32, %a: f32):
    %p = arith.subf %l, %r : f32
    %q = arith.addf %a, %p : f32
    linalg.yield %q : f32
  } -> tensor<16x4xf32>
  %whole = arith.addf %other, %w : tensor<16x4xf32>
  %h = collective.start all_reduce sum @all (%g : tensor<16x4xf32>) -> <tensor<16x4xf32>>
  %s = collective.wait %h (%g : tensor<16x4xf32>) : <tensor<16x4xf32>> -> tensor<16x4xf32>
  %scaled = arith.mulf %s, %scale : tensor<16x4xf32>
  %masked = arith.mulf %w, %mask : tensor<16x4xf32>
  %n = arith.subf %masked, %scaled : tensor<16x4xf32>
  return %n, %whole : tensor<16x4xf32>, tensor<16x4xf32>
}
