// RUN: lockstep-check-plan %s
// RUN: lockstep-opt %s --plan-memory | FileCheck %s

// Branches update variables in place: a path that leaves a variable alone stores nothing. Both lines above: the plans are proven to compute the
// same on memory as on tensors.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @v : tensor<4xf32>
replica.variable @w : tensor<4xf32>
replica.variable @flag : tensor<i1>
replica.variable @square : tensor<2x2xf32>
device.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0>}
device.kernel @f(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 1>}
device.kernel @test(tensor<4xf32>) -> tensor<i1>
device.kernel @unflatten(tensor<4xf32>) -> tensor<2x2xf32>
collective.group @all

// CHECK-LABEL: device.program @update
// CHECK: %[[W:.*]] = device.slice variable[64]
// CHECK: device.branch_unless
// CHECK: device.once
// CHECK-NEXT: device.launch @f reads(%{{.*}}, %[[W]] : {{.*}}) writes(%[[W]] :
// CHECK-NOT: device.copy
// CHECK: device.return
func.func @update(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %c: tensor<i1> {device.binding = #device.binding<scalar "c">},
                  %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  %b = tensor.extract %c[] : tensor<i1>
  %g = device.invoke @f(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h = collective.start all_reduce sum @all channel 0 (%g : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s = collective.wait %h (%g : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %r = scf.if %b -> tensor<4xf32> {
    %n = device.invoke @f(%s, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  } else {
    scf.yield %w : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// The other side reads the variable, too, and what follows reads its new value.
// CHECK-LABEL: device.program @both_sides
// CHECK: %[[W:.*]] = device.slice variable[64]
// CHECK: device.launch @f reads(%{{.*}}, %[[W]] : {{.*}}) writes(%[[W]] :
// CHECK: device.launch @k reads(%[[W]] : {{.*}}) writes(%[[W]] :
// CHECK-NOT: device.copy
// CHECK: device.return
func.func @both_sides(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %c: tensor<i1> {device.binding = #device.binding<scalar "c">},
                      %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<metric "m">}) {
  %b = tensor.extract %c[] : tensor<i1>
  %h = collective.start all_reduce sum @all channel 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %r = scf.if %b -> tensor<4xf32> {
    %n = device.invoke @f(%s, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  } else {
    %n = device.invoke @k(%w) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  %m = device.invoke @f(%r, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r, %m : tensor<4xf32>, tensor<4xf32>
}

// A kernel behind the update reads the old value: the new one is copied at the end of this side, and only there.
// CHECK-LABEL: device.program @read_later
// CHECK: %[[W:.*]] = device.slice variable[64]
// CHECK: device.launch @k reads({{.*}}) writes(%[[N:[0-9]+]] :
// CHECK: device.launch @f reads(%{{.*}}, %[[W]] :
// CHECK: device.copy %[[N]] to %[[W]]
// CHECK-NOT: device.copy %{{.*}} to %[[W]]
// CHECK: device.return
func.func @read_later(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %c: tensor<i1> {device.binding = #device.binding<scalar "c">},
                      %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<metric "m">}) {
  %b = tensor.extract %c[] : tensor<i1>
  %h = collective.start all_reduce sum @all channel 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %r:2 = scf.if %b -> (tensor<4xf32>, tensor<4xf32>) {
    %n = device.invoke @k(%s) : (tensor<4xf32>) -> tensor<4xf32>
    %o = device.invoke @f(%s, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n, %o : tensor<4xf32>, tensor<4xf32>
  } else {
    scf.yield %w, %s : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// What follows the branch reads the old value: nothing is in place.
// CHECK-LABEL: device.program @read_behind
// CHECK: device.copy
// CHECK: device.return
func.func @read_behind(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %c: tensor<i1> {device.binding = #device.binding<scalar "c">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<metric "m">}) {
  %b = tensor.extract %c[] : tensor<i1>
  %r = scf.if %b -> tensor<4xf32> {
    %n = device.invoke @k(%w) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  } else {
    scf.yield %w : tensor<4xf32>
  }
  %m = device.invoke @f(%r, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r, %m : tensor<4xf32>, tensor<4xf32>
}

// Two variables are exchanged through another buffer.
// CHECK-LABEL: device.program @swap
// CHECK: device.copy %{{.*}} to %[[FIRST:.*]] :
// CHECK: device.copy
// CHECK: device.return
func.func @swap(%v: tensor<4xf32> {device.binding = #device.binding<variable "v">}, %w: tensor<4xf32> {device.binding = #device.binding<variable "w">},
                %c: tensor<i1> {device.binding = #device.binding<scalar "c">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "v">}, tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  %b = tensor.extract %c[] : tensor<i1>
  %r:2 = scf.if %b -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %w, %v : tensor<4xf32>, tensor<4xf32>
  } else {
    %n = device.invoke @f(%v, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n, %n : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// A branch in a loop: the next iteration reads the variable again.
// CHECK-LABEL: device.program @loop
// CHECK: device.return
func.func @loop(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %c: tensor<i1> {device.binding = #device.binding<scalar "c">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %b = tensor.extract %c[] : tensor<i1>
  %l = scf.for %i = %zero to %three step %one iter_args(%o = %w) -> tensor<4xf32> {
    %r = scf.if %b -> tensor<4xf32> {
      %n = device.invoke @f(%w, %o) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      scf.yield %n : tensor<4xf32>
    } else {
      scf.yield %o : tensor<4xf32>
    }
    scf.yield %r : tensor<4xf32>
  }
  return %l : tensor<4xf32>
}

// A flag is read where a branch tests it, not where it is extracted: the new one is stored behind the branch.
// CHECK-LABEL: device.program @condition
// CHECK: device.launch @test reads({{.*}}) writes(%[[NEW:[0-9]+]] :
// CHECK: device.branch_unless %[[FLAG:[0-9]+]]
// CHECK: device.copy %[[NEW]] to %[[FLAG]] : <tensor<i1>>
// CHECK: device.return
func.func @condition(%f: tensor<i1> {device.binding = #device.binding<variable "flag">}, %c: tensor<i1> {device.binding = #device.binding<scalar "c">},
                     %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<i1> {device.binding = #device.binding<variable "flag">}, tensor<4xf32> {device.binding = #device.binding<result "m">}) {
  %b = tensor.extract %c[] : tensor<i1>
  %h = collective.start all_reduce sum @all channel 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %r:2 = scf.if %b -> (tensor<i1>, tensor<4xf32>) {
    %e = tensor.extract %f[] : tensor<i1>
    %n = device.invoke @test(%s) : (tensor<4xf32>) -> tensor<i1>
    %q = scf.if %e -> tensor<4xf32> {
      %y = device.invoke @k(%s) : (tensor<4xf32>) -> tensor<4xf32>
      scf.yield %y : tensor<4xf32>
    } else {
      %y = device.invoke @f(%s, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      scf.yield %y : tensor<4xf32>
    }
    scf.yield %n, %q : tensor<i1>, tensor<4xf32>
  } else {
    scf.yield %f, %x : tensor<i1>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<i1>, tensor<4xf32>
}

// A kernel that reads a variable through a view, and is not in place.
// CHECK-LABEL: device.program @view
// CHECK: device.launch @unflatten
// CHECK-NEXT: device.copy
// CHECK: device.return
func.func @view(%w: tensor<2x2xf32> {device.binding = #device.binding<variable "square">})
    -> (tensor<2x2xf32> {device.binding = #device.binding<variable "square">}) {
  %v = tensor.collapse_shape %w [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %n = device.invoke @unflatten(%v) : (tensor<4xf32>) -> tensor<2x2xf32>
  return %n : tensor<2x2xf32>
}
