// RUN: lockstep-opt %s --verify-uniformity --split-input-file --verify-diagnostics -o /dev/null

// Groups of ranks: a value may be equal within each group and differ between them, and a branch on it is no danger to who meets in one.

// The pairs {0, 1} and {2, 3} decide for themselves: half of the rank is equal within a pair.
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

// The odd and the even ranks are not these pairs.
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

// What a group has reduced, its members have in common; so they skip together.
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

// Another group has not: rank 1 knows nothing of the sum of ranks 0 and 2.
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

// Neither have all: a smaller group around, all ranks inside.
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

// Rows decide, columns meet: what the row has reduced is not equal in a column, though each rank is in one of each.
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

// Two values, one for each pair, meet in one: it is equal within neither.
device.role @worker ranks 0 count 4
collective.group @low {ranks = array<i64: 0, 1>}
collective.group @even {ranks = array<i64: 0, 2>}
func.func @joined(%x: tensor<f32> {device.binding = #device.binding<batch "x">}) {
  %limit = arith.constant 1.0e+09 : f32
  %h = collective.start all_reduce sum @low (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  %h2 = collective.start all_reduce sum @even (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  // The way is that of what lets ranks 0 and 1 differ, not the first that was found.
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

// Each rank gets the sum of its pair: equal within both of them, so that both go round one loop as often as their members agree.
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

// The same loop with the other pairs in it.
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

// Groups without a common rank do not hear of each other: their order does not matter.
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

// Groups with a common rank have to be met in one order: refused.
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

// A pair that goes one way may stand anywhere between what all do.
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

// An exit that a group takes together leaves the others alone, and what all do after it misses them.
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

// Equal within a group is not equal on all: the copies of a variable would diverge.
collective.group @even {ranks = array<i64: 0, 2>}
func.func @assigned(%x: tensor<f32> {device.binding = #device.binding<scalar "x">}) -> (tensor<f32> {device.binding = #device.binding<variable "w">}) {
  %h = collective.start all_reduce sum @even (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  // expected-error@+2 {{the new value of variable 'w' may differ between replicas}}
  // expected-note@+1 {{gives a value to the members of group @even}}
  %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  return %g : tensor<f32>
}
