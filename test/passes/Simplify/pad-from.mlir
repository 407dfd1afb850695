// RUN: lockstep-opt %s --pass-pipeline="builtin.module(shard-variables{pad-from=37})" --remark-format=emitRemark --remarks-filter=simplify 2>&1 | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(shard-variables{pad-from=36})" | FileCheck %s --check-prefix=ALL

// Two replicas do not divide nine elements, 36 bytes.
// CHECK-DAG: remark: [Missed] NotDivided | Category:simplify | Function=odd | Remark="variable 'odd' (9xi32) is not divided among the replicas: 2 replicas do not divide its elements, and its parts are padded only from 37 B on"
// CHECK-DAG: remark: [Passed] Divided | Category:simplify | Function=even |
// CHECK: replica.variable @even : tensor<4xi32>
// CHECK: replica.variable @odd : tensor<9xi32> {initial
// ALL: replica.variable @even : tensor<4xi32>
// ALL: replica.variable @odd : tensor<5xi32>
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @even : tensor<8xi32> {initial = dense<1> : tensor<8xi32>}
replica.variable @odd : tensor<9xi32> {initial = dense<1> : tensor<9xi32>}
collective.group @all
func.func @step(%v: tensor<8xi32> {device.binding = #device.binding<variable "even">}, %w: tensor<9xi32> {device.binding = #device.binding<variable "odd">},
    %x: tensor<8xi32> {device.binding = #device.binding<batch "x">}, %y: tensor<9xi32> {device.binding = #device.binding<batch "y">})
    -> (tensor<8xi32> {device.binding = #device.binding<variable "even">}, tensor<9xi32> {device.binding = #device.binding<variable "odd">}) {
  %hx = collective.start all_reduce sum @all (%x : tensor<8xi32>) -> <tensor<8xi32>>
  %sx = collective.wait %hx (%x : tensor<8xi32>) : <tensor<8xi32>> -> tensor<8xi32>
  %hy = collective.start all_reduce sum @all (%y : tensor<9xi32>) -> <tensor<9xi32>>
  %sy = collective.wait %hy (%y : tensor<9xi32>) : <tensor<9xi32>> -> tensor<9xi32>
  %a = arith.addi %v, %sx : tensor<8xi32>
  %b = arith.addi %w, %sy : tensor<9xi32>
  return %a, %b : tensor<8xi32>, tensor<9xi32>
}
