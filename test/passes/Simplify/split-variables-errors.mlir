// RUN: lockstep-opt %s --pass-pipeline="builtin.module(split-variables{variable=w required})" --split-input-file -verify-diagnostics
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(split-variables{variable=w})" --split-input-file --remark-format=emitRemark --remarks-filter=simplify 2>&1 | FileCheck %s

// Without `required`, nothing changes, and a remark says why.
// CHECK: remark: [Missed] NotSplit | Category:simplify | Function=w | Remark="variable 'w' is not split: it has 7 rows"
// CHECK: replica.variable @w : tensor<7x16xf32>
// CHECK: remark: [Missed] NotSplit | Category:simplify | Function=w | Remark="variable 'w' is not split: it has 0 rows"
// CHECK: remark: [Missed] NotSplit | Category:simplify | Function=w | Remark="variable 'w' is not split: it would have pieces of 32 bytes, no multiple of 64"
// CHECK: remark: [Missed] NotSplit | Category:simplify | Function=w | Remark="variable 'w' is not split: 'v', which is updated with it, has another shape"
// CHECK: remark: [Missed] NotSplit | Category:simplify | Function=w | Remark="variable 'w' is not split: it has an initial value whose elements differ"
// CHECK: remark: [Missed] NotSplit | Category:simplify | Function=w | Remark="variable 'w' is not split: it differs between the replicas"
// CHECK: remark: [Missed] NotSplit | Category:simplify | Function=w | Remark="variable 'w' is not split: it is unknown, or split already"
// CHECK: remark: [Missed] NotSplit | Category:simplify | Function=w | Remark="variable 'w' is not split: there are no replicas with copies of it"
// CHECK: remark: [Missed] NotSplit | Category:simplify | Function=w | Remark="variable 'w' is not split: it is a shard of another variable"
// CHECK: remark: [Missed] NotSplit | Category:simplify | Function=w | Remark="variable 'w' is not split: there is a variable 'w.piece1'"

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
// expected-error @below {{expected a variable that can be split into 2 pieces, found 'w': it has 7 rows}}
replica.variable @w : tensor<7x16xf32>

// -----

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
// expected-error @below {{found 'w': it has 0 rows}}
replica.variable @w : tensor<f32>

// -----

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
// expected-error @below {{found 'w': it would have pieces of 32 bytes, no multiple of 64}}
replica.variable @w : tensor<2x8xf32>

// -----

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @w : tensor<2x16xf32>
replica.variable @v : tensor<32xf32>
collective.group @all
func.func @step(%w: tensor<2x16xf32> {device.binding = #device.binding<variable "w">}, %v: tensor<32xf32> {device.binding = #device.binding<variable "v">},
    %g: tensor<2x16xf32> {device.binding = #device.binding<batch "g">})
    -> (tensor<2x16xf32> {device.binding = #device.binding<variable "w">}, tensor<32xf32> {device.binding = #device.binding<variable "v">}) {
  %h = collective.start all_reduce sum @all (%g : tensor<2x16xf32>) -> <tensor<2x16xf32>>
  %s = collective.wait %h (%g : tensor<2x16xf32>) : <tensor<2x16xf32>> -> tensor<2x16xf32>
  // expected-error @below {{found 'w': 'v', which is updated with it, has another shape}}
  %nw = arith.subf %w, %s : tensor<2x16xf32>
  %f = tensor.collapse_shape %s [[0, 1]] : tensor<2x16xf32> into tensor<32xf32>
  %nv = arith.addf %v, %f : tensor<32xf32>
  return %nw, %nv : tensor<2x16xf32>, tensor<32xf32>
}

// -----

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
// expected-error @below {{found 'w': it has an initial value whose elements differ}}
replica.variable @w : tensor<2x8xf64> {initial = dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]> : tensor<2x8xf64>}

// -----

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
// expected-error @below {{found 'w': it differs between the replicas}}
replica.variable @w : tensor<2x16xf32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}

// -----

// expected-error @below {{found 'w': it is unknown, or split already}}
module {
  replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
  replica.variable @w.piece0 : tensor<2x16xf32>
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1 : i64}
// expected-error @below {{found 'w': there are no replicas with copies of it}}
replica.variable @w : tensor<2x16xf32>

// -----

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
// expected-error @below {{found 'w': it is a shard of another variable}}
replica.variable @w : tensor<2x16xf32> {device.shard = #device.shard<"table" row 0 of 4>}

// -----

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
// expected-error @below {{found 'w': there is a variable 'w.piece1'}}
replica.variable @w : tensor<2x16xf32>
replica.variable @other : tensor<2x16xf32> {path = "w.piece1"}
