// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(bucket-collectives))" --split-input-file \
// RUN:   --remark-format=emitRemark --remarks-filter=bucket -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

// Remarks at the lines of collectives name the members of a bucket, the lines that compute them, and the bound. The third collective does not fit.
// CHECK: model.py:9:3: remark: [Missed] NotMerged | Category:bucket | Function=merge |
// CHECK-SAME: all_reduce sum of 8xf32 (32 B) begins a new bucket: with the 48 B before it would exceed bytes_per_pack, 64 B
// CHECK: model.py:8:3: remark: [Passed] Bucket | Category:bucket | Function=merge |
// CHECK-SAME: 2 collectives in one bucket, all_reduce sum of 2 tensors (48 B), within bytes_per_pack of 64 B: 4xf32 (model.py:2), 8xf32 (model.py:3)
device.kernel @k4() -> tensor<4xf32>
device.kernel @k8() -> tensor<8xf32>
collective.group @all
func.func @merge() {
  %x = device.invoke @k4() : () -> tensor<4xf32> loc("model.py":2:1)
  %y = device.invoke @k8() : () -> tensor<8xf32> loc("model.py":3:1)
  %h0 = collective.start all_reduce sum @all (%x : tensor<4xf32>) {bytes_per_pack = 64 : i64} -> !collective.pending<tensor<4xf32>> loc("model.py":8:3)
  %a = collective.wait %h0 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %h1 = collective.start all_reduce sum @all (%y : tensor<8xf32>) {bytes_per_pack = 64 : i64} -> !collective.pending<tensor<8xf32>> loc("model.py":8:3)
  %b = collective.wait %h1 (%y : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  %h2 = collective.start all_reduce sum @all (%y : tensor<8xf32>) {bytes_per_pack = 64 : i64} -> !collective.pending<tensor<8xf32>> loc("model.py":9:3)
  %c = collective.wait %h2 (%y : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

// The last two pieces of a gradient do not share a bucket; a barrier is another reason.
// CHECK-DAG: model.py:12:3: remark: [Missed] {{.*}}begins a new bucket: the one before has another piece of the same gradient
// CHECK-DAG: model.py:14:3: remark: [Missed] {{.*}}begins a new bucket: it depends on the result of the one before, or on a barrier or batch between them
collective.group @all
func.func @pieces(%x: tensor<4xf32>) {
  %h0 = collective.start reduce_scatter sum @all axis 0 (%x : tensor<4xf32>) {collective.last_piece_of = 1} -> <tensor<2xf32>> loc("model.py":11:3)
  %a = collective.wait %h0 (%x : tensor<4xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  %h1 = collective.start reduce_scatter sum @all axis 0 (%x : tensor<4xf32>) {collective.last_piece_of = 1} -> <tensor<2xf32>> loc("model.py":12:3)
  %b = collective.wait %h1 (%x : tensor<4xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  collective.barrier @all
  %h2 = collective.start reduce_scatter sum @all axis 0 (%x : tensor<4xf32>) {collective.last_piece_of = 2} -> <tensor<2xf32>> loc("model.py":14:3)
  %c = collective.wait %h2 (%x : tensor<4xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  return
}

// -----

// Remarks for a collective that depends on an earlier one, for one that differs from all others, and for one whose kind is not merged.
// CHECK-DAG: model.py:5:3: remark: [Missed] {{.*}}broadcast of 4xf32 (16 B) not in a bucket: its kind is sent alone
// CHECK-DAG: model.py:4:3: remark: [Missed] {{.*}}all_reduce max of 4xi32 (16 B) shares no bucket: others differ in reduction, element type
// CHECK-DAG: model.py:3:3: remark: [Missed] {{.*}}all_reduce sum of 4xf32 (16 B) begins a new bucket: it depends on the result of the one before
collective.group @all
func.func @apart(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  %h0 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":2:3)
  %a = collective.wait %h0 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %h1 = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":3:3)
  %b = collective.wait %h1 (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %h2 = collective.start all_reduce max @all (%i : tensor<4xi32>) -> !collective.pending<tensor<4xi32>> loc("model.py":4:3)
  %c = collective.wait %h2 (%i : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %h3 = collective.start broadcast none @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":5:3)
  %d = collective.wait %h3 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}
