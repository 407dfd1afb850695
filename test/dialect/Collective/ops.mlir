// RUN: lockstep-opt %s | lockstep-opt | FileCheck %s
// RUN: lockstep-opt %s --mlir-print-op-generic | lockstep-opt | FileCheck %s

// CHECK: collective.group @all
collective.group @all
// CHECK: collective.group @even {ranks = array<i64: 0, 2>}
collective.group @even {ranks = array<i64: 0, 2>}

// CHECK-LABEL: func.func @exchange
func.func @exchange(%a: tensor<4xf32>, %b: tensor<2x3xf32>, %v: tensor<?x3xf32>, %n: tensor<4xbf16>, %total: index) {
  // A bucket, which is one collective with several operands, and its channel.
  // CHECK: %[[H:.*]] = collective.start all_reduce sum @all channel 3(%[[A:.*]], %[[B:.*]] : tensor<4xf32>, tensor<2x3xf32>) {bytes_per_pack = 64 : i64} -> <tensor<4xf32>, tensor<2x3xf32>>
  %h = collective.start all_reduce sum @all channel 3 (%a, %b : tensor<4xf32>, tensor<2x3xf32>) {bytes_per_pack = 64 : i64}
      -> !collective.pending<tensor<4xf32>, tensor<2x3xf32>>
  // CHECK: collective.wait %[[H]](%[[A]], %[[B]] : tensor<4xf32>, tensor<2x3xf32>) : <tensor<4xf32>, tensor<2x3xf32>> -> tensor<4xf32>, tensor<2x3xf32>
  %r:2 = collective.wait %h (%a, %b : tensor<4xf32>, tensor<2x3xf32>)
      : !collective.pending<tensor<4xf32>, tensor<2x3xf32>> -> tensor<4xf32>, tensor<2x3xf32>
  // An all_gather without a channel, as before channels are assigned, with a dynamic size along its axis.
  // CHECK: collective.start all_gather none @even axis 0(%{{.*}} : tensor<?x3xf32>) sizes(%{{.*}}) -> <tensor<?x3xf32>>
  %g = collective.start all_gather none @even axis 0 (%v : tensor<?x3xf32>) sizes(%total) -> !collective.pending<tensor<?x3xf32>>
  %all = collective.wait %g (%v : tensor<?x3xf32>) : !collective.pending<tensor<?x3xf32>> -> tensor<?x3xf32>
  // CHECK: collective.start reduce_scatter max @all
  %s = collective.start reduce_scatter max @all (%a : tensor<4xf32>) -> !collective.pending<tensor<1xf32>>
  %part = collective.wait %s (%a : tensor<4xf32>) : !collective.pending<tensor<1xf32>> -> tensor<1xf32>
  // A sum of bf16 whose result is not rounded and stays in f32.
  // CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<4xbf16>) -> <tensor<4xf32>>
  %w = collective.start all_reduce sum @all (%n : tensor<4xbf16>) -> !collective.pending<tensor<4xf32>>
  %sum = collective.wait %w (%n : tensor<4xbf16>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  // A permute names the source of each rank of its group; -1 is none.
  // CHECK: collective.start permute none @even(%{{.*}} : tensor<4xf32>) {sources = array<i64: 2, -1>} -> <tensor<4xf32>>
  %m = collective.start permute none @even (%a : tensor<4xf32>) {sources = array<i64: 2, -1>} -> !collective.pending<tensor<4xf32>>
  %moved = collective.wait %m (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  // CHECK: collective.barrier @all channel 4
  collective.barrier @all channel 4
  // CHECK: collective.barrier @even
  collective.barrier @even
  return
}

// Collectives with a root of another role: this function only receives (broadcast), or only sends (reduce).
// CHECK: collective.group @server {ranks = array<i64: 4>, with_replicas}
collective.group @server {ranks = array<i64: 4>, with_replicas}
// CHECK-LABEL: func.func @rooted
func.func @rooted(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[H:.*]] = collective.start broadcast none @server root 4 channel 0() -> <tensor<4xf32>>
  %h = collective.start broadcast none @server root 4 channel 0 () -> <tensor<4xf32>>
  // CHECK: %[[W:.*]] = collective.wait %[[H]]() : <tensor<4xf32>> -> tensor<4xf32>
  %w = collective.wait %h () : <tensor<4xf32>> -> tensor<4xf32>
  // CHECK: %[[P:.*]] = collective.start reduce sum @server root 4 channel 1(%{{.*}} : tensor<4xf32>) -> <>
  %p = collective.start reduce sum @server root 4 channel 1 (%a : tensor<4xf32>) -> <>
  // CHECK: collective.wait %[[P]](%{{.*}} : tensor<4xf32>) : <>
  collective.wait %p (%a : tensor<4xf32>) : <>
  return %w : tensor<4xf32>
}
