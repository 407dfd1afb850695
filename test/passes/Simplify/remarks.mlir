// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(simplify-collectives))' --remark-format=emitRemark --remarks-filter=simplify -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

// Remarks on each collective that is removed, with the reason.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
collective.group @all
// CHECK: model.py:1:1: remark: [Passed] Removed {{.*}}all_reduce max of 4xf32 (16 B) is computed on the spot: its operands are equal on all ranks
// CHECK: model.py:3:1: remark: [Passed] Removed {{.*}}all_reduce sum of 4xf32 (16 B) repeats an earlier one (model.py:2)
// CHECK: model.py:4:1: remark: [Passed] Removed {{.*}}all_reduce min of 4xf32 (16 B) has a result that nobody uses
// CHECK: model.py:5:1: remark: [Passed] Removed {{.*}}barrier is implied by the collective before it (model.py:2)
func.func @step(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}, %y: tensor<4xf32> {device.binding = #device.binding<scalar "y">})
    -> (tensor<4xf32> {device.binding = #device.binding<result "a">}, tensor<4xf32> {device.binding = #device.binding<result "b">}, tensor<4xf32> {device.binding = #device.binding<result "c">}) {
  %h = collective.start all_reduce max @all (%y : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":1:1)
  %a = collective.wait %h (%y : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32> loc("model.py":1:1)
  %k = collective.start all_reduce min @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":4:1)
  %d = collective.wait %k (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32> loc("model.py":4:1)
  %i = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":2:1)
  %b = collective.wait %i (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32> loc("model.py":2:1)
  %j = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":3:1)
  %c = collective.wait %j (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32> loc("model.py":3:1)
  collective.barrier @all loc("model.py":5:1)
  return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
