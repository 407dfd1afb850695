// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(schedule-collectives))" --split-input-file | FileCheck %s

// A collective starts as soon as its operand is ready; its wait follows the kernels that do not need its result.
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
collective.group @all
// CHECK-LABEL: func.func @early_and_late(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>
// CHECK-NEXT: %[[G:.*]] = device.invoke @k(%[[X]])
// CHECK-NEXT: %[[H:.*]] = collective.start all_reduce sum @all(%[[G]]
// CHECK-NEXT: %[[A:.*]] = device.invoke @k(%[[X]])
// CHECK-NEXT: %[[B:.*]] = device.invoke @k(%[[A]])
// CHECK-NEXT: %[[R:.*]] = collective.wait %[[H]]
// CHECK-NEXT: return %[[R]], %[[B]]
func.func @early_and_late(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %g = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %a = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %h = collective.start all_reduce sum @all (%g : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s = collective.wait %h (%g : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %b = device.invoke @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %s, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// Collectives start in the order in which their operands are ready: here the second one immediately, the first one after a kernel. They do not
// move across a barrier.
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
collective.group @all
// CHECK-LABEL: func.func @order(
// CHECK: collective.start all_reduce max @all
// CHECK: %[[A:.*]] = device.invoke
// CHECK: collective.start all_reduce sum @all(%[[A]]
// CHECK: collective.barrier
// CHECK: collective.start all_reduce min @all
func.func @order(%x: tensor<4xf32>) {
  %a = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %h0 = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r0 = collective.wait %h0 (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %h1 = collective.start all_reduce max @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r1 = collective.wait %h1 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  collective.barrier @all
  %h2 = collective.start all_reduce min @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r2 = collective.wait %h2 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// With several roles, collectives keep their order, which is the same in all roles.
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
collective.group @all
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
// CHECK-LABEL: func.func @order_of_roles(
// CHECK: %[[A:.*]] = device.invoke
// CHECK: collective.start all_reduce sum @all(%[[A]]
// CHECK: collective.start all_reduce max @all
// CHECK: collective.barrier
// CHECK: collective.start all_reduce min @all
func.func @order_of_roles(%x: tensor<4xf32>) attributes {device.role = @worker} {
  %a = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %h0 = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r0 = collective.wait %h0 (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %h1 = collective.start all_reduce max @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r1 = collective.wait %h1 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  collective.barrier @all
  %h2 = collective.start all_reduce min @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r2 = collective.wait %h2 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// Collectives that do not depend on a loop with a collective start before it; the loop's body is scheduled too.
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
collective.group @all
// CHECK-LABEL: func.func @loop(
// CHECK: collective.start all_reduce max
// CHECK: collective.start all_reduce min
// CHECK: scf.for
// CHECK: %[[H:.*]] = collective.start all_reduce sum
// CHECK-NEXT: %[[K:.*]] = device.invoke
// CHECK-NEXT: collective.wait %[[H]]
// CHECK-NEXT: scf.yield %[[K]]
func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %h0 = collective.start all_reduce max @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r0 = collective.wait %h0 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %l = scf.for %i = %zero to %one step %one iter_args(%c = %x) -> tensor<4xf32> {
    %h1 = collective.start all_reduce sum @all (%c : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %b = collective.wait %h1 (%c : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %k = device.invoke @k(%c) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %k : tensor<4xf32>
  }
  %h2 = collective.start all_reduce min @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r2 = collective.wait %h2 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %l : tensor<4xf32>
}

// -----

// Kernels that are executed once for all replicas come last, since the replicas rendezvous for them.
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
collective.group @all
// CHECK-LABEL: func.func @uniform(
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<4xf32> {{.*}}, %[[X:[a-z0-9]*]]: tensor<4xf32>
// CHECK: collective.start
// CHECK-NEXT: device.invoke @k(%[[X]])
// CHECK-NEXT: collective.wait
// CHECK-NEXT: device.invoke @k(%[[W]])
func.func @uniform(%w: tensor<4xf32> {device.binding = #device.binding<scalar "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %u = device.invoke @k(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %v = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %u, %s, %v : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Constants come first; a step without collectives keeps its order.
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: func.func @alone(
// CHECK-NEXT: arith.constant
// CHECK-NEXT: %[[A:.*]] = device.invoke
// CHECK-NEXT: %[[B:.*]] = device.invoke
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @alone(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %c = arith.constant dense<1.0> : tensor<4xf32>
  %b = device.invoke @k(%c) : (tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// On a network, a kernel that a collective depends on precedes kernels that only hide one (@hide, 25 s). The next exchange depends on the
// first one (5 s), which has ended when one kernel has been executed: its wait follows that kernel, not all of them. The last wait, on which
// no exchange depends, follows all kernels.
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 1.28, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 4}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
collective.group @all
device.kernel @hide(%x: tensor<4xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
device.kernel @next(%x: tensor<4xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @chain(
// CHECK: %[[G:.*]] = device.invoke @next
// CHECK: %[[H:.*]] = collective.start all_reduce sum
// CHECK: device.invoke @hide
// CHECK: collective.wait %[[H]]
// CHECK: device.invoke @next
// CHECK: %[[K:.*]] = collective.start all_reduce max
// CHECK: device.invoke @hide
// CHECK: device.invoke @hide
// CHECK: collective.wait %[[K]]
func.func @chain(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = device.invoke @hide(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = device.invoke @hide(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = device.invoke @hide(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %g = device.invoke @next(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %h0 = collective.start all_reduce sum @all (%g : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s0 = collective.wait %h0 (%g : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %n = device.invoke @next(%s0) : (tensor<4xf32>) -> tensor<4xf32>
  %h1 = collective.start all_reduce max @all (%n : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s1 = collective.wait %h1 (%n : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %a, %b, %c, %s1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
}

// -----

// On two streams, the latencies of both exchanges overlap (10 s, and 4 s for the bytes): the second one ends after 18 s and not after 28 s, when one
// kernel of 25 s has been executed.
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 1.28, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"streams\": 2, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 10, \"bytes_per_second\": 4}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
collective.group @all
device.kernel @hide(%x: tensor<4xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
device.kernel @next(%x: tensor<4xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @streams(
// CHECK: collective.start all_reduce max
// CHECK: %[[H:.*]] = collective.start all_reduce sum
// CHECK-NEXT: device.invoke @hide
// CHECK-NEXT: collective.wait %[[H]]
// CHECK-NEXT: device.invoke @next
// CHECK-NEXT: collective.start all_reduce min
// CHECK-NEXT: device.invoke @hide
func.func @streams(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %h0 = collective.start all_reduce max @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s0 = collective.wait %h0 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %h1 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s1 = collective.wait %h1 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %n = device.invoke @next(%s1) : (tensor<4xf32>) -> tensor<4xf32>
  %h2 = collective.start all_reduce min @all (%n : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s2 = collective.wait %h2 (%n : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %a = device.invoke @hide(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = device.invoke @hide(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %s0, %b, %s2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
}

// -----

// A reshape needs no command: the collective of the reshaped gradient starts before the next kernel.
// CHECK-LABEL: func.func @reshaped(
// CHECK: device.invoke @first
// CHECK: tensor.collapse_shape
// CHECK-NEXT: collective.start all_reduce sum @all(%{{.*}} : tensor<4xf32>)
// CHECK: device.invoke @second
// CHECK: tensor.collapse_shape
// CHECK-NEXT: collective.start all_reduce sum @all(%{{.*}} : tensor<4xf32>)
module attributes {device.topology = "ethernet-25g"} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @first(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  device.yield %x : tensor<2x2xf32>
}
device.kernel @second(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  device.yield %x : tensor<2x2xf32>
}
collective.group @all
func.func @reshaped(%x: tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = device.invoke @first(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %b = device.invoke @second(%a) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %fa = tensor.collapse_shape %a [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %ha = collective.start all_reduce sum @all (%fa : tensor<4xf32>) -> <tensor<4xf32>>
  %sa = collective.wait %ha (%fa : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  %fb = tensor.collapse_shape %b [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %hb = collective.start all_reduce sum @all (%fb : tensor<4xf32>) -> <tensor<4xf32>>
  %sb = collective.wait %hb (%fb : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  return %sa, %sb : tensor<4xf32>, tensor<4xf32>
}
}
