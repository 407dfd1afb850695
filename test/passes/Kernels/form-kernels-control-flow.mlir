// RUN: lockstep-opt %s --form-kernels --split-input-file | FileCheck %s

// A loop with collectives stays in the step, and its body becomes invocations of kernels too. Collectives keep their order; neither
// they nor the terminator become part of a kernel.
#id = affine_map<(i) -> (i)>
collective.group @all
// CHECK-LABEL: func.func @loop(
// CHECK: scf.for
// CHECK-NEXT: %[[A:.*]] = device.invoke
// CHECK-NEXT: %[[H:.*]] = collective.start all_reduce sum @all(%[[A]]
// CHECK-NEXT: %[[R:.*]] = collective.wait %[[H]](%[[A]]
// CHECK-NEXT: scf.yield %[[R]]
func.func @loop(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<8xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %e = tensor.empty() : tensor<8xf32>
  %l = scf.for %i = %zero to %four step %one iter_args(%c = %x) -> tensor<8xf32> {
    %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%c : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      %0 = math.exp %in : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    %h = collective.start all_reduce sum @all (%a : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
    %s = collective.wait %h (%a : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  return %l : tensor<8xf32>
}

// -----

// A loop of cheap arithmetic is part of a kernel.
#id = affine_map<(i) -> (i)>
// CHECK: device.kernel private @small_loop_0_
// CHECK: scf.for
// CHECK-LABEL: func.func @small_loop(
// CHECK-NOT: scf.for
// CHECK: return
func.func @small_loop(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<8xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %e = tensor.empty() : tensor<8xf32>
  %l = scf.for %i = %zero to %four step %one iter_args(%c = %x) -> tensor<8xf32> {
    %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%c : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      %0 = math.exp %in : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    scf.yield %a : tensor<8xf32>
  }
  return %l : tensor<8xf32>
}

// -----

// A condition that is computed from scalars is passed in memory: a kernel writes it, the branch reads it.
#id = affine_map<(i) -> (i)>
collective.group @all
// CHECK: device.kernel private @condition_0_{{.*}} -> tensor<i1>
// CHECK: arith.cmpi
// CHECK: tensor.from_elements
// CHECK-LABEL: func.func @condition(
// CHECK: %[[C:.*]] = device.invoke @condition_0_{{.*}} -> tensor<i1>
// CHECK-NEXT: %[[B:.*]] = tensor.extract %[[C]][] : tensor<i1>
// CHECK-NEXT: scf.if %[[B]]
func.func @condition(%n: tensor<i32> {device.binding = #device.binding<scalar "n">}, %x: tensor<8xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<8xf32> {device.binding = #device.binding<result "r">}) {
  %five = arith.constant 5 : i32
  %i = tensor.extract %n[] : tensor<i32>
  %less = arith.cmpi slt, %i, %five : i32
  %r = scf.if %less -> tensor<8xf32> {
    %h = collective.start all_reduce sum @all (%x : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
    %s = collective.wait %h (%x : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// So is a computed bound of a loop; the step loads it as an integer.
#id = affine_map<(i) -> (i)>
collective.group @all
// CHECK: device.kernel private @bound_0_{{.*}} -> tensor<i64>
// CHECK-LABEL: func.func @bound(
// CHECK: %[[N:.*]] = tensor.extract %{{.*}}[] : tensor<i64>
// CHECK-NEXT: %[[U:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[U]]
func.func @bound(%n: tensor<i32> {device.binding = #device.binding<scalar "n">}, %x: tensor<8xf32> {device.binding = #device.binding<batch "x">}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : i32
  %i = tensor.extract %n[] : tensor<i32>
  %twice = arith.muli %i, %two : i32
  %upper = arith.index_cast %twice : i32 to index
  scf.for %k = %zero to %upper step %one {
    %h = collective.start all_reduce sum @all (%x : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
    %s = collective.wait %h (%x : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  }
  return
}

// -----

// A fill that the step itself uses becomes a kernel, since a collective reads memory.
collective.group @all
// CHECK: device.kernel private @filled_0_
// CHECK: linalg.fill
// CHECK-LABEL: func.func @filled(
// CHECK: %[[F:.*]] = device.invoke
// CHECK-NEXT: collective.start all_reduce sum @all(%[[F]]
func.func @filled() -> (tensor<8xf32> {device.binding = #device.binding<result "r">}) {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %h = collective.start all_reduce sum @all (%f : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
  %s = collective.wait %h (%f : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

// A fill outside of a loop that uses it is materialized in the loop, since the kernels of the outer block have been formed by then.
collective.group @all
// CHECK-LABEL: func.func @filled_outside(
// CHECK: scf.for
// CHECK-NEXT: %[[F:.*]] = device.invoke
// CHECK-NEXT: %[[H:.*]] = collective.start all_reduce sum @all(%[[F]]
// CHECK-NEXT: collective.wait %[[H]](%[[F]]
func.func @filled_outside(%n: tensor<i32> {device.binding = #device.binding<scalar "n">}) {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %step = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  scf.for %k = %zero to %two step %step {
    %h = collective.start all_reduce sum @all (%f : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
    %s = collective.wait %h (%f : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  }
  return
}

// -----

// So is the condition of a branch in a loop.
collective.group @all
// CHECK-LABEL: func.func @condition_outside(
// CHECK: scf.for
// CHECK-NEXT: %[[C:.*]] = device.invoke
// CHECK-NEXT: %[[B:.*]] = tensor.extract %[[C]][]
// CHECK-NEXT: scf.if %[[B]]
func.func @condition_outside(%n: tensor<i32> {device.binding = #device.binding<scalar "n">}) {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %step = arith.constant 1 : index
  %five = arith.constant 5 : i32
  %i = tensor.extract %n[] : tensor<i32>
  %less = arith.cmpi slt, %i, %five : i32
  scf.for %k = %zero to %two step %step {
    scf.if %less {
      collective.barrier @all
    }
  }
  return
}

// -----

// Scalar results of a kernel are passed in memory: a float and an index of a loop become two tensors of rank 0, which their users read.
collective.group @all
// CHECK-LABEL: device.kernel private @scalars_0_
// CHECK-SAME: -> (tensor<f32>, tensor<i64>, tensor<8xf32>)
// CHECK: %[[L:.*]]:3 = scf.for
// CHECK-DAG: %[[F:.*]] = tensor.from_elements %[[L]]#0 : tensor<f32>
// CHECK-DAG: %[[C:.*]] = arith.index_cast %[[L]]#1 : index to i64
// CHECK-DAG: %[[N:.*]] = tensor.from_elements %[[C]] : tensor<i64>
// CHECK: device.yield %[[F]], %[[N]], %[[L]]#2
// CHECK-LABEL: func.func @scalars(
// CHECK: %[[K:.*]]:3 = device.invoke @scalars_0_
// CHECK-DAG: %[[E:.*]] = tensor.extract %[[K]]#1[] : tensor<i64>
// CHECK-DAG: %[[TO:.*]] = arith.index_cast %[[E]] : i64 to index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[TO]]
func.func @scalars(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<1024x1024xf32> {device.binding = #device.binding<result "r">}, tensor<8xf32> {device.binding = #device.binding<result "t">}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %half = arith.constant 0.5 : f32
  %big = arith.constant 1000000 : index
  %l:3 = scf.for %i = %zero to %big step %one iter_args(%f = %half, %k = %zero, %t = %x) -> (f32, index, tensor<8xf32>) {
    %g = arith.mulf %f, %f : f32
    %n = arith.addi %k, %i : index
    scf.yield %g, %n, %t : f32, index, tensor<8xf32>
  }
  %wide = tensor.generate {
  ^bb0(%i: index, %j: index):
    tensor.yield %l#0 : f32
  } : tensor<1024x1024xf32>
  scf.for %i = %zero to %l#1 step %one {
    collective.barrier @all
  }
  return %wide, %l#2 : tensor<1024x1024xf32>, tensor<8xf32>
}

// -----

// A branch with much work stays in the step, too, and becomes kernels that are divided among workers. A kernel that computes the new value of
// a variable on one side may do so in its place.
#id = affine_map<(i) -> (i)>
#sum = affine_map<(i) -> ()>
// CHECK: device.kernel private @large_branch_{{.*}} in_place = array<i64: 1>
// CHECK-LABEL: func.func @large_branch(
// CHECK: scf.if
// CHECK-NEXT: device.invoke
// CHECK-NEXT: device.invoke
// CHECK-NEXT: scf.yield
// CHECK-NEXT: else
// CHECK-NEXT: scf.yield %{{.*}}
func.func @large_branch(%w: tensor<700000xf32> {device.binding = #device.binding<variable "w">}, %c: tensor<i1> {device.binding = #device.binding<scalar "c">})
    -> (tensor<700000xf32> {device.binding = #device.binding<variable "w">}) {
  %zero = arith.constant 0.0 : f32
  %condition = tensor.extract %c[] : tensor<i1>
  %scalar = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<700000xf32>
  %r = scf.if %condition -> tensor<700000xf32> {
    %f = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
    %norm = linalg.generic {indexing_maps = [#id, #sum], iterator_types = ["reduction"]} ins(%w : tensor<700000xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %o: f32):
      %0 = math.absf %in : f32
      %1 = arith.addf %o, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<f32>
    %n = linalg.generic {indexing_maps = [#sum, #id, #id], iterator_types = ["parallel"]} ins(%norm, %w : tensor<f32>, tensor<700000xf32>) outs(%e : tensor<700000xf32>) {
    ^bb0(%s: f32, %in: f32, %o: f32):
      %0 = arith.divf %in, %s : f32
      linalg.yield %0 : f32
    } -> tensor<700000xf32>
    scf.yield %n : tensor<700000xf32>
  } else {
    scf.yield %w : tensor<700000xf32>
  }
  return %r : tensor<700000xf32>
}
