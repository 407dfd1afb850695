// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(speculate-branches),shard-variables)" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(speculate-branches),shard-variables{reassociate})" --split-input-file | FileCheck %s --check-prefix=NORM

// SGD with momentum. The parameter is read in the step and gathered at its beginning; the velocity, which only the update reads, is not. The
// scalar is used as it is, and the sums are divided where they are summed.
// CHECK: replica.variable @w : tensor<4xf32> {whole_shape = array<i64: 4, 2>}
// CHECK: replica.variable @v : tensor<4xf32> {initial = dense<0.000000e+00> : tensor<4xf32>, whole_shape = array<i64: 4, 2>}
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[^:]*]]: tensor<4xf32> {device.binding = #device.binding<variable "w">}
// CHECK-SAME: %[[V:[^:]*]]: tensor<4xf32> {device.binding = #device.binding<variable "v">}
// CHECK-SAME: -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<variable "v">})
// CHECK: collective.start all_gather none @all axis 0(%[[W]] : tensor<4xf32>)
// CHECK: %[[FLAT:.*]] = collective.wait
// CHECK: %[[WHOLE:.*]] = tensor.expand_shape %[[FLAT]] {{.*}} : tensor<8xf32> into tensor<4x2xf32>
// CHECK-NOT: all_gather
// CHECK: %[[G:.*]] = arith.mulf %[[WHOLE]], %{{.*}} : tensor<4x2xf32>
// CHECK: %[[GFLAT:.*]] = tensor.collapse_shape %[[G]]
// CHECK: collective.start reduce_scatter sum @all axis 0(%[[GFLAT]] : tensor<8xf32>) {bytes_per_pack = 64 : i64}
// CHECK: %[[S:.*]] = collective.wait %{{.*}} : <tensor<4xf32>> -> tensor<4xf32>
// CHECK-NOT: all_reduce
// CHECK: %[[NINE:.*]] = arith.constant dense<0.899999976> : tensor<4xf32>
// CHECK: %[[OLD:.*]] = arith.mulf %[[V]], %[[NINE]] : tensor<4xf32>
// CHECK: %[[NEWV:.*]] = arith.addf %[[OLD]], %[[S]] : tensor<4xf32>
// CHECK: %[[NEWW:.*]] = linalg.generic
// CHECK-SAME: ins(%[[W]], %[[NEWV]], %{{.*}} : tensor<4xf32>, tensor<4xf32>, tensor<f32>)
// CHECK: return %[[NEWW]], %[[NEWV]]
// CHECK-LABEL: func.func @evaluate(
// CHECK: collective.start all_gather none @all axis 0(%{{.*}} : tensor<4xf32>)
#all = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>
module {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @w : tensor<4x2xf32>
replica.variable @v : tensor<4x2xf32> {initial = dense<0.0> : tensor<4x2xf32>}
collective.group @all
func.func @step(%w: tensor<4x2xf32> {device.binding = #device.binding<variable "w">}, %v: tensor<4x2xf32> {device.binding = #device.binding<variable "v">},
    %x: tensor<4x2xf32> {device.binding = #device.binding<batch "x">}, %lr: tensor<f32> {device.binding = #device.binding<scalar "lr">})
    -> (tensor<4x2xf32> {device.binding = #device.binding<variable "w">}, tensor<4x2xf32> {device.binding = #device.binding<variable "v">}) {
  %g = arith.mulf %w, %x : tensor<4x2xf32>
  %h = collective.start all_reduce sum @all (%g : tensor<4x2xf32>) {bytes_per_pack = 64 : i64} -> <tensor<4x2xf32>>
  %s = collective.wait %h (%g : tensor<4x2xf32>) : <tensor<4x2xf32>> -> tensor<4x2xf32>
  %nine = arith.constant dense<0.9> : tensor<4x2xf32>
  %old = arith.mulf %v, %nine : tensor<4x2xf32>
  %nv = arith.addf %old, %s : tensor<4x2xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %nw = linalg.generic {indexing_maps = [#all, #all, #scalar, #all], iterator_types = ["parallel", "parallel"]}
      ins(%w, %nv, %lr : tensor<4x2xf32>, tensor<4x2xf32>, tensor<f32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %d = arith.mulf %b, %c : f32
    %n = arith.subf %a, %d : f32
    linalg.yield %n : f32
  } -> tensor<4x2xf32>
  return %nw, %nv : tensor<4x2xf32>, tensor<4x2xf32>
}
func.func @evaluate(%w: tensor<4x2xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4x2xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4x2xf32> {device.binding = #device.binding<result "y">}) {
  %y = arith.mulf %w, %x : tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}
}

// -----

// A uniform value that is no variable is computed as a whole; each replica takes its part of it, by its rank.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[^:]*]]: tensor<4xi32> {device.binding = #device.binding<variable "w">}
// CHECK-SAME: %[[RANK:[^:]*]]: tensor<i32> {device.binding = #device.binding<rank "">}
// CHECK: %[[R:.*]] = tensor.extract %[[RANK]][]
// CHECK: %[[I:.*]] = arith.index_cast %[[R]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[I]], %c4
// CHECK: %[[MFLAT:.*]] = tensor.collapse_shape %{{.*}} : tensor<2x4xi32> into tensor<8xi32>
// CHECK: %[[M:.*]] = tensor.extract_slice %[[MFLAT]][%[[FIRST]]] [4] [1]
// CHECK: reduce_scatter sum @all
// CHECK: %[[S:.*]] = collective.wait
// CHECK: %[[MASKED:.*]] = arith.muli %[[S]], %[[M]] : tensor<4xi32>
// CHECK: %[[NEW:.*]] = arith.addi %[[W]], %[[MASKED]] : tensor<4xi32>
// CHECK: return %[[NEW]]
module {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @w : tensor<2x4xi32>
collective.group @all
func.func @step(%w: tensor<2x4xi32> {device.binding = #device.binding<variable "w">}, %mask: tensor<2x4xi32> {device.binding = #device.binding<scalar "mask">},
    %x: tensor<2x4xi32> {device.binding = #device.binding<batch "x">}) -> (tensor<2x4xi32> {device.binding = #device.binding<variable "w">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<2x4xi32>) -> <tensor<2x4xi32>>
  %s = collective.wait %h (%x : tensor<2x4xi32>) : <tensor<2x4xi32>> -> tensor<2x4xi32>
  %masked = arith.muli %s, %mask : tensor<2x4xi32>
  %n = arith.addi %w, %masked : tensor<2x4xi32>
  return %n : tensor<2x4xi32>
}
}

// -----

// Not divided: the sum is an output as well (@a); it has one element for two replicas (@b); the elements of the initial value differ
// (@c); nothing is summed (@d); the new value is computed from other positions (@e).
// CHECK-NOT: whole_shape
// CHECK-NOT: reduce_scatter
// CHECK-NOT: all_gather
module {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @a : tensor<4xi32>
replica.variable @b : tensor<1xi32>
replica.variable @c : tensor<2xi32> {initial = dense<[1, 2]> : tensor<2xi32>}
replica.variable @d : tensor<4xi32>
replica.variable @e : tensor<2x2xi32>
collective.group @all
func.func @step(%a: tensor<4xi32> {device.binding = #device.binding<variable "a">}, %b: tensor<1xi32> {device.binding = #device.binding<variable "b">},
    %c: tensor<2xi32> {device.binding = #device.binding<variable "c">}, %d: tensor<4xi32> {device.binding = #device.binding<variable "d">},
    %e: tensor<2x2xi32> {device.binding = #device.binding<variable "e">})
    -> (tensor<4xi32> {device.binding = #device.binding<variable "a">}, tensor<1xi32> {device.binding = #device.binding<variable "b">},
      tensor<2xi32> {device.binding = #device.binding<variable "c">}, tensor<4xi32> {device.binding = #device.binding<variable "d">},
      tensor<2x2xi32> {device.binding = #device.binding<variable "e">}, tensor<4xi32> {device.binding = #device.binding<result "sum">}) {
  %ha = collective.start all_reduce sum @all (%a : tensor<4xi32>) -> <tensor<4xi32>>
  %sa = collective.wait %ha (%a : tensor<4xi32>) : <tensor<4xi32>> -> tensor<4xi32>
  %na = arith.addi %a, %sa : tensor<4xi32>
  %hb = collective.start all_reduce sum @all (%b : tensor<1xi32>) -> <tensor<1xi32>>
  %sb = collective.wait %hb (%b : tensor<1xi32>) : <tensor<1xi32>> -> tensor<1xi32>
  %nb = arith.addi %b, %sb : tensor<1xi32>
  %hc = collective.start all_reduce sum @all (%c : tensor<2xi32>) -> <tensor<2xi32>>
  %sc = collective.wait %hc (%c : tensor<2xi32>) : <tensor<2xi32>> -> tensor<2xi32>
  %nc = arith.addi %c, %sc : tensor<2xi32>
  %nd = arith.addi %d, %d : tensor<4xi32>
  %he = collective.start all_reduce sum @all (%e : tensor<2x2xi32>) -> <tensor<2x2xi32>>
  %se = collective.wait %he (%e : tensor<2x2xi32>) : <tensor<2x2xi32>> -> tensor<2x2xi32>
  %empty = tensor.empty() : tensor<2x2xi32>
  %ne = linalg.transpose ins(%se : tensor<2x2xi32>) outs(%empty : tensor<2x2xi32>) permutation = [1, 0]
  return %na, %nb, %nc, %nd, %ne, %sa : tensor<4xi32>, tensor<1xi32>, tensor<2xi32>, tensor<4xi32>, tensor<2x2xi32>, tensor<4xi32>
}
}

// -----

// Clipping by the norm of the sum, if it is finite. The replicas add the squares of their parts, and then these sums; both sides of the branch
// are computed.
// CHECK-LABEL: func.func @clip(
// CHECK-SAME: tensor<4xf32> {device.binding = #device.binding<variable "w">}
// CHECK: all_reduce
// NORM-LABEL: func.func @clip(
// NORM-SAME: %[[W:[^:]*]]: tensor<2xf32> {device.binding = #device.binding<variable "w">}
// NORM: reduce_scatter sum @all
// NORM: %[[S:.*]] = collective.wait %{{.*}} : <tensor<2xf32>> -> tensor<2xf32>
// NORM: %[[SQUARES:.*]] = arith.mulf %[[S]], %[[S]] : tensor<2xf32>
// NORM: %[[PART:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[SQUARES]] : tensor<2xf32>)
// NORM: collective.start all_reduce sum @all(%[[PART]] : tensor<f32>)
// NORM: %[[NORM:.*]] = collective.wait
// NORM: %[[N:.*]] = tensor.extract %[[NORM]][]
// NORM: %[[FINITE:.*]] = arith.cmpf one, %[[N]]
// NORM: %[[CLIPPED:.*]] = linalg.generic {{.*}} ins(%[[S]], %[[NORM]] : tensor<2xf32>, tensor<f32>)
// NORM: %[[NEXT:.*]] = arith.subf %[[W]], %[[CLIPPED]] : tensor<2xf32>
// NORM: %[[NEW:.*]] = arith.select %[[FINITE]], %[[NEXT]], %[[W]] : tensor<2xf32>
// NORM: return %[[NEW]], %[[NORM]]
#id = affine_map<(d0) -> (d0)>
#zero = affine_map<(d0) -> ()>
module {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @w : tensor<4xf32>
collective.group @all
func.func @clip(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<f32> {device.binding = #device.binding<metric "norm">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> <tensor<4xf32>>
  %s = collective.wait %h (%x : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  %squares = arith.mulf %s, %s : tensor<4xf32>
  %c0 = arith.constant dense<0.0> : tensor<f32>
  %norm = linalg.generic {indexing_maps = [#id, #zero], iterator_types = ["reduction"]} ins(%squares : tensor<4xf32>) outs(%c0 : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %b, %a : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  %n = tensor.extract %norm[] : tensor<f32>
  %inf = arith.constant 0x7F800000 : f32
  %finite = arith.cmpf one, %n, %inf : f32
  %r = scf.if %finite -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %clipped = linalg.generic {indexing_maps = [#id, #zero, #id], iterator_types = ["parallel"]} ins(%s, %norm : tensor<4xf32>, tensor<f32>)
        outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %q = arith.divf %a, %b : f32
      linalg.yield %q : f32
    } -> tensor<4xf32>
    %next = arith.subf %w, %clipped : tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  } else {
    scf.yield %w : tensor<4xf32>
  }
  return %r, %norm : tensor<4xf32>, tensor<f32>
}
}

// -----

// Two replicas do not divide nine elements: the second part ends with padding. Values are padded with zeros, gathered variables lose the
// padding, and a sum of all elements leaves it out.
// CHECK: replica.variable @w : tensor<5xi32> {initial = dense<1> : tensor<5xi32>, whole_shape = array<i64: 3, 3>}
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[^:]*]]: tensor<5xi32> {device.binding = #device.binding<variable "w">}
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c5
// CHECK: %[[MASK:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0] [9] [1] : tensor<9xi32> into tensor<10xi32>
// CHECK: %[[M:.*]] = tensor.extract_slice %[[MASK]][%[[FIRST]]] [5] [1] : tensor<10xi32> to tensor<5xi32>
// CHECK: collective.start all_gather none @all axis 0(%[[W]] : tensor<5xi32>) -> <tensor<10xi32>>
// CHECK: %[[ALL:.*]] = collective.wait
// CHECK: %[[FLAT:.*]] = tensor.extract_slice %[[ALL]][0] [9] [1] : tensor<10xi32> to tensor<9xi32>
// CHECK: tensor.expand_shape %[[FLAT]]
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0> : tensor<10xi32>
// CHECK: %[[PADDED:.*]] = tensor.insert_slice %{{.*}} into %[[ZEROS]][0] [9] [1] : tensor<9xi32> into tensor<10xi32>
// CHECK: collective.start reduce_scatter sum @all axis 0(%[[PADDED]] : tensor<10xi32>) -> <tensor<5xi32>>
// CHECK: %[[S:.*]] = collective.wait
// CHECK: %[[MASKED:.*]] = arith.muli %[[S]], %[[M]] : tensor<5xi32>
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[MASKED]] : tensor<5xi32>)
// CHECK: ^bb0(%[[IN:.*]]: i32, %[[OUT:.*]]: i32):
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[AT:.*]] = arith.addi %[[FIRST]], %[[I]]
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[AT]], %c9
// CHECK: %[[COUNTED:.*]] = arith.select %[[EXISTS]], %[[IN]], %c0
// CHECK: arith.addi %[[COUNTED]], %[[OUT]]
// CHECK: collective.start all_reduce sum @all
#all = affine_map<(d0, d1) -> (d0, d1)>
module {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @w : tensor<3x3xi32> {initial = dense<1> : tensor<3x3xi32>}
collective.group @all
func.func @step(%w: tensor<3x3xi32> {device.binding = #device.binding<variable "w">}, %x: tensor<3x3xi32> {device.binding = #device.binding<batch "x">},
    %mask: tensor<3x3xi32> {device.binding = #device.binding<scalar "mask">})
    -> (tensor<3x3xi32> {device.binding = #device.binding<variable "w">}) {
  %g = arith.muli %w, %x : tensor<3x3xi32>
  %h = collective.start all_reduce sum @all (%g : tensor<3x3xi32>) -> <tensor<3x3xi32>>
  %s = collective.wait %h (%g : tensor<3x3xi32>) : <tensor<3x3xi32>> -> tensor<3x3xi32>
  %masked = arith.muli %s, %mask : tensor<3x3xi32>
  %zero = arith.constant dense<0> : tensor<i32>
  %norm = linalg.generic {indexing_maps = [#all, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%masked : tensor<3x3xi32>) outs(%zero : tensor<i32>) {
  ^bb0(%in: i32, %out: i32):
    %add = arith.addi %in, %out : i32
    linalg.yield %add : i32
  } -> tensor<i32>
  %e = tensor.empty() : tensor<3x3xi32>
  %n = linalg.generic {indexing_maps = [#all, affine_map<(d0, d1) -> ()>, #all], iterator_types = ["parallel", "parallel"]}
      ins(%masked, %norm : tensor<3x3xi32>, tensor<i32>) outs(%e : tensor<3x3xi32>) {
  ^bb0(%in: i32, %c: i32, %out: i32):
    %add = arith.muli %in, %c : i32
    linalg.yield %add : i32
  } -> tensor<3x3xi32>
  return %n : tensor<3x3xi32>
}
}

// -----

// Only gathers of the pieces of one variable, in the order of rows, are joined: not those of the user, nor of other variables.
// CHECK-LABEL: func.func @step(
// CHECK: %[[H:.*]] = collective.start all_gather none @all axis 0(%{{.*}}, %{{.*}} : tensor<16xf32>, tensor<16xf32>) -> <tensor<32xf32>, tensor<32xf32>>
// CHECK: %[[V:.*]]:2 = collective.wait %[[H]]
// CHECK: collective.start all_gather none @all axis 0(%{{.*}} : tensor<16xf32>)
// CHECK: %[[W:.*]] = collective.wait
// CHECK: tensor.concat dim(0) %[[V]]#0, %[[V]]#1 : (tensor<32xf32>, tensor<32xf32>) -> tensor<64xf32>
// CHECK: %[[SWAPPED:.*]] = tensor.concat dim(0) %[[V]]#1, %[[V]]#0
// CHECK: %[[TWICE:.*]] = tensor.concat dim(0) %[[W]], %[[W]]
// CHECK: collective.start all_gather none @pairs axis 0(
// CHECK: %[[A:.*]] = collective.wait
// CHECK: collective.start all_gather none @pairs axis 0(
// CHECK: %[[B:.*]] = collective.wait
// CHECK: tensor.concat dim(0) %[[A]], %[[B]]
collective.group @pairs {ranks = array<i64: 0, 1>}
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @v.piece0 : tensor<32xf32> {device.shard = #device.shard<"v" row 0 of 64>}
replica.variable @v.piece1 : tensor<32xf32> {device.shard = #device.shard<"v" row 32 of 64>}
replica.variable @w : tensor<32xf32>
collective.group @all
func.func @step(%v0: tensor<32xf32> {device.binding = #device.binding<variable "v.piece0">}, %v1: tensor<32xf32> {device.binding = #device.binding<variable "v.piece1">},
    %w: tensor<32xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<32xf32> {device.binding = #device.binding<batch "x">},
    %y: tensor<4xf32> {device.binding = #device.binding<batch "y">})
    -> (tensor<32xf32> {device.binding = #device.binding<variable "v.piece0">}, tensor<32xf32> {device.binding = #device.binding<variable "v.piece1">},
        tensor<32xf32> {device.binding = #device.binding<variable "w">}, tensor<64xf32> {device.binding = #device.binding<result "v">},
        tensor<64xf32> {device.binding = #device.binding<result "swapped">}, tensor<64xf32> {device.binding = #device.binding<result "twice">},
        tensor<16xf32> {device.binding = #device.binding<result "own">}) {
  %v = tensor.concat dim(0) %v0, %v1 : (tensor<32xf32>, tensor<32xf32>) -> tensor<64xf32>
  %swapped = tensor.concat dim(0) %v1, %v0 : (tensor<32xf32>, tensor<32xf32>) -> tensor<64xf32>
  %twice = tensor.concat dim(0) %w, %w : (tensor<32xf32>, tensor<32xf32>) -> tensor<64xf32>
  %ha = collective.start all_gather none @pairs axis 0 (%y : tensor<4xf32>) -> <tensor<8xf32>>
  %a = collective.wait %ha (%y : tensor<4xf32>) : <tensor<8xf32>> -> tensor<8xf32>
  %hb = collective.start all_gather none @pairs axis 0 (%y : tensor<4xf32>) -> <tensor<8xf32>>
  %b = collective.wait %hb (%y : tensor<4xf32>) : <tensor<8xf32>> -> tensor<8xf32>
  %own = tensor.concat dim(0) %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %h = collective.start all_reduce sum @all (%x : tensor<32xf32>) -> <tensor<32xf32>>
  %s = collective.wait %h (%x : tensor<32xf32>) : <tensor<32xf32>> -> tensor<32xf32>
  %n0 = arith.addf %v0, %s : tensor<32xf32>
  %n1 = arith.addf %v1, %s : tensor<32xf32>
  %nw = arith.addf %w, %s : tensor<32xf32>
  return %n0, %n1, %nw, %v, %swapped, %twice, %own
      : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<16xf32>
}
