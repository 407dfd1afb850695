// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(carry-tensors))" | FileCheck %s

collective.group @all

// A loop of the step, here one with a collective, carries tensors: its scalars become tensors of rank 0, and an index becomes one of i64.
// CHECK-LABEL: func.func @for
// CHECK-SAME: %[[N:.*]]: i32, %[[I:.*]]: index, %[[X:.*]]: tensor<4xf32>
func.func @for(%n: i32, %i: index, %x: tensor<4xf32>) -> (i32, index, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[NT:.*]] = tensor.from_elements %[[N]] : tensor<i32>
  // CHECK: %[[I64:.*]] = arith.index_cast %[[I]] : index to i64
  // CHECK: %[[IT:.*]] = tensor.from_elements %[[I64]] : tensor<i64>
  // CHECK: %[[R:.*]]:3 = scf.for %[[J:.*]] = %{{.*}} to %[[I]] step %{{.*}} iter_args(%[[A:.*]] = %[[NT]], %[[B:.*]] = %[[IT]], %{{.*}} = %[[X]])
  // CHECK-SAME: -> (tensor<i32>, tensor<i64>, tensor<4xf32>)
  %r:3 = scf.for %j = %c0 to %i step %c1 iter_args(%a = %n, %b = %i, %y = %x) -> (i32, index, tensor<4xf32>) {
    // CHECK-DAG: tensor.extract %[[A]][] : tensor<i32>
    // CHECK-DAG: tensor.extract %[[B]][] : tensor<i64>
    %m = arith.addi %a, %a : i32
    %k = arith.addi %b, %j : index
    %h = collective.start all_reduce sum @all (%y : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %z = collective.wait %h (%y : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    // CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<i32>, tensor<i64>, tensor<4xf32>
    scf.yield %m, %k, %z : i32, index, tensor<4xf32>
  }
  // CHECK-DAG: %[[R0:.*]] = tensor.extract %[[R]]#0[] : tensor<i32>
  // CHECK-DAG: %[[R1:.*]] = tensor.extract %[[R]]#1[] : tensor<i64>
  // CHECK-DAG: %[[R2:.*]] = arith.index_cast %[[R1]] : i64 to index
  // CHECK: return %[[R0]], %[[R2]], %[[R]]#2
  return %r#0, %r#1, %r#2 : i32, index, tensor<4xf32>
}

// A while loop forwards tensors to its body; the condition itself stays a scalar.
// CHECK-LABEL: func.func @while
func.func @while(%n: i32, %x: tensor<4xf32>) -> i32 {
  %c0 = arith.constant 0 : i32
  // CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  %r:2 = scf.while (%a = %n, %y = %x) : (i32, tensor<4xf32>) -> (i32, tensor<4xf32>) {
    %more = arith.cmpi sgt, %a, %c0 : i32
    // CHECK: scf.condition(%{{.*}}) %{{.*}}, %{{.*}} : tensor<i32>, tensor<4xf32>
    scf.condition(%more) %a, %y : i32, tensor<4xf32>
  } do {
  ^bb0(%a: i32, %y: tensor<4xf32>):
    %h = collective.start all_reduce sum @all (%y : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %z = collective.wait %h (%y : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    // CHECK: scf.yield %{{.*}}, %{{.*}} : tensor<i32>, tensor<4xf32>
    scf.yield %a, %z : i32, tensor<4xf32>
  }
  return %r#0 : i32
}

// CHECK-LABEL: func.func @if
func.func @if(%c: i1, %n: f32, %x: tensor<4xf32>) -> f32 {
  // CHECK: %[[R:.*]] = scf.if %{{.*}} -> (tensor<f32>) {
  %r = scf.if %c -> f32 {
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %z = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    // CHECK: scf.yield %{{.*}} : tensor<f32>
    scf.yield %n : f32
  } else {
    %m = arith.negf %n : f32
    // CHECK: scf.yield %{{.*}} : tensor<f32>
    scf.yield %m : f32
  }
  // CHECK: tensor.extract %[[R]][] : tensor<f32>
  return %r : f32
}

// A loop that becomes part of a kernel keeps its scalars in registers.
// CHECK-LABEL: func.func @inside
func.func @inside(%n: i32, %i: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.*}} -> (i32)
  %r = scf.for %j = %c0 to %i step %c1 iter_args(%a = %n) -> i32 {
    %m = arith.addi %a, %a : i32
    scf.yield %m : i32
  }
  return %r : i32
}

// A step's counter is an index in a register: it is cast to its own type in the loop, and constant bounds become constants of type index.
// CHECK-LABEL: func.func @counter
// CHECK-SAME: %[[N:.*]]: i32, %[[X:.*]]: tensor<4xf32>
func.func @counter(%n: i32, %x: tensor<4xf32>) -> tensor<4xf32> {
  %from = arith.constant -2 : i32
  %by = arith.constant 2 : i32
  // CHECK-DAG: %[[FROM:.*]] = arith.constant -2 : index
  // CHECK-DAG: %[[BY:.*]] = arith.constant 2 : index
  // CHECK-DAG: %[[TO:.*]] = arith.index_cast %[[N]] : i32 to index
  // CHECK: scf.for %[[I:.*]] = %[[FROM]] to %[[TO]] step %[[BY]] iter_args(%{{.*}} = %[[X]]) -> (tensor<4xf32>) {
  %r = scf.for %i = %from to %n step %by iter_args(%y = %x) -> tensor<4xf32> : i32 {
    // CHECK-NEXT: %[[C:.*]] = arith.index_cast %[[I]] : index to i32
    // CHECK-NEXT: arith.sitofp %[[C]] : i32 to f32
    %f = arith.sitofp %i : i32 to f32
    %s = tensor.splat %f : tensor<4xf32>
    %h = collective.start all_reduce sum @all (%s : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %z = collective.wait %h (%s : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    scf.yield %z : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// An unsigned counter that is narrower than a register is zero-extended.
// CHECK-LABEL: func.func @unsigned
func.func @unsigned(%n: i8) {
  %from = arith.constant 0 : i8
  %by = arith.constant 50 : i8
  // CHECK: %[[TO:.*]] = arith.index_castui %{{.*}} : i8 to index
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[TO]]
  // CHECK-NEXT: arith.index_castui %[[I]] : index to i8
  scf.for unsigned %i = %from to %n step %by : i8 {
    %t = tensor.from_elements %i : tensor<i8>
    %h = collective.start all_reduce sum @all (%t : tensor<i8>) -> !collective.pending<tensor<i8>>
    %z = collective.wait %h (%t : tensor<i8>) : !collective.pending<tensor<i8>> -> tensor<i8>
  }
  return
}

// A loop whose condition is false is replaced by the operations that compute the condition's operands.
// CHECK-LABEL: func.func @never
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @never(%x: tensor<4xf32>) -> tensor<4xf32> {
  %false = arith.constant false
  // CHECK-NOT: scf.while
  // CHECK: %[[Y:.*]] = arith.addf %[[X]], %[[X]]
  // CHECK-NOT: collective
  // CHECK: return %[[Y]]
  %r = scf.while (%y = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %s = arith.addf %y, %y : tensor<4xf32>
    scf.condition(%false) %s : tensor<4xf32>
  } do {
  ^bb0(%y: tensor<4xf32>):
    %h = collective.start all_reduce sum @all (%y : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %z = collective.wait %h (%y : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    scf.yield %z : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
