// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(simplify-collectives))' | FileCheck %s --check-prefixes=CHECK,EXACT
// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(simplify-collectives{reassociate}))' | FileCheck %s --check-prefixes=CHECK,REASSOCIATE

collective.group @all
#id = affine_map<(i) -> (i)>

// Sums of integers wrap in any order, so integers are added before the exchange.
// CHECK-LABEL: func.func @integers(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xi32> {{.*}}, %[[Y:[a-z0-9]*]]: tensor<4xi32>
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[Y]] :
// CHECK: arith.addi
// CHECK: %[[H:.*]] = collective.start all_reduce sum @all(%[[SUM]] : tensor<4xi32>)
// CHECK-NEXT: %[[R:.*]] = collective.wait %[[H]](%[[SUM]]
// CHECK-NEXT: return %[[R]]
func.func @integers(%x: tensor<4xi32> {device.binding = #device.binding<batch "x">}, %y: tensor<4xi32> {device.binding = #device.binding<batch "y">})
    -> (tensor<4xi32> {device.binding = #device.binding<result "a">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %a = collective.wait %h (%x : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %i = collective.start all_reduce sum @all (%y : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %b = collective.wait %i (%y : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %empty = tensor.empty() : tensor<4xi32>
  %s = linalg.add ins(%a, %b : tensor<4xi32>, tensor<4xi32>) outs(%empty : tensor<4xi32>) -> tensor<4xi32>
  return %s : tensor<4xi32>
}

// Floats would be rounded differently, so they are added before the exchange only on request.
// CHECK-LABEL: func.func @floats(
// EXACT-COUNT-2: collective.start
// REASSOCIATE-COUNT-1: collective.start
// REASSOCIATE-NOT: collective.start
// CHECK: return
func.func @floats(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}, %y: tensor<4xf32> {device.binding = #device.binding<batch "y">})
    -> (tensor<4xf32> {device.binding = #device.binding<result "a">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %a = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %i = collective.start all_reduce sum @all (%y : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %b = collective.wait %i (%y : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%b, %a : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %0 = arith.addf %v, %u : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// Not if a summand has another use, if the operation on the results is not an addition, or if the collectives are not sums.
// CHECK-LABEL: func.func @kept(
// CHECK-COUNT-6: collective.start
func.func @kept(%x: tensor<4xi32> {device.binding = #device.binding<batch "x">}, %y: tensor<4xi32> {device.binding = #device.binding<batch "y">},
    %z: tensor<4xi32> {device.binding = #device.binding<batch "z">})
    -> (tensor<4xi32> {device.binding = #device.binding<result "a">}, tensor<4xi32> {device.binding = #device.binding<result "b">},
        tensor<4xi32> {device.binding = #device.binding<result "c">}, tensor<4xi32> {device.binding = #device.binding<result "d">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %a = collective.wait %h (%x : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %i = collective.start all_reduce sum @all (%y : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %b = collective.wait %i (%y : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %empty = tensor.empty() : tensor<4xi32>
  %s = linalg.add ins(%a, %b : tensor<4xi32>, tensor<4xi32>) outs(%empty : tensor<4xi32>) -> tensor<4xi32>
  %j = collective.start all_reduce sum @all (%z : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %c = collective.wait %j (%z : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %k = collective.start all_reduce sum @all (%s : tensor<4xi32>) {bytes_per_pack = 4 : i64} -> !collective.pending<tensor<4xi32>>
  %d = collective.wait %k (%s : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %m = collective.start all_reduce max @all (%x : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %e = collective.wait %m (%x : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %n = collective.start all_reduce max @all (%y : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %f = collective.wait %n (%y : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %g = linalg.sub ins(%c, %d : tensor<4xi32>, tensor<4xi32>) outs(%empty : tensor<4xi32>) -> tensor<4xi32>
  %o = linalg.add ins(%e, %f : tensor<4xi32>, tensor<4xi32>) outs(%empty : tensor<4xi32>) -> tensor<4xi32>
  return %a, %g, %o, %s : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}
