// RUN: lockstep-opt %s --verify-uniformity --split-input-file --verify-diagnostics -o /dev/null

// The same analysis after lowering, where steps are functions and each collective has a start and a wait.

collective.group @all
func.func @step(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">},
                %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %new = arith.subf %w, %g : tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// The new value of a mirrored variable is computed without the collective.
// expected-note@+2 {{batch argument 'x' is different on each replica}}
func.func @step(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">},
                %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  // expected-error@+2 {{the new value of variable 'w' may differ between replicas}}
  // expected-note@+1 {{'arith.subf' makes it from a value that may differ}}
  %new = arith.subf %w, %x : tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// A variable that is synchronized on read may differ between replicas.
replica.variable @seen : tensor<4xf32> {synchronization = #replica.synchronization<on_read>}
func.func @step(%s: tensor<4xf32> {device.binding = #device.binding<variable "seen">},
                %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "seen">}) {
  %new = arith.addf %s, %x : tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// A barrier that some ranks do not reach.
collective.group @all
// expected-note@+1 {{the number of the replica is different on each replica}}
func.func @step(%rank: tensor<i32> {device.binding = #device.binding<rank "">}) {
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %rank[] : tensor<i32>
  // expected-note@+1 {{'arith.trunci' makes it from a value that may differ}}
  %odd = arith.trunci %i : i32 to i1
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %odd {
    // expected-error@+1 {{'collective.barrier' is under a condition that may differ between replicas}}
    collective.barrier @all
  }
  return
}

// -----

// Barriers of two groups in opposite order: each side waits for the other.
collective.group @a
collective.group @b
// expected-note@+1 {{batch argument 'c' is different on each replica}}
func.func @step(%c: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %i {
    // expected-error@+2 {{'collective.barrier' is issued by some replicas, while others issue a different 'collective.barrier' in its place [E_COLLECTIVE_DIVERGENCE]}}
    // expected-note@+1 {{some replicas issue 'collective.barrier' barrier in group @a}}
    collective.barrier @a
    collective.barrier @b
  } else {
    // expected-note@+1 {{other replicas issue 'collective.barrier' barrier in group @b}}
    collective.barrier @b
    collective.barrier @a
  }
  return
}

// -----

// The result of a collective over some of the ranks is not equal on all ranks.
collective.group @even {ranks = array<i64: 0, 2>}
func.func @step(%x: tensor<f32> {device.binding = #device.binding<scalar "x">}) -> (tensor<f32> {device.binding = #device.binding<metric "m">}) {
  %h = collective.start all_reduce sum @even (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  // expected-error@+2 {{metric 'm' may differ between replicas}}
  // expected-note@+1 {{'collective.wait' gives a value to the members of group @even that other ranks do not have}}
  %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  return %g : tensor<f32>
}

// -----

// After channels are assigned, both sides must use the same channel: the same kind alone does not match.
collective.group @all
// expected-note@+1 {{batch argument 'c' is different on each replica}}
func.func @step(%c: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %i {
    // expected-error@+2 {{while others issue a different 'collective.barrier' in its place [E_COLLECTIVE_DIVERGENCE]}}
    // expected-note@+1 {{some replicas issue 'collective.barrier' barrier in group @all on channel 0}}
    collective.barrier @all channel 0
  } else {
    // expected-note@+1 {{other replicas issue 'collective.barrier' barrier in group @all on channel 1}}
    collective.barrier @all channel 1
  }
  return
}

// -----

// Without channels, the same kind matches.
collective.group @all
func.func @step(%c: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  %i = tensor.extract %c[] : tensor<i1>
  scf.if %i {
    collective.barrier @all
  } else {
    collective.barrier @all
  }
  return
}
