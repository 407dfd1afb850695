// RUN: lockstep-opt %s --pass-pipeline="builtin.module(shard-variables{pieces-required})" --split-input-file -verify-diagnostics

// A piece that cannot be divided is an error with the reason: it has too few elements, or its new value is not a sum of the same rows.

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}
replica.variable @w.piece0 : tensor<2xf32> {device.shard = #device.shard<"w" row 0 of 2>}
collective.group @all
func.func @step(%w: tensor<2xf32> {device.binding = #device.binding<variable "w.piece0">}, %x: tensor<2xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<2xf32> {device.binding = #device.binding<variable "w.piece0">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<2xf32>) -> <tensor<2xf32>>
  %s = collective.wait %h (%x : tensor<2xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  // expected-error @below {{expected pieces of a variable that replicas can divide, found variable 'w.piece0' (2xf32): it has fewer elements than there are replicas}}
  %n = arith.addf %w, %s : tensor<2xf32>
  return %n : tensor<2xf32>
}

// -----

replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.variable @w.piece0 : tensor<2xf32> {device.shard = #device.shard<"w" row 0 of 4>}
collective.group @all
func.func @step(%w: tensor<2xf32> {device.binding = #device.binding<variable "w.piece0">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<2xf32> {device.binding = #device.binding<variable "w.piece0">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> <tensor<4xf32>>
  %s = collective.wait %h (%x : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  %rows = tensor.extract_slice %s[0] [2] [1] : tensor<4xf32> to tensor<2xf32>
  // expected-error @below {{found variable 'w.piece0' (2xf32): its new value is not computed from sums of the same rows alone}}
  %n = arith.addf %w, %rows : tensor<2xf32>
  return %n : tensor<2xf32>
}
