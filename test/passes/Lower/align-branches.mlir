// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(align-branches))' --split-input-file | FileCheck %s

// Both sides sum a value of their own: the branch chooses it, the sum is issued once, and the second half goes on with it. What
// both sides compute alike moves out; a value of the first half that the second needs is carried over, memory stands in for it
// on the other side.
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

// An operand that is the same on both sides needs no choice; barriers move out too.
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

// All replicas take a branch on a uniform condition alike: it is left alone.
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
