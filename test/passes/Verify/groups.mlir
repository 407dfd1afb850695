// RUN: lockstep-opt %s --verify-uniformity --split-input-file --verify-diagnostics -o /dev/null

// Groups of ranks: a value may be uniform within each group and differ between groups. Such a condition is safe for the group's collectives.

// Half of the rank is uniform within the pairs {0, 1} and {2, 3}, each of which has its own barrier.
device.role @worker ranks 0 count 4
collective.group @low {ranks = array<i64: 0, 1>}
collective.group @high {ranks = array<i64: 2, 3>}
func.func @pairs(%rank: tensor<i32> {device.binding = #device.binding<rank "">}) {
  %i = tensor.extract %rank[] : tensor<i32>
  %two = arith.constant 2 : i32
  %zero = arith.constant 0 : i32
  %pair = arith.divui %i, %two : i32
  %first = arith.cmpi eq, %pair, %zero : i32
  scf.if %first {
    collective.barrier @low
  } else {
    collective.barrier @high
  }
  return
}

// -----

// Whether a rank is odd is not uniform within the pair {0, 1}.
device.role @worker ranks 0 count 4
collective.group @low {ranks = array<i64: 0, 1>}
// expected-note@+1 {{the number of the replica is different on each replica}}
func.func @odd(%rank: tensor<i32> {device.binding = #device.binding<rank "">}) {
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %rank[] : tensor<i32>
  // expected-note@+1 {{'arith.trunci' makes it from a value that may differ}}
  %odd = arith.trunci %i : i32 to i1
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %odd {
    // expected-error@+1 {{'collective.barrier' is under a condition that may differ}}
    collective.barrier @low
  }
  return
}

// -----

// The result of a reduction is uniform within its group, so all of its members skip the barrier, or none.
collective.group @even {ranks = array<i64: 0, 2>}
func.func @reduced_in_group(%x: tensor<f32> {device.binding = #device.binding<batch "x">}) {
  %limit = arith.constant 1.0e+09 : f32
  %h = collective.start all_reduce sum @even (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  %loss = tensor.extract %g[] : tensor<f32>
  %finite = arith.cmpf olt, %loss, %limit : f32
  scf.if %finite {
    collective.barrier @even
  }
  return
}

// -----

// It is not uniform within another group: rank 1 does not have the sum of ranks 0 and 2.
collective.group @even {ranks = array<i64: 0, 2>}
collective.group @low {ranks = array<i64: 0, 1>}
func.func @reduced_in_another(%x: tensor<f32> {device.binding = #device.binding<batch "x">}) {
  %limit = arith.constant 1.0e+09 : f32
  %h = collective.start all_reduce sum @even (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  // expected-note@+1 {{'collective.wait' gives a value to the members of group @even that other ranks do not have}}
  %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  // expected-note@+1 {{'tensor.extract' makes it}}
  %loss = tensor.extract %g[] : tensor<f32>
  // expected-note@+1 {{'arith.cmpf' makes it}}
  %finite = arith.cmpf olt, %loss, %limit : f32
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %finite {
    // expected-error@+1 {{'collective.barrier' is under a condition that may differ}}
    collective.barrier @low
  }
  return
}

// -----

// It is not uniform on all ranks either: only the barrier of the smaller group is safe.
collective.group @even {ranks = array<i64: 0, 2>}
collective.group @all
func.func @all_inside(%x: tensor<f32> {device.binding = #device.binding<batch "x">}) {
  %limit = arith.constant 1.0e+09 : f32
  %h = collective.start all_reduce sum @even (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  // expected-note@+1 {{'collective.wait' gives a value to the members of group @even}}
  %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  // expected-note@+1 {{'tensor.extract' makes it}}
  %loss = tensor.extract %g[] : tensor<f32>
  // expected-note@+1 {{'arith.cmpf' makes it}}
  %finite = arith.cmpf olt, %loss, %limit : f32
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %finite {
    collective.barrier @even
    // expected-error@+1 {{'collective.barrier' is under a condition that may differ}}
    collective.barrier @all
  }
  return
}

// -----

// A grid of ranks: the sum of a row is not uniform within a column, though each rank is in one row and one column.
device.role @worker ranks 0 count 4
collective.group @row0 {ranks = array<i64: 0, 1>}
collective.group @column0 {ranks = array<i64: 0, 2>}
func.func @grid(%x: tensor<f32> {device.binding = #device.binding<batch "x">}) {
  %limit = arith.constant 1.0e+09 : f32
  %h = collective.start all_reduce sum @row0 (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  // expected-note@+1 {{'collective.wait' gives a value to the members of group @row0}}
  %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  // expected-note@+1 {{'tensor.extract' makes it}}
  %loss = tensor.extract %g[] : tensor<f32>
  // expected-note@+1 {{'arith.cmpf' makes it}}
  %finite = arith.cmpf olt, %loss, %limit : f32
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %finite {
    collective.barrier @row0
    // expected-error@+1 {{'collective.barrier' is under a condition that may differ}}
    collective.barrier @column0
  }
  return
}

// -----

// The sum of two values, each of which is uniform within another group, is uniform within neither.
device.role @worker ranks 0 count 4
collective.group @low {ranks = array<i64: 0, 1>}
collective.group @even {ranks = array<i64: 0, 2>}
func.func @joined(%x: tensor<f32> {device.binding = #device.binding<batch "x">}) {
  %limit = arith.constant 1.0e+09 : f32
  %h = collective.start all_reduce sum @low (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  %h2 = collective.start all_reduce sum @even (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  // The notes follow the operand that differs between ranks 0 and 1, not the first one that varies.
  // expected-note@+1 {{'collective.wait' gives a value to the members of group @even}}
  %g2 = collective.wait %h2 (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  // expected-note@+1 {{'arith.addf' makes it}}
  %sum = arith.addf %g, %g2 : tensor<f32>
  // expected-note@+1 {{'tensor.extract' makes it}}
  %loss = tensor.extract %sum[] : tensor<f32>
  // expected-note@+1 {{'arith.cmpf' makes it}}
  %finite = arith.cmpf olt, %loss, %limit : f32
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %finite {
    // expected-error@+1 {{'collective.barrier' is under a condition that may differ}}
    collective.barrier @low
  }
  return
}

// -----

// Each rank has the sum of its own pair, which is uniform within both pairs: the members of a pair have the same trip count.
device.role @worker ranks 0 count 4
collective.group @low {ranks = array<i64: 0, 1>}
collective.group @high {ranks = array<i64: 2, 3>}
func.func @either(%x: tensor<i32> {device.binding = #device.binding<batch "x">}, %rank: tensor<i32> {device.binding = #device.binding<rank "">}) {
  %i = tensor.extract %rank[] : tensor<i32>
  %two = arith.constant 2 : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %first = arith.cmpi ult, %i, %two : i32
  %sum = scf.if %first -> tensor<i32> {
    %h = collective.start all_reduce sum @low (%x : tensor<i32>) -> !collective.pending<tensor<i32>>
    %g = collective.wait %h (%x : tensor<i32>) : !collective.pending<tensor<i32>> -> tensor<i32>
    scf.yield %g : tensor<i32>
  } else {
    %h = collective.start all_reduce sum @high (%x : tensor<i32>) -> !collective.pending<tensor<i32>>
    %g = collective.wait %h (%x : tensor<i32>) : !collective.pending<tensor<i32>> -> tensor<i32>
    scf.yield %g : tensor<i32>
  }
  %n = tensor.extract %sum[] : tensor<i32>
  scf.for %k = %zero to %n step %one : i32 {
    collective.barrier @low
    collective.barrier @high
  }
  return
}

// -----

// The same loop with the barrier of a pair within which the trip count is not uniform.
device.role @worker ranks 0 count 4
collective.group @low {ranks = array<i64: 0, 1>}
collective.group @even {ranks = array<i64: 0, 2>}
func.func @other_pairs(%x: tensor<i32> {device.binding = #device.binding<batch "x">}) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %h = collective.start all_reduce sum @low (%x : tensor<i32>) -> !collective.pending<tensor<i32>>
  // expected-note@+1 {{'collective.wait' gives a value to the members of group @low}}
  %g = collective.wait %h (%x : tensor<i32>) : !collective.pending<tensor<i32>> -> tensor<i32>
  // expected-note@+1 {{'tensor.extract' makes it}}
  %n = tensor.extract %g[] : tensor<i32>
  // expected-note@+1 {{the trip count of this loop may differ}}
  scf.for %k = %zero to %n step %one : i32 {
    collective.barrier @low
    // expected-error@+1 {{'collective.barrier' is in a loop whose trip count may differ}}
    collective.barrier @even
  }
  return
}

// -----

// The order of collectives of groups without a common rank does not matter.
device.role @worker ranks 0 count 4
collective.group @low {ranks = array<i64: 0, 1>}
collective.group @high {ranks = array<i64: 2, 3>}
func.func @apart(%c: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  %b = tensor.extract %c[] : tensor<i1>
  scf.if %b {
    collective.barrier @low
    collective.barrier @high
  } else {
    collective.barrier @high
    collective.barrier @low
  }
  return
}

// -----

// Collectives of groups with a common rank must have one order: the step is refused.
device.role @worker ranks 0 count 4
collective.group @low {ranks = array<i64: 0, 1>}
collective.group @three {ranks = array<i64: 0, 1, 2>}
// expected-note@+1 {{batch argument 'c' is different on each replica}}
func.func @opposite(%c: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  // expected-note@+1 {{'tensor.extract' makes it}}
  %b = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %b {
    // expected-error@+2 {{[E_COLLECTIVE_DIVERGENCE]}}
    // expected-note@+1 {{some replicas issue 'collective.barrier' barrier in group @low}}
    collective.barrier @low
    collective.barrier @three
  } else {
    // expected-note@+1 {{other replicas issue 'collective.barrier' barrier in group @three}}
    collective.barrier @three
    collective.barrier @low
  }
  return
}

// -----

// Collectives of a pair that takes the same side may be anywhere between those of all ranks.
device.role @worker ranks 0 count 4
collective.group @low {ranks = array<i64: 0, 1>}
collective.group @all
func.func @between(%rank: tensor<i32> {device.binding = #device.binding<rank "">}) {
  %i = tensor.extract %rank[] : tensor<i32>
  %two = arith.constant 2 : i32
  %first = arith.cmpi ult, %i, %two : i32
  scf.if %first {
    collective.barrier @low
    collective.barrier @all
    collective.barrier @low
  } else {
    collective.barrier @all
  }
  return
}

// -----

// Ranks 0 and 1 exit together, which is safe for the group of the other ranks, but not for the barrier of all ranks.
device.role @worker ranks 0 count 4
collective.group @high {ranks = array<i64: 2, 3>}
collective.group @all
// expected-note@+1 {{the number of the replica is different on each replica}}
func.func @exit(%rank: tensor<i32> {device.binding = #device.binding<rank "">}) {
  // expected-note@+1 {{'tensor.extract' makes it}}
  %i = tensor.extract %rank[] : tensor<i32>
  %two = arith.constant 2 : i32
  // expected-note@+1 {{'arith.cmpi' makes it}}
  %first = arith.cmpi ult, %i, %two : i32
  // expected-note@+1 {{the condition of this branch may differ}}
  cf.cond_br %first, ^stop, ^go
^go:
  collective.barrier @high
  // expected-error@+1 {{'collective.barrier' is under a condition that may differ}}
  collective.barrier @all
  cf.br ^stop
^stop:
  return
}

// -----

// A value that is uniform within a group is not uniform on all ranks: the copies of a variable would diverge.
collective.group @even {ranks = array<i64: 0, 2>}
func.func @assigned(%x: tensor<f32> {device.binding = #device.binding<scalar "x">}) -> (tensor<f32> {device.binding = #device.binding<variable "w">}) {
  %h = collective.start all_reduce sum @even (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  // expected-error@+2 {{the new value of variable 'w' may differ between replicas}}
  // expected-note@+1 {{gives a value to the members of group @even}}
  %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  return %g : tensor<f32>
}
