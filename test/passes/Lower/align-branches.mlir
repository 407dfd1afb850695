// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(align-branches))' --split-input-file | FileCheck %s

// Both sides sum a value of their own: the first branch yields the operand, the sum is issued once, and a second branch has the rest of both
// sides. Operations that are equal on both sides are hoisted. A value that the rest needs is a result of the first branch, whose other side
// yields uninitialized memory for it.
collective.group @all
// CHECK-LABEL: func.func @cut(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>
// CHECK-SAME: %[[ID:[a-z0-9]*]]: tensor<i1>
// CHECK: %[[C:.*]] = tensor.extract %[[ID]][]
// CHECK: %[[FIRST:.*]]:2 = scf.if %[[C]] -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK: %[[D:.*]] = linalg.add
// CHECK: %[[K:.*]] = linalg.mul
// CHECK: scf.yield %[[D]], %[[K]]
// CHECK: } else {
// CHECK: scf.yield %[[X]], %{{.*}} :
// CHECK: %[[H:.*]] = collective.start all_reduce sum @all(%[[FIRST]]#0 : tensor<4xf32>)
// CHECK: %[[S:.*]] = collective.wait %[[H]](%[[FIRST]]#0 : tensor<4xf32>)
// CHECK: %[[M:.*]] = linalg.exp ins(%[[S]] : tensor<4xf32>)
// CHECK-NOT: linalg.exp
// CHECK: scf.if %[[C]] -> (tensor<4xf32>) {
// CHECK: linalg.add ins(%[[M]], %[[FIRST]]#1 :
// CHECK: } else {
// CHECK: scf.yield %[[M]]
// CHECK-NOT: collective
// CHECK: return
func.func @cut(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}, %id: tensor<i1> {device.binding = #device.binding<batch "c">})
    -> (tensor<4xf32> {device.binding = #device.binding<result "y">}) {
  %c = tensor.extract %id[] : tensor<i1>
  %r = scf.if %c -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %d = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %k = linalg.mul ins(%x, %d : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %h = collective.start all_reduce sum @all (%d : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%d : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %m = linalg.exp ins(%s : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %o = linalg.add ins(%m, %k : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %o : tensor<4xf32>
  } else {
    %e = tensor.empty() : tensor<4xf32>
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %m = linalg.exp ins(%s : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %m : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// An operand that is the same value on both sides is used directly; barriers move out too.
collective.group @all
// CHECK-LABEL: func.func @same(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>
// CHECK: collective.start all_reduce sum @all(%[[X]] : tensor<4xf32>)
// CHECK: collective.barrier @all
// CHECK: scf.if
// CHECK-NOT: collective
// CHECK: return
func.func @same(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}, %id: tensor<i1> {device.binding = #device.binding<batch "c">})
    -> (tensor<4xf32> {device.binding = #device.binding<result "y">}) {
  %c = tensor.extract %id[] : tensor<i1>
  %r = scf.if %c -> tensor<4xf32> {
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    collective.barrier @all
    scf.yield %s : tensor<4xf32>
  } else {
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    collective.barrier @all
    scf.yield %x : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A branch on a uniform condition stays, since all replicas take the same side.
collective.group @all
// CHECK-LABEL: func.func @uniform(
// CHECK: scf.if
// CHECK: collective.start
// CHECK: } else {
// CHECK: collective.start
func.func @uniform(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}, %id: tensor<i1> {device.binding = #device.binding<scalar "c">})
    -> (tensor<4xf32> {device.binding = #device.binding<result "y">}) {
  %c = tensor.extract %id[] : tensor<i1>
  %r = scf.if %c -> tensor<4xf32> {
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  } else {
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// Loops with the same bounds move out of the branch. An initial value that is the same on both sides, here a variable, is used directly.
collective.group @all
// CHECK-LABEL: func.func @loops(
// CHECK-SAME: %[[W:[^:]*]]: tensor<4xf32>
// CHECK: %[[C:.*]] = tensor.extract
// CHECK: %[[BEFORE:.*]] = scf.if %[[C]] -> (tensor<4xf32>)
// CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %[[W]]) -> (tensor<4xf32>) {
// CHECK:   %[[OWN:.*]] = scf.if %[[C]] -> (tensor<4xf32>) {
// CHECK:     yield %[[BEFORE]]
// CHECK:   } else {
// CHECK:     yield %[[A]]
// CHECK:   %[[H:.*]] = collective.start all_reduce sum @all(%[[OWN]]
// CHECK:   %[[S:.*]] = collective.wait %[[H]]
// CHECK:   %[[N:.*]] = arith.addf %[[A]], %[[S]]
// CHECK:   %[[Y:.*]] = scf.if %[[C]]
// CHECK:     yield %[[N]]
// CHECK:     yield %[[N]]
// CHECK:   scf.yield %[[Y]]
// CHECK: %[[R:.*]] = scf.if %[[C]]
// CHECK:   yield %[[LOOP]]
// CHECK:   yield %[[LOOP]]
// CHECK: return %[[R]]
func.func @loops(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">}, %id: tensor<i1> {device.binding = #device.binding<batch "c">})
    -> (tensor<4xf32> {device.binding = #device.binding<result "y">}) {
  %c = tensor.extract %id[] : tensor<i1>
  %r = scf.if %c -> tensor<4xf32> {
    %from = arith.constant 0 : index
    %to = arith.constant 9 : index
    %by = arith.constant 1 : index
    %d = arith.addf %x, %x : tensor<4xf32>
    %t = scf.for %i = %from to %to step %by iter_args(%a = %w) -> tensor<4xf32> {
      %h = collective.start all_reduce sum @all (%d : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
      %s = collective.wait %h (%d : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
      %n = arith.addf %a, %s : tensor<4xf32>
      scf.yield %n : tensor<4xf32>
    }
    scf.yield %t : tensor<4xf32>
  } else {
    %from = arith.constant 0 : index
    %to = arith.constant 9 : index
    %by = arith.constant 1 : index
    %t = scf.for %i = %from to %to step %by iter_args(%a = %w) -> tensor<4xf32> {
      %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
      %s = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
      %n = arith.addf %a, %s : tensor<4xf32>
      scf.yield %n : tensor<4xf32>
    }
    scf.yield %t : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// So do branches on the same condition, one without an else side. A branch whose sides issue the same collective matches that collective alone.
collective.group @all
// CHECK-LABEL: func.func @branches(
// CHECK: %[[C:.*]] = tensor.extract
// CHECK: %[[U:.*]] = tensor.extract
// CHECK: scf.if %[[U]] {
// CHECK:   collective.barrier @all
// CHECK-NOT: barrier
// CHECK: } else {
// CHECK-NOT: barrier
// CHECK: }
// CHECK: collective.barrier @all
// CHECK-NOT: barrier
// CHECK: return
func.func @branches(%id: tensor<i1> {device.binding = #device.binding<batch "c">}, %common: tensor<i1> {device.binding = #device.binding<scalar "u">}) {
  %c = tensor.extract %id[] : tensor<i1>
  %u = tensor.extract %common[] : tensor<i1>
  scf.if %c {
    scf.if %u {
      collective.barrier @all
    }
    scf.if %u {
      collective.barrier @all
    } else {
      collective.barrier @all
    }
  } else {
    scf.if %u {
      collective.barrier @all
    } else {
    }
    collective.barrier @all
  }
  return
}

// -----

// A wait repeats the operands of its start, but not the sizes of the results.
collective.group @all
// CHECK-LABEL: func.func @sizes(
// CHECK: %[[FIRST:.*]]:2 = scf.if %{{.*}} -> (tensor<?xf32>, index)
// CHECK: %[[H:.*]] = collective.start all_gather none @all axis 0(%[[FIRST]]#0 : tensor<?xf32>) sizes(%[[FIRST]]#1)
// CHECK: collective.wait %[[H]](%[[FIRST]]#0 : tensor<?xf32>)
// CHECK-NOT: collective
// CHECK: return
func.func @sizes(%x: tensor<?xf32> {device.binding = #device.binding<batch "x">}, %y: tensor<?xf32> {device.binding = #device.binding<batch "y">},
                 %id: tensor<i1> {device.binding = #device.binding<batch "c">}, %n: index, %m: index)
    -> (tensor<?xf32> {device.binding = #device.binding<result "y">}) {
  %c = tensor.extract %id[] : tensor<i1>
  %r = scf.if %c -> tensor<?xf32> {
    %h = collective.start all_gather none @all axis 0 (%x : tensor<?xf32>) sizes(%n) -> !collective.pending<tensor<?xf32>>
    %s = collective.wait %h (%x : tensor<?xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  } else {
    %h = collective.start all_gather none @all axis 0 (%y : tensor<?xf32>) sizes(%m) -> !collective.pending<tensor<?xf32>>
    %s = collective.wait %h (%y : tensor<?xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

// Three paths: the inner branch is aligned first. Equal operations without operands on all paths are merged, and so is the result.
collective.group @all
// CHECK-LABEL: func.func @three_ways(
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<4xf32>
// CHECK: %[[S:.*]] = collective.wait
// CHECK-NEXT: %[[NEW:.*]] = linalg.add ins(%[[W]], %[[S]] :
// CHECK-NOT: {{collective|linalg}}
// CHECK-COUNT-3: scf.yield %[[NEW]]
// CHECK-NOT: {{collective|linalg}}
// CHECK: return
func.func @three_ways(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">},
                      %first: tensor<i1> {device.binding = #device.binding<batch "c">}, %second: tensor<i1> {device.binding = #device.binding<batch "d">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  %c = tensor.extract %first[] : tensor<i1>
  %d = tensor.extract %second[] : tensor<i1>
  %r = scf.if %c -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %n = linalg.add ins(%w, %s : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  } else {
    %q = scf.if %d -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %h = collective.start all_reduce sum @all (%w : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
      %s = collective.wait %h (%w : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
      %n = linalg.add ins(%w, %s : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %n : tensor<4xf32>
    } else {
      %e = tensor.empty() : tensor<4xf32>
      %z = arith.constant dense<0.0> : tensor<4xf32>
      %h = collective.start all_reduce sum @all (%z : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
      %s = collective.wait %h (%z : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
      %n = linalg.add ins(%w, %s : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %n : tensor<4xf32>
    }
    scf.yield %q : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A collective that no replica reaches needs no counterpart.
collective.group @all
// CHECK-LABEL: func.func @never(
// CHECK-NOT: scf.if
// CHECK: collective.barrier @all channel 1
// CHECK-NOT: {{scf|collective}}
// CHECK: return
func.func @never(%id: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  %false = arith.constant false
  %c = tensor.extract %id[] : tensor<i1>
  scf.if %false {
    scf.if %c {
      collective.barrier @all channel 0
    }
  } else {
    collective.barrier @all channel 1
  }
  scf.if %false {
    collective.barrier @all channel 2
  }
  return
}

// -----

// All members of a group take the same side, and other ranks skip its collectives: each collective moves out of the branch, in one order for all ranks.

// CHECK-LABEL: func.func @by_rank(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>
// CHECK: %[[C:.*]] = arith.cmpi slt
// CHECK: %[[FIRST:.*]] = scf.if %[[C]] -> (tensor<4xf32>) {
// CHECK: linalg.exp
// CHECK: } else {
// CHECK: %[[LOW:.*]] = collective.start all_reduce sum @low(%[[FIRST]] : tensor<4xf32>)
// CHECK: %[[A:.*]] = collective.wait %[[LOW]]
// CHECK: %[[HIGH:.*]] = collective.start broadcast none @high(%[[X]] : tensor<4xf32>)
// CHECK: %[[B:.*]] = collective.wait %[[HIGH]]
// CHECK: collective.barrier @high
// CHECK: scf.if %[[C]] -> (tensor<4xf32>) {
// CHECK-NEXT: scf.yield %[[A]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[B]]
// CHECK-NOT: collective
// CHECK: return
device.role @worker ranks 0 count 4
collective.group @low {ranks = array<i64: 0, 1>}
collective.group @high {ranks = array<i64: 2, 3>}
func.func @by_rank(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">},
                   %rank: tensor<i32> {device.binding = #device.binding<rank "">}) -> (tensor<4xf32> {device.binding = #device.binding<result "y">}) {
  %i = tensor.extract %rank[] : tensor<i32>
  %two = arith.constant 2 : i32
  %isLow = arith.cmpi slt, %i, %two : i32
  %y = scf.if %isLow -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %d = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %h = collective.start all_reduce sum @low (%d : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = collective.wait %h (%d : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    scf.yield %g : tensor<4xf32>
  } else {
    %h = collective.start broadcast none @high (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    collective.barrier @high
    scf.yield %g : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
