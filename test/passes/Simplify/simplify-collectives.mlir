// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(simplify-collectives))' --split-input-file | FileCheck %s

// A sum of equal values is computed with the collective's reduction tree: (((x + x) + (x + x)) + x) for five ranks, another one for three.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 5}
collective.group @all
collective.group @three {ranks = array<i64: 0, 1, 3>}
// CHECK-LABEL: func.func @uniform_sum(
// CHECK-NOT: collective.start
// CHECK: %[[TWO:.*]] = arith.addf %[[X:.*]], %[[X]] : f32
// CHECK-NEXT: %[[FOUR:.*]] = arith.addf %[[TWO]], %[[TWO]] : f32
// CHECK-NEXT: %[[FIVE:.*]] = arith.addf %[[FOUR]], %[[X]] : f32
// CHECK-NEXT: linalg.yield %[[FIVE]]
// CHECK: %[[PAIR:.*]] = arith.addf %[[Y:.*]], %[[Y]] : f32
// CHECK-NEXT: %[[THREE:.*]] = arith.addf %[[PAIR]], %[[Y]] : f32
// CHECK-NEXT: linalg.yield %[[THREE]]
func.func @uniform_sum(%x: tensor<4xf32> {device.binding = #device.binding<scalar "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<result "a">}, tensor<4xf32> {device.binding = #device.binding<result "b">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %a = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %i = collective.start all_reduce sum @three (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %b = collective.wait %i (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// Floats of 16 bits are added in f32 and rounded once, or not at all if the result of the collective is not rounded.
// CHECK-LABEL: func.func @uniform_sum_of_bf16(
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK-COUNT-3: arith.addf %{{.*}} : f32
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK-COUNT-3: arith.addf %{{.*}} : f32
// CHECK-NEXT: linalg.yield
func.func @uniform_sum_of_bf16(%x: tensor<4xbf16> {device.binding = #device.binding<scalar "x">})
    -> (tensor<4xbf16> {device.binding = #device.binding<result "a">}, tensor<4xf32> {device.binding = #device.binding<result "b">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xbf16>) -> !collective.pending<tensor<4xbf16>>
  %a = collective.wait %h (%x : tensor<4xbf16>) : !collective.pending<tensor<4xbf16>> -> tensor<4xbf16>
  %i = collective.start all_reduce sum @all (%x : tensor<4xbf16>) -> !collective.pending<tensor<4xf32>>
  %b = collective.wait %i (%x : tensor<4xbf16>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %a, %b : tensor<4xbf16>, tensor<4xf32>
}

// The minimum, the maximum and the broadcast of equal values are that value; the result of each collective is uniform for the next one.
// CHECK-LABEL: func.func @uniform_extremes(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xi32>
// CHECK-NEXT: return %[[X]], %[[X]]
func.func @uniform_extremes(%x: tensor<4xi32> {device.binding = #device.binding<scalar "x">})
    -> (tensor<4xi32> {device.binding = #device.binding<result "a">}, tensor<4xi32> {device.binding = #device.binding<result "b">}) {
  %h = collective.start all_reduce min @all (%x : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %a = collective.wait %h (%x : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %i = collective.start all_reduce max @all (%a : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %b = collective.wait %i (%a : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %j = collective.start broadcast none @all (%b : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %c = collective.wait %j (%b : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  return %a, %c : tensor<4xi32>, tensor<4xi32>
}

// The result of a reduction is uniform: reducing it again needs no exchange.
// CHECK-LABEL: func.func @twice(
// CHECK-COUNT-1: collective.start
// CHECK-NOT: collective.start
// CHECK: arith.addf
func.func @twice(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<4xf32> {device.binding = #device.binding<result "a">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %a = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %i = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %b = collective.wait %i (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// The result of a collective over some of the ranks is not equal on all ranks, so it is reduced again. An all_gather of equal values stays.
// CHECK-LABEL: func.func @not_uniform(
// CHECK-COUNT-3: collective.start
func.func @not_uniform(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}, %y: tensor<4xf32> {device.binding = #device.binding<scalar "y">})
    -> (tensor<4xf32> {device.binding = #device.binding<result "a">}, tensor<20xf32> {device.binding = #device.binding<result "b">}) {
  %h = collective.start all_reduce sum @three (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %a = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %i = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %b = collective.wait %i (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %j = collective.start all_gather none @all axis 0 (%y : tensor<4xf32>) -> !collective.pending<tensor<20xf32>>
  %c = collective.wait %j (%y : tensor<4xf32>) : !collective.pending<tensor<20xf32>> -> tensor<20xf32>
  return %b, %c : tensor<4xf32>, tensor<20xf32>
}

// -----

// Two collectives with the same operands have the same results, whatever the order of their waits.
collective.group @all
// CHECK-LABEL: func.func @duplicates(
// CHECK: collective.start all_reduce sum
// CHECK-NEXT: %[[R:.*]] = collective.wait
// CHECK-NOT: collective
// CHECK: return %[[R]], %[[R]]
func.func @duplicates(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<result "a">}, tensor<4xf32> {device.binding = #device.binding<result "b">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %i = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %b = collective.wait %i (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %a = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// Collectives with another reduction, another bound on buckets, or in another block are not duplicates.
// CHECK-LABEL: func.func @no_duplicates(
// CHECK-COUNT-4: collective.start
func.func @no_duplicates(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}, %s: tensor<i1> {device.binding = #device.binding<scalar "s">})
    -> (tensor<4xf32> {device.binding = #device.binding<result "a">}, tensor<4xf32> {device.binding = #device.binding<result "b">},
        tensor<4xf32> {device.binding = #device.binding<result "c">}, tensor<4xf32> {device.binding = #device.binding<result "d">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %a = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %i = collective.start all_reduce max @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %b = collective.wait %i (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %j = collective.start all_reduce sum @all (%x : tensor<4xf32>) {bytes_per_pack = 64 : i64} -> !collective.pending<tensor<4xf32>>
  %c = collective.wait %j (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %condition = tensor.extract %s[] : tensor<i1>
  %d = scf.if %condition -> tensor<4xf32> {
    %k = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %e = collective.wait %k (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A collective without uses is erased, with the operations that only it needs. One used result of several keeps all.
collective.group @all
// CHECK-LABEL: func.func @dead(
// CHECK-NOT: linalg.exp
// CHECK-COUNT-1: collective.start all_reduce sum @all(%{{.*}}, %{{.*}} :
// CHECK-NOT: collective.start
func.func @dead(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<4xf32> {device.binding = #device.binding<result "a">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %a = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %e = linalg.exp ins(%a : tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %i = collective.start all_reduce max @all (%e : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %b = collective.wait %i (%e : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %j = collective.start all_reduce sum @all (%x, %x : tensor<4xf32>, tensor<4xf32>) -> !collective.pending<tensor<4xf32>, tensor<4xf32>>
  %c:2 = collective.wait %j (%x, %x : tensor<4xf32>, tensor<4xf32>) : !collective.pending<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>
  return %c#1 : tensor<4xf32>
}

// -----

// Ranks leave a barrier, an all_reduce and an all_gather when all have arrived: of several in a row, one is enough.
collective.group @all
collective.group @some {ranks = array<i64: 0, 1>}
// CHECK-LABEL: func.func @barriers(
// CHECK-NOT: collective.barrier
// CHECK: collective.start all_reduce
// CHECK-NEXT: collective.wait
// CHECK-NOT: collective.barrier
// CHECK: return
func.func @barriers(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<4xf32> {device.binding = #device.binding<result "a">}) {
  collective.barrier @all
  collective.barrier @all
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %a = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %e = linalg.exp ins(%a : tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  collective.barrier @all
  return %e : tensor<4xf32>
}

// A barrier of other ranks stays, one beside a broadcast, which rank 0 may leave early, and one between a start and its wait.
// CHECK-LABEL: func.func @needed_barriers(
// CHECK-COUNT-3: collective.barrier
func.func @needed_barriers(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<result "a">}, tensor<4xf32> {device.binding = #device.binding<result "b">}) {
  collective.barrier @some
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  collective.barrier @all
  %a = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %i = collective.start broadcast none @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %b = collective.wait %i (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  collective.barrier @all
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
