// RUN: lockstep-opt %s --assign-channels | FileCheck %s

collective.group @all

// Channels number the collectives of a step in program order, including those of loops and branches. A barrier has a channel, and a wait has
// the channel of its start. [10-two-callers]
// CHECK-LABEL: func.func @first(
// CHECK: collective.start all_reduce sum @all channel 0(
// CHECK: collective.barrier @all channel 1
// CHECK: scf.for
// CHECK: collective.start all_reduce max @all channel 2(
// CHECK: collective.start all_gather none @all channel 3 axis 0(
func.func @first(%x: tensor<4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %h0 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r0 = collective.wait %h0 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  collective.barrier @all
  scf.for %i = %zero to %one step %one {
    %h1 = collective.start all_reduce max @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %b = collective.wait %h1 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  }
  %h2 = collective.start all_gather none @all axis 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<8xf32>>
  %r2 = collective.wait %h2 (%x : tensor<4xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// The channels of each step begin at 0; existing channels are replaced.
// CHECK-LABEL: func.func @second(
// CHECK: collective.barrier @all channel 0
// CHECK: collective.barrier @all channel 1
func.func @second() {
  collective.barrier @all channel 7
  collective.barrier @all channel 7
  return
}
