// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(fuse-operations))" --split-input-file | FileCheck %s

// A chain of element-wise operations is fused into one.
#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @chain(
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK-NEXT: arith.mulf
// CHECK-NOT: linalg.generic
func.func @chain(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %b : tensor<8xf32>
}

// -----

// A broadcast is read through its map instead of being written out.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
// CHECK: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @broadcast(
// CHECK-SAME: %{{.*}}: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK: linalg.generic {indexing_maps = [{{.*}}, #[[COLUMN]], {{.*}}]{{.*}} ins(%{{.*}}, %[[B]] : tensor<4x8xf32>, tensor<8xf32>)
// CHECK-NOT: linalg.generic
func.func @broadcast(%x: tensor<4x8xf32>, %bias: tensor<8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %wide = linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]} ins(%bias : tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %wide : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A costly producer with two users is computed once.
#id = affine_map<(i) -> (i)>
#all = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @costly(
// CHECK-COUNT-1: math.exp
// CHECK-NOT: math.exp
func.func @costly(%x: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction"]} ins(%a : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.negf %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %s, %b : tensor<f32>, tensor<8xf32>
}

// -----

// A cheap producer is fused into each of its users, a reduction among them, and erased.
#id = affine_map<(i) -> (i)>
#all = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @cheap(
// CHECK-COUNT-2: arith.mulf
// CHECK-NOT: arith.mulf
func.func @cheap(%x: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.mulf %i, %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction"]} ins(%a : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %s, %b : tensor<f32>, tensor<8xf32>
}

// -----

// The operands of a product stay in memory: its code reads each of them many times.
#id = affine_map<(i, j) -> (i, j)>
#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @product(
// CHECK: %[[A:.*]] = linalg.generic {{.*}}["parallel", "parallel"]
// CHECK: arith.negf
// CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction"]{{.*}} ins(%[[A]],
func.func @product(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %init: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: f32, %u: f32):
    %0 = arith.negf %i : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  %p = linalg.generic {indexing_maps = [#l, #r, #o], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>) {
  ^bb0(%i: f32, %j: f32, %u: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %u, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// -----

// Two element-wise readers of a product (an activation and the mask for its gradient) become one operation with two results, so
// that the product can have one epilogue.
#id = affine_map<(i, j) -> (i, j)>
#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @epilogues(
// CHECK: %[[P:.*]] = linalg.generic {{.*}}"reduction"
// CHECK: %[[E:.*]]:2 = linalg.generic {{.*}} ins(%[[P]]
// CHECK: linalg.yield %{{.*}}, %{{.*}} : f32, i1
// CHECK: return %[[E]]#0, %[[E]]#1
func.func @epilogues(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %init: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xi1>) {
  %e = tensor.empty() : tensor<4x4xf32>
  %g = tensor.empty() : tensor<4x4xi1>
  %zero = arith.constant 0.0 : f32
  %p = linalg.generic {indexing_maps = [#l, #r, #o], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>) {
  ^bb0(%i: f32, %j: f32, %u: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %u, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: f32, %u: f32):
    %0 = math.tanh %i : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x4xf32>) outs(%g : tensor<4x4xi1>) {
  ^bb0(%i: f32, %u: i1):
    %0 = arith.cmpf ogt, %i, %zero : f32
    linalg.yield %0 : i1
  } -> tensor<4x4xi1>
  return %a, %m : tensor<4x4xf32>, tensor<4x4xi1>
}

// -----

// Two readers are not fused if the second depends on the first, through a collective; nothing moves across the collective.
#id = affine_map<(i, j) -> (i, j)>
#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
collective.group @all
// CHECK-LABEL: func.func @dependent(
// CHECK: math.tanh
// CHECK: collective.start
// CHECK: collective.wait
// CHECK: arith.subf
func.func @dependent(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %init: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %p = linalg.generic {indexing_maps = [#l, #r, #o], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>) {
  ^bb0(%i: f32, %j: f32, %u: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %u, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: f32, %u: f32):
    %0 = math.tanh %i : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  %h = collective.start all_reduce sum @all (%a : tensor<4x4xf32>) -> !collective.pending<tensor<4x4xf32>>
  %s = collective.wait %h (%a : tensor<4x4xf32>) : !collective.pending<tensor<4x4xf32>> -> tensor<4x4xf32>
  %d = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %s : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: f32, %j: f32, %u: f32):
    %0 = arith.subf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}

// -----

// A gradient that is only read transposed is computed transposed, so that one operation updates momentum and weights in a single pass over memory.
#m = affine_map<(i, j, k) -> (k, i)>
#n = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
// CHECK-LABEL: func.func @update
// CHECK-SAME: %[[DY:.*]]: tensor<64x128xf32>, %[[X:.*]]: tensor<64x32xf32>, %[[W:.*]]: tensor<32x128xf32>, %[[V:.*]]: tensor<32x128xf32>
func.func @update(%dy: tensor<64x128xf32>, %x: tensor<64x32xf32>, %w: tensor<32x128xf32>, %v: tensor<32x128xf32>) -> (tensor<32x128xf32>, tensor<32x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %beta = arith.constant 0.9 : f32
  %e = tensor.empty() : tensor<128x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x32xf32>) -> tensor<128x32xf32>
  // CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%[[DY]], %[[X]] : {{.*}}) outs(%{{.*}} : tensor<32x128xf32>)
  %g = linalg.generic {indexing_maps = [#m, #n, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%dy, %x : tensor<64x128xf32>, tensor<64x32xf32>) outs(%f : tensor<128x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<128x32xf32>
  %r = tensor.empty() : tensor<32x128xf32>
  // CHECK: %[[N:.*]]:2 = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(
  // CHECK-NOT: linalg.generic
  // CHECK: return %[[N]]#0, %[[N]]#1
  %nv = linalg.generic {indexing_maps = [#id, #t, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %g : tensor<32x128xf32>, tensor<128x32xf32>) outs(%r : tensor<32x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %beta : f32
    %s = arith.addf %p, %b : f32
    linalg.yield %s : f32
  } -> tensor<32x128xf32>
  %nw = linalg.generic {indexing_maps = [#id, #id, #t, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w, %v, %g : tensor<32x128xf32>, tensor<32x128xf32>, tensor<128x32xf32>) outs(%r : tensor<32x128xf32>) {
  ^bb0(%d: f32, %a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %beta : f32
    %s = arith.addf %p, %b : f32
    %u = arith.subf %d, %s : f32
    linalg.yield %u : f32
  } -> tensor<32x128xf32>
  return %nv, %nw : tensor<32x128xf32>, tensor<32x128xf32>
}

// -----

// A product that is also read without a transpose is not transposed.
#m = affine_map<(i, j, k) -> (k, i)>
#n = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
// CHECK-LABEL: func.func @both_ways
func.func @both_ways(%dy: tensor<64x128xf32>, %x: tensor<64x32xf32>, %w: tensor<32x128xf32>) -> (tensor<32x128xf32>, tensor<128x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x32xf32>) -> tensor<128x32xf32>
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<128x32xf32>)
  %g = linalg.generic {indexing_maps = [#m, #n, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%dy, %x : tensor<64x128xf32>, tensor<64x32xf32>) outs(%f : tensor<128x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<128x32xf32>
  %r = tensor.empty() : tensor<32x128xf32>
  %s = linalg.generic {indexing_maps = [#id, #t, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w, %g : tensor<32x128xf32>, tensor<128x32xf32>) outs(%r : tensor<32x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %u = arith.subf %a, %b : f32
    linalg.yield %u : f32
  } -> tensor<32x128xf32>
  return %s, %g : tensor<32x128xf32>, tensor<128x32xf32>
}

// -----

// When an operation that updates its destination is fused, the destination becomes an input: elements of the result are computed from old values.
#id = affine_map<(i) -> (i)>
#read = affine_map<(i, j) -> (i)>
#kept = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @update_then_sum
func.func @update_then_sum(%a: tensor<3xf32>, %b: tensor<3xf32>, %start: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: linalg.generic {{.*}} ins(%arg1, %arg0 : tensor<3xf32>, tensor<3xf32>) outs(%arg2 : tensor<2xf32>)
  // CHECK-NOT: linalg.generic
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%b : tensor<3xf32>) outs(%a : tensor<3xf32>) {
  ^bb0(%x: f32, %old: f32):
    %s = arith.addf %old, %x : f32
    linalg.yield %s : f32
  } -> tensor<3xf32>
  %r = linalg.generic {indexing_maps = [#read, #kept], iterator_types = ["reduction", "parallel"]}
      ins(%u : tensor<3xf32>) outs(%start : tensor<2xf32>) {
  ^bb0(%x: f32, %sum: f32):
    %s = arith.addf %sum, %x : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// A reader of a product of variables, which is uniform, is not fused with a reader that also reads a batch: its result would
// not be known to be uniform any more.
#id = affine_map<(i, j) -> (i, j)>
#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @uniform_epilogue(
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<4x4xf32> {device.binding = #device.binding<variable
// CHECK: %[[P:.*]] = linalg.generic {{.*}}"reduction"
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<4x4xf32>)
// CHECK: math.tanh
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[P]], %{{.*}} : tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK: return %[[A]], %[[M]]
func.func @uniform_epilogue(%w: tensor<4x4xf32> {device.binding = #device.binding<variable "w">},
                            %x: tensor<4x4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4x4xf32> {device.binding = #device.binding<variable "w">}, tensor<4x4xf32> {device.binding = #device.binding<result "y">}) {
  %e = tensor.empty() : tensor<4x4xf32>
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = linalg.generic {indexing_maps = [#l, #r, #o], iterator_types = ["parallel", "parallel", "reduction"]} ins(%w, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>) {
  ^bb0(%i: f32, %j: f32, %u: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %u, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: f32, %u: f32):
    %0 = math.tanh %i : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: f32, %j: f32, %u: f32):
    %0 = arith.subf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  return %a, %m : tensor<4x4xf32>, tensor<4x4xf32>
}

// A type forgets a size, and the destination is not read: the pass finds a fixed point.
// CHECK-LABEL: func.func @forgotten_size(
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
// CHECK: linalg.generic {{.*}} ins(%[[X]] : tensor<2xf32>) outs(%{{.*}} : tensor<2xf32>)
func.func @forgotten_size(%x: tensor<2xf32>) -> tensor<?xf32> {
  %dynamic = tensor.cast %x : tensor<2xf32> to tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%dynamic : tensor<?xf32>) outs(%dynamic : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// A sum over a loop of one iteration, as of the derivative of a mean that keeps its dimension, becomes element-wise, and what it reads is read
// without the dimension: both are fused with what follows.
#id2 = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @kept_dimension
// CHECK-SAME: %[[MEAN:.*]]: tensor<256xf32>, %[[X:.*]]: tensor<256x64xf32>
func.func @kept_dimension(%mean: tensor<256xf32>, %x: tensor<256x64xf32>) -> tensor<256x64xf32> {
  // CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[ROW]], #{{.*}}], iterator_types = ["parallel", "parallel"]} ins(%[[X]], %[[MEAN]] :
  // CHECK: arith.negf
  // CHECK: arith.addf
  // CHECK: arith.addf
  // CHECK: return %[[R]]
  %zero = arith.constant 0.0 : f32
  %kept = tensor.expand_shape %mean [[0, 1]] output_shape [256, 1] : tensor<256xf32> into tensor<256x1xf32>
  %e1 = tensor.empty() : tensor<256x1xf32>
  %negative = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%kept : tensor<256x1xf32>) outs(%e1 : tensor<256x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<256x1xf32>
  %e = tensor.empty() : tensor<256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256xf32>) -> tensor<256xf32>
  %sum = linalg.generic {indexing_maps = [#id2, #row], iterator_types = ["parallel", "reduction"]} ins(%negative : tensor<256x1xf32>) outs(%f : tensor<256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<256xf32>
  %o = tensor.empty() : tensor<256x64xf32>
  %r = linalg.generic {indexing_maps = [#id2, #row, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<256x64xf32>, tensor<256xf32>) outs(%o : tensor<256x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<256x64xf32>
  return %r : tensor<256x64xf32>
}

// -----

// A broadcast is read where it comes from by all of its users, however much they compute.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%bias: tensor<64xf32>, %x: tensor<256x64xf32>) -> (tensor<256x64xf32>, tensor<256x64xf32>) {
  // CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<64xf32>, tensor<256x64xf32>)
  // CHECK-NOT: linalg.generic
  %e = tensor.empty() : tensor<256x64xf32>
  %wide = linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]} ins(%bias : tensor<64xf32>) outs(%e : tensor<256x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<256x64xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%wide, %x : tensor<256x64xf32>, tensor<256x64xf32>) outs(%e : tensor<256x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.mulf %1, %0 : f32
    %3 = arith.mulf %2, %0 : f32
    %4 = arith.mulf %3, %0 : f32
    %5 = arith.mulf %4, %0 : f32
    %6 = arith.mulf %5, %0 : f32
    %7 = arith.mulf %6, %0 : f32
    %8 = arith.mulf %7, %0 : f32
    %9 = arith.mulf %8, %0 : f32
    %10 = arith.mulf %9, %0 : f32
    %11 = arith.mulf %10, %0 : f32
    %12 = arith.mulf %11, %0 : f32
    %13 = arith.mulf %12, %0 : f32
    %14 = arith.mulf %13, %0 : f32
    %15 = arith.mulf %14, %0 : f32
    linalg.yield %15 : f32
  } -> tensor<256x64xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %wide : tensor<256x64xf32>, tensor<256x64xf32>) outs(%e : tensor<256x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.subf %b, %a : f32
    linalg.yield %0 : f32
  } -> tensor<256x64xf32>
  return %r, %s : tensor<256x64xf32>, tensor<256x64xf32>
}

// -----

// New values of two variables, one of which is computed of the other: one operation computes both, and reads its inputs once.
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @updates
// CHECK: %{{.*}}:2 = linalg.generic
// CHECK-NOT: linalg.generic
func.func @updates(%v: tensor<32x64xf32>, %g: tensor<32x64xf32>, %p: tensor<32x64xf32>) -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  %e = tensor.empty() : tensor<32x64xf32>
  %velocity = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%v, %g : tensor<32x64xf32>, tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<32x64xf32>
  %new = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %velocity : tensor<32x64xf32>, tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<32x64xf32>
  return %velocity, %new : tensor<32x64xf32>, tensor<32x64xf32>
}

// -----

// A gather takes few elements of logarithms: it takes those of their operands instead, and computes no others.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#id1 = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @take(
// CHECK-SAME: %[[X:.*]]: tensor<8x100xf32>, %[[MOST:.*]]: tensor<8xf32>, %[[I:.*]]: tensor<8xindex>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]}
// CHECK: ^bb0(%[[COLUMN:.*]]: index, %{{.*}}: f32):
// CHECK: %[[N:.*]] = linalg.index 0
// CHECK: %[[OWN:.*]] = tensor.extract %[[X]][%[[N]], %[[COLUMN]]]
// CHECK: %[[OF_ROW:.*]] = tensor.extract %[[MOST]][%[[N]]]
// CHECK: %[[LOG:.*]] = math.log %[[OWN]]
// CHECK: %[[TAKEN:.*]] = arith.subf %[[LOG]], %[[OF_ROW]]
// CHECK: linalg.yield %[[TAKEN]]
// CHECK-NOT: linalg.generic
func.func @take(%x: tensor<8x100xf32>, %most: tensor<8xf32>, %i: tensor<8xindex>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8x100xf32>
  %all = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %most : tensor<8x100xf32>, tensor<8xf32>) outs(%e : tensor<8x100xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = math.log %a : f32
    %1 = arith.subf %0, %b : f32
    linalg.yield %1 : f32
  } -> tensor<8x100xf32>
  %f = tensor.empty() : tensor<8xf32>
  %taken = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel"]} ins(%i : tensor<8xindex>) outs(%f : tensor<8xf32>) {
  ^bb0(%column: index, %o: f32):
    %n = linalg.index 0 : index
    %0 = tensor.extract %all[%n, %column] : tensor<8x100xf32>
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %taken : tensor<8xf32>
}

// -----

// Not if it takes more than a fourth of them: each is computed once.
#id1 = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @take_many(
// CHECK: math.log
// CHECK: linalg.generic
// CHECK: tensor.extract
func.func @take_many(%x: tensor<8xf32>, %i: tensor<8xindex>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %all = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.log %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %taken = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel"]} ins(%i : tensor<8xindex>) outs(%e : tensor<8xf32>) {
  ^bb0(%n: index, %o: f32):
    %0 = tensor.extract %all[%n] : tensor<8xf32>
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %taken : tensor<8xf32>
}

// -----

// A large product whose users round it to bf16, the largest of each row and the exponentials, is stored in bf16.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func.func @scores(
// CHECK: %[[PRODUCT:.*]] = linalg.matmul
// CHECK: %[[ROUNDED:.*]] = linalg.generic {{.*}} ins(%[[PRODUCT]] : tensor<512x1024xf32>) outs(%{{.*}} : tensor<512x1024xbf16>)
// CHECK: arith.truncf
// CHECK-NOT: arith.truncf
// CHECK: linalg.generic {{.*}} ins(%[[ROUNDED]] : tensor<512x1024xbf16>)
// CHECK: ^bb0(%[[A:.*]]: bf16, %{{.*}}: f32):
// CHECK-NEXT: arith.extf %[[A]] : bf16 to f32
// CHECK: linalg.generic {{.*}} ins(%[[ROUNDED]], %{{.*}} : tensor<512x1024xbf16>, tensor<512xf32>)
// CHECK-NOT: arith.truncf
func.func @scores(%x: tensor<512x16xf32>, %w: tensor<16x1024xf32>) -> tensor<512x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %m = linalg.matmul ins(%x, %w : tensor<512x16xf32>, tensor<16x1024xf32>) outs(%f : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %r = tensor.empty() : tensor<512xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%r : tensor<512xf32>) -> tensor<512xf32>
  %most = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%m : tensor<512x1024xf32>) outs(%fr : tensor<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.truncf %a : f32 to bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.maximumf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<512xf32>
  %exp = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %most : tensor<512x1024xf32>, tensor<512xf32>) outs(%e : tensor<512x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.truncf %a : f32 to bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.subf %1, %b : f32
    %3 = math.exp %2 : f32
    linalg.yield %3 : f32
  } -> tensor<512x1024xf32>
  return %exp : tensor<512x1024xf32>
}

// -----

// One of three slices, read transposed: from the whole tensor, at a constant index. The dimension of size one is removed by a reshape.
#from = affine_map<(h, t, d) -> (t, h, d)>
#id = affine_map<(h, t, d) -> (h, t, d)>
// CHECK-DAG: #[[FROM:.*]] = affine_map<(d0, d1, d2) -> (d1, 2, d0, d2)>
// CHECK-LABEL: func.func @slice(
// CHECK-SAME: %[[X:.*]]: tensor<16x3x4x8xf32>
// CHECK-NOT: tensor.extract_slice
// CHECK: linalg.generic {indexing_maps = [#[[FROM]], #{{.*}}], {{.*}} ins(%[[X]] : tensor<16x3x4x8xf32>)
func.func @slice(%x: tensor<16x3x4x8xf32>) -> tensor<4x16x8xf32> {
  %s = tensor.extract_slice %x[0, 2, 0, 0] [16, 1, 4, 8] [1, 1, 1, 1] : tensor<16x3x4x8xf32> to tensor<16x1x4x8xf32>
  %c = tensor.collapse_shape %s [[0], [1, 2], [3]] : tensor<16x1x4x8xf32> into tensor<16x4x8xf32>
  %e = tensor.empty() : tensor<4x16x8xf32>
  %r = linalg.generic {indexing_maps = [#from, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c : tensor<16x4x8xf32>) outs(%e : tensor<4x16x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x16x8xf32>
  return %r : tensor<4x16x8xf32>
}

// -----

// A slice of more than one element of a dimension stays: it is a view, or a copy.
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @long_slice(
// CHECK: tensor.extract_slice
func.func @long_slice(%x: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %s = tensor.extract_slice %x[3, 0] [4, 8] [1, 1] : tensor<16x8xf32> to tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// The derivatives of two slices are padded by zeros, and added: one operation, which selects each where it belongs.
#id = affine_map<(i, j) -> (i, j)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-LABEL: func.func @pads(
// CHECK-SAME: %[[X:.*]]: tensor<1x8xf32>, %[[Y:.*]]: tensor<1x8xf32>
// CHECK-NOT: tensor.pad
// CHECK: linalg.generic {indexing_maps = [#[[ROW]], #[[ROW]], #{{.*}}], {{.*}} ins(%[[X]], %[[Y]] :
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-DAG: %[[OWN_A:.*]] = arith.select %{{.*}}, %[[A]], %{{.*}} : f32
// CHECK-DAG: %[[OWN_B:.*]] = arith.select %{{.*}}, %[[B]], %{{.*}} : f32
// CHECK: arith.addf %[[OWN_A]], %[[OWN_B]]
// CHECK-NOT: linalg.generic
func.func @pads(%x: tensor<1x8xf32>, %y: tensor<1x8xf32>) -> tensor<3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %a = tensor.pad %x low[0, 0] high[2, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x8xf32> to tensor<3x8xf32>
  %b = tensor.pad %y low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x8xf32> to tensor<3x8xf32>
  %e = tensor.empty() : tensor<3x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<3x8xf32>, tensor<3x8xf32>) outs(%e : tensor<3x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<3x8xf32>
  return %r : tensor<3x8xf32>
}

// -----

// An expensive producer is not repeated for the padding, whose value may be defined in the operation.
// CHECK-LABEL: func.func @expensive(
// CHECK: %[[ROW:.*]] = linalg.generic
// CHECK: math.tanh
// CHECK: linalg.generic {{.*}} ins(%[[ROW]] : tensor<1x8xf32>)
// CHECK-NOT: math.tanh
// CHECK: arith.select
#id = affine_map<(i, j) -> (i, j)>
func.func @expensive(%x: tensor<1x8xf32>) -> tensor<3x8xf32> {
  %e = tensor.empty() : tensor<1x8xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1x8xf32>) outs(%e : tensor<1x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.tanh %a : f32
    linalg.yield %0 : f32
  } -> tensor<1x8xf32>
  %p = tensor.pad %t low[0, 0] high[2, 0] {
  ^bb0(%i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    tensor.yield %zero : f32
  } : tensor<1x8xf32> to tensor<3x8xf32>
  return %p : tensor<3x8xf32>
}

// -----

// Slices that are copied: of a tensor that is changed behind it, a small part of a large one, and one of elements that are not side by side.
#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @copied(
// CHECK-COUNT-3: tensor.extract_slice
func.func @copied(%x: tensor<4x8xf32>, %v: tensor<1x8xf32>, %y: tensor<100x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<100xf32>) {
  %s = tensor.extract_slice %x[1, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<8xf32>
  %w = tensor.insert_slice %v into %x[1, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%s : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %last = tensor.extract_slice %y[99, 0] [1, 8] [1, 1] : tensor<100x8xf32> to tensor<8xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%last : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %column = tensor.extract_slice %y[0, 5] [100, 1] [1, 1] : tensor<100x8xf32> to tensor<100xf32>
  %f = tensor.empty() : tensor<100xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%column : tensor<100xf32>) outs(%f : tensor<100xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<100xf32>
  return %w, %r, %q, %c : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<100xf32>
}

// -----

// Rank-reduced slices of a slice.
#id = affine_map<(i) -> (i)>
// CHECK: #[[PLACE:.*]] = affine_map<(d0) -> (1, 2, d0)>
// CHECK-LABEL: func.func @slices(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x8xf32>
// CHECK: linalg.generic {indexing_maps = [#[[PLACE]], #{{.*}}]{{.*}} ins(%[[X]] : tensor<2x3x8xf32>)
func.func @slices(%x: tensor<2x3x8xf32>) -> tensor<8xf32> {
  %s = tensor.extract_slice %x[1, 0, 0] [1, 3, 8] [1, 1, 1] : tensor<2x3x8xf32> to tensor<3x8xf32>
  %t = tensor.extract_slice %s[2, 0] [1, 8] [1, 1] : tensor<3x8xf32> to tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%t : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// The result of a product that one user rounds differently stays.
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @mixed(
// CHECK: %[[PRODUCT:.*]] = linalg.matmul
// CHECK: linalg.generic {{.*}} ins(%[[PRODUCT]] : tensor<512x1024xf32>)
func.func @mixed(%x: tensor<512x16xf32>, %w: tensor<16x1024xf32>) -> (tensor<512x1024xf32>, tensor<1024x512xf16>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %m = linalg.matmul ins(%x, %w : tensor<512x16xf32>, tensor<16x1024xf32>) outs(%f : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<512x1024xf32>) outs(%e : tensor<512x1024xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.truncf %p : f32 to bf16
    %1 = arith.extf %0 : bf16 to f32
    linalg.yield %1 : f32
  } -> tensor<512x1024xf32>
  %g = tensor.empty() : tensor<1024x512xf16>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<512x1024xf32>) outs(%g : tensor<1024x512xf16>) {
  ^bb0(%p: f32, %o: f16):
    %0 = arith.truncf %p : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<1024x512xf16>
  return %a, %b : tensor<512x1024xf32>, tensor<1024x512xf16>
}

// -----

// An optimizer's update in one pass over memory: the moment, which is stored, and the parameter, which is computed of it. The scalar and the tensors
// that both read are one operand of the result.
// CHECK-LABEL: func.func @moment(
// CHECK-SAME: %[[M:.*]]: tensor<64xf32>, %[[P:.*]]: tensor<64xf32>, %[[G:.*]]: tensor<64xf32>, %[[LR:.*]]: tensor<f32>)
// CHECK: %[[NEW:.*]]:2 = linalg.generic
// CHECK-SAME: ins(%[[M]], %[[G]], %[[P]], %[[LR]] :
// CHECK: %[[MOMENT:.*]] = math.sqrt
// CHECK: %[[STEP:.*]] = arith.divf %{{.*}}, %[[MOMENT]]
// CHECK: linalg.yield %[[MOMENT]], %{{.*}} : f32, f32
// CHECK-NOT: linalg.generic
// CHECK: return %[[NEW]]#0, %[[NEW]]#1
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
func.func @moment(%m: tensor<64xf32>, %p: tensor<64xf32>, %g: tensor<64xf32>, %lr: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %moment = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%m, %g : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.mulf %b, %b : f32
    %2 = arith.addf %0, %1 : f32
    %3 = math.exp %2 : f32
    %4 = math.log %3 : f32
    %5 = math.exp %4 : f32
    %6 = math.sqrt %5 : f32
    linalg.yield %6 : f32
  } -> tensor<64xf32>
  %new = linalg.generic {indexing_maps = [#id, #id, #id, #none, #id], iterator_types = ["parallel"]} ins(%p, %moment, %g, %lr : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<f32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o: f32):
    %0 = arith.divf %c, %b : f32
    %1 = arith.mulf %d, %0 : f32
    %2 = arith.subf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64xf32>
  return %moment, %new : tensor<64xf32>, tensor<64xf32>
}

// -----

// Reading another element of it is no reason to fuse: another iteration computes it.
// CHECK-LABEL: func.func @reversed(
// CHECK-COUNT-2: linalg.generic
#id = affine_map<(i) -> (i)>
#back = affine_map<(i) -> (63 - i)>
func.func @reversed(%m: tensor<64xf32>, %g: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %moment = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%m, %g : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = math.exp %0 : f32
    %2 = math.log %1 : f32
    %3 = math.exp %2 : f32
    %4 = math.log %3 : f32
    %5 = math.sqrt %4 : f32
    linalg.yield %5 : f32
  } -> tensor<64xf32>
  %new = linalg.generic {indexing_maps = [#back, #id, #id], iterator_types = ["parallel"]} ins(%moment, %g : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%b: f32, %c: f32, %o: f32):
    %0 = arith.divf %c, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %moment, %new : tensor<64xf32>, tensor<64xf32>
}

// -----

// The derivative of a ReLU compares its result instead of its operand: then nothing but the ReLU needs the product, and is computed with it. A
// product reads the result in memory, so that the comparison does not repeat it, either.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @relu(
// CHECK: %[[P:.*]] = linalg.matmul
// CHECK-NEXT: %[[H:.*]] = linalg.generic {{.*}} ins(%[[P]], %{{.*}} : tensor<64x64xf32>, tensor<64xf32>)
// CHECK: arith.addf
// CHECK-NEXT: arith.maximumf
// CHECK: linalg.matmul ins(%[[H]], %{{.*}} :
// CHECK: linalg.generic {{.*}} ins(%[[H]], %{{.*}} : tensor<64x64xf32>, tensor<64x64xf32>)
// CHECK: arith.cmpf ogt
// CHECK-NEXT: arith.select
func.func @relu(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %bias: tensor<64xf32>, %g: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %e = tensor.empty() : tensor<64x64xf32>
  %none = tensor.empty() : tensor<64x64xi1>
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %bias : tensor<64x64xf32>, tensor<64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %z : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.maximumf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %z : tensor<64x64xf32>, tensor<64x64xf32>) outs(%none : tensor<64x64xi1>) {
  ^bb0(%i: f32, %j: f32, %o: i1):
    %0 = arith.cmpf ogt, %i, %j : f32
    linalg.yield %0 : i1
  } -> tensor<64x64xi1>
  %q = linalg.matmul ins(%h, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %g, %z : tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%c: i1, %i: f32, %j: f32, %o: f32):
    %0 = arith.select %c, %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  return %q, %d : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// Not for other predicates: where the operand is less than the bound, the result is equal to it. Nor if something else needs the operand.
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @no_relu(
// CHECK: %[[P:.*]] = linalg.matmul
// CHECK: %[[Q:.*]] = linalg.matmul
// CHECK: linalg.generic {{.*}} ins(%[[P]] : tensor<64x64xf32>)
// CHECK: ^bb0(%[[A:.*]]: f32, %{{.*}}: f32, %{{.*}}: i1):
// CHECK: arith.cmpf oge, %[[A]],
// CHECK: linalg.generic {{.*}} ins(%[[Q]] : tensor<64x64xf32>)
// CHECK: ^bb0(%[[B:.*]]: f32, %{{.*}}: f32, %{{.*}}: i1):
// CHECK: arith.cmpf ogt, %[[B]],
func.func @no_relu(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %u: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xi1>, tensor<64x64xf32>) {
  %e = tensor.empty() : tensor<64x64xf32>
  %none = tensor.empty() : tensor<64x64xi1>
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  %q = linalg.matmul ins(%x, %u : tensor<64x64xf32>, tensor<64x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %z : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.maximumf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %z : tensor<64x64xf32>, tensor<64x64xf32>) outs(%none : tensor<64x64xi1>) {
  ^bb0(%i: f32, %j: f32, %o: i1):
    %0 = arith.cmpf oge, %i, %j : f32
    linalg.yield %0 : i1
  } -> tensor<64x64xi1>
  %k = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%z, %q : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.maximumf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%q, %z : tensor<64x64xf32>, tensor<64x64xf32>) outs(%none : tensor<64x64xi1>) {
  ^bb0(%i: f32, %j: f32, %o: i1):
    %0 = arith.cmpf ogt, %i, %j : f32
    linalg.yield %0 : i1
  } -> tensor<64x64xi1>
  return %h, %m, %k, %n, %q : tensor<64x64xf32>, tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xi1>, tensor<64x64xf32>
}

// -----

// A ReLU that a product reads in another shape is stored, and not repeated.
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @reshaped_relu(
// CHECK: %[[P:.*]] = linalg.matmul
// CHECK-NEXT: %[[H:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<64x64xf32>)
// CHECK: tensor.collapse_shape %[[H]]
// CHECK: linalg.generic {{.*}} ins(%[[H]], %{{.*}} : tensor<64x64xf32>, tensor<64x64xf32>)
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: arith.mulf %[[A]], %[[B]]
func.func @reshaped_relu(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %u: tensor<4096xf32>) -> (tensor<f32>, tensor<64x64xf32>) {
  %e = tensor.empty() : tensor<64x64xf32>
  %s = tensor.empty() : tensor<f32>
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %p = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %z : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.maximumf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %c = tensor.collapse_shape %h [[0, 1]] : tensor<64x64xf32> into tensor<4096xf32>
  %d = linalg.dot ins(%c, %u : tensor<4096xf32>, tensor<4096xf32>) outs(%zs : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  return %d, %r : tensor<f32>, tensor<64x64xf32>
}
