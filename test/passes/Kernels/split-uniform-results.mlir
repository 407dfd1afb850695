// RUN: lockstep-opt %s --split-uniform-results | FileCheck %s

collective.group @all

// All replicas take the same side. The scale is uniform and the gradient is not, so each gets a branch of its own.
// CHECK-LABEL: func.func @if
// CHECK-SAME: %[[C:[^:]*]]: i1 {{.*}}, %[[S:[^:]*]]: tensor<f32> {{.*}}, %[[X:[^:]*]]: tensor<4xf32>
func.func @if(%c: i1 {device.binding = #device.binding<scalar "c">}, %s: tensor<f32> {device.binding = #device.binding<scalar "s">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<f32>, tensor<4xf32>) {
  %half = arith.constant dense<0.5> : tensor<f32>
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  // CHECK-DAG: %[[U:.*]] = scf.if %[[C]] -> (tensor<f32>)
  // CHECK-DAG: %[[V:.*]] = scf.if %[[C]] -> (tensor<4xf32>)
  // CHECK: return %[[U]], %[[V]]
  %r:2 = scf.if %c -> (tensor<f32>, tensor<4xf32>) {
    scf.yield %half, %zero : tensor<f32>, tensor<4xf32>
  } else {
    %y = arith.mulf %x, %x : tensor<4xf32>
    scf.yield %s, %y : tensor<f32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<f32>, tensor<4xf32>
}

// The trip count is uniform. One loop only counts; the other one counts and sums, since the count decides when it ends.
// CHECK-LABEL: func.func @while
// CHECK-SAME: %[[N:[^:]*]]: i32 {{.*}}, %[[X:[^:]*]]: f32
func.func @while(%n: i32 {device.binding = #device.binding<scalar "n">}, %x: f32 {device.binding = #device.binding<batch "x">}) -> (i32, f32) {
  %most = arith.constant 100 : i32
  // CHECK-DAG: %[[COUNT:.*]] = scf.while (%{{.*}} = %[[N]]) : (i32) -> i32
  // CHECK-DAG: %[[SUM:.*]]:2 = scf.while (%{{.*}} = %[[N]], %{{.*}} = %[[X]]) : (i32, f32) -> (i32, f32)
  // CHECK: return %[[COUNT]], %[[SUM]]#1
  %r:2 = scf.while (%a = %n, %b = %x) : (i32, f32) -> (i32, f32) {
    %more = arith.cmpi slt, %a, %most : i32
    scf.condition(%more) %a, %b : i32, f32
  } do {
  ^bb0(%c: i32, %d: f32):
    %e = arith.addi %c, %c : i32
    %f = arith.addf %d, %x : f32
    scf.yield %e, %f : i32, f32
  }
  return %r#0, %r#1 : i32, f32
}

// Operations in the body are divided too, here a branch whose results the loop carries.
// CHECK-LABEL: func.func @for
// CHECK-SAME: %[[N:[^:]*]]: index {{.*}}, %[[S:[^:]*]]: f32 {{.*}}, %[[X:[^:]*]]: f32
func.func @for(%n: index {device.binding = #device.binding<scalar "n">}, %s: f32 {device.binding = #device.binding<scalar "s">}, %x: f32 {device.binding = #device.binding<batch "x">}) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[U:.*]] = scf.for %{{.*}} = %{{.*}} to %[[N]] step %{{.*}} iter_args(%[[A:.*]] = %[[S]]) -> (f32) {
  // CHECK-NOT: %[[X]]
  // CHECK:   scf.if %{{.*}} -> (f32)
  // CHECK:   scf.yield %{{.*}} : f32
  // CHECK: %[[V:.*]] = scf.for %{{.*}} = %{{.*}} to %[[N]] step %{{.*}} iter_args(%{{.*}} = %[[X]]) -> (f32) {
  // CHECK:   scf.if %{{.*}} -> (f32)
  // CHECK:   scf.yield %{{.*}} : f32
  // CHECK: return %[[U]], %[[V]]
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s, %b = %x) -> (f32, f32) {
    %even = arith.cmpi eq, %i, %c0 : index
    %t:2 = scf.if %even -> (f32, f32) {
      %u = arith.mulf %a, %s : f32
      %v = arith.mulf %b, %x : f32
      scf.yield %u, %v : f32, f32
    } else {
      scf.yield %a, %b : f32, f32
    }
    scf.yield %t#0, %t#1 : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}

// A varying result without uses is erased from the uniform loop, with the values that it is computed from.
// CHECK-LABEL: func.func @unused
func.func @unused(%n: i32 {device.binding = #device.binding<scalar "n">}, %x: f32 {device.binding = #device.binding<batch "x">}) -> i32 {
  %most = arith.constant 100 : i32
  // CHECK: %[[COUNT:.*]] = scf.while (%{{.*}} = %{{.*}}) : (i32) -> i32
  // CHECK-NOT: scf.while
  // CHECK: return %[[COUNT]]
  %r:2 = scf.while (%a = %n, %b = %x) : (i32, f32) -> (i32, f32) {
    %more = arith.cmpi slt, %a, %most : i32
    scf.condition(%more) %a, %b : i32, f32
  } do {
  ^bb0(%c: i32, %d: f32):
    %e = arith.addi %c, %c : i32
    %f = arith.addf %d, %x : f32
    scf.yield %e, %f : i32, f32
  }
  return %r#0 : i32
}

// A uniform switch is divided. All results of a switch on a per-replica value are varying, so it stays one.
// CHECK-LABEL: func.func @switch
func.func @switch(%n: index {device.binding = #device.binding<scalar "n">}, %own: index {device.binding = #device.binding<batch "own">}, %s: f32 {device.binding = #device.binding<scalar "s">}, %x: f32 {device.binding = #device.binding<batch "x">}) -> (f32, f32, f32, f32) {
  // CHECK: scf.index_switch %{{.*}} -> f32
  // CHECK: scf.index_switch %{{.*}} -> f32
  // CHECK: scf.index_switch %{{.*}} -> f32, f32
  // CHECK-NOT: scf.index_switch
  %r:2 = scf.index_switch %n -> f32, f32
  case 0 {
    scf.yield %s, %x : f32, f32
  }
  default {
    %t = arith.addf %s, %s : f32
    scf.yield %t, %x : f32, f32
  }
  %q:2 = scf.index_switch %own -> f32, f32
  case 0 {
    scf.yield %s, %x : f32, f32
  }
  default {
    %t = arith.addf %s, %s : f32
    scf.yield %t, %x : f32, f32
  }
  return %r#0, %r#1, %q#0, %q#1 : f32, f32, f32, f32
}

// A branch with a collective stays in the step, where the analysis finds its uniform result: it is not divided.
// CHECK-LABEL: func.func @step
func.func @step(%c: i1 {device.binding = #device.binding<scalar "c">}, %s: tensor<f32> {device.binding = #device.binding<scalar "s">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<f32>, tensor<4xf32>) {
  // CHECK: scf.if %{{.*}} -> (tensor<f32>, tensor<4xf32>)
  // CHECK-NOT: scf.if
  %r:2 = scf.if %c -> (tensor<f32>, tensor<4xf32>) {
    %h = collective.start all_reduce sum @all (%s : tensor<f32>) -> !collective.pending<tensor<f32>>
    %z = collective.wait %h (%s : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
    scf.yield %z, %x : tensor<f32>, tensor<4xf32>
  } else {
    %y = arith.mulf %x, %x : tensor<4xf32>
    scf.yield %s, %y : tensor<f32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<f32>, tensor<4xf32>
}

// A loop whose condition is constant is divided with the operations in its body, although the body is never executed.
// CHECK-LABEL: func.func @constant
func.func @constant(%n: index {device.binding = #device.binding<scalar "n">}, %s: f32 {device.binding = #device.binding<scalar "s">}, %x: f32 {device.binding = #device.binding<batch "x">}) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %false = arith.constant false
  // CHECK: %[[U:.*]] = scf.while (%{{.*}} = %{{.*}}) : (f32) -> f32
  // CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
  // CHECK: %[[V:.*]] = scf.while (%{{.*}} = %{{.*}}) : (f32) -> f32
  // CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
  // CHECK: return %[[U]], %[[V]]
  %r:2 = scf.while (%a = %s, %b = %x) : (f32, f32) -> (f32, f32) {
    scf.condition(%false) %a, %b : f32, f32
  } do {
  ^bb0(%a: f32, %b: f32):
    %t:2 = scf.for %i = %c0 to %n step %c1 iter_args(%c = %a, %d = %b) -> (f32, f32) {
      %u = arith.mulf %c, %s : f32
      %v = arith.mulf %d, %x : f32
      scf.yield %u, %v : f32, f32
    }
    scf.yield %t#0, %t#1 : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}

// All results of the branch are uniform. Its loop also carries a varying value,
// which has no use and is erased.
// CHECK-LABEL: func.func @unused_inside
// CHECK-SAME: %[[C:[^:]*]]: i1 {{.*}}, %[[S:[^:]*]]: f32 {{.*}}, %[[X:[^:]*]]: f32
func.func @unused_inside(%c: i1 {device.binding = #device.binding<scalar "c">},
                  %s: f32 {device.binding = #device.binding<scalar "s">},
                  %x: f32 {device.binding = #device.binding<batch "x">})
    -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK: scf.if %[[C]] -> (f32)
  // CHECK:   scf.for {{.*}} iter_args(%{{.*}} = %[[S]]) -> (f32)
  // CHECK-NOT: %[[X]]
  // CHECK: return
  %r = scf.if %c -> f32 {
    %t:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %s, %b = %x)
        -> (f32, f32) {
      %u = arith.mulf %a, %s : f32
      %v = arith.mulf %b, %b : f32
      scf.yield %u, %v : f32, f32
    }
    scf.yield %t#0 : f32
  } else {
    scf.yield %s : f32
  }
  return %r : f32
}
