// RUN: split-file %s %t
// RUN: lockstep-check-plan %t/variables.mlir
// RUN: lockstep-check-plan %t/carried.mlir
// RUN: lockstep-check-plan %t/branches.mlir
// RUN: lockstep-check-plan %t/while.mlir
// RUN: lockstep-check-plan %t/flight.mlir
// RUN: lockstep-check-plan %t/nested.mlir
// RUN: lockstep-check-plan %t/groups.mlir
// RUN: lockstep-check-plan %t/outputs.mlir
// RUN: lockstep-check-plan %t/joined.mlir

// Steps that are easy to plan wrongly: each is planned with and without reuse, and is proven to compute the same on memory as on tensors.

//--- variables.mlir
// Variables that exchange their values, mirrored and per-replica ones; variables that are assigned another variable, an input or a constant.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
replica.variable @a : tensor<4xf32>
replica.variable @b : tensor<4xf32>
replica.variable @c : tensor<4xf32>
replica.variable @p : tensor<4xf32> {synchronization = #replica.synchronization<on_read>}
replica.variable @q : tensor<4xf32> {synchronization = #replica.synchronization<on_read>}
replica.variable @r : tensor<4xf32> {synchronization = #replica.synchronization<on_read>}
func.func @swap(%a: tensor<4xf32> {device.binding = #device.binding<variable "a">}, %b: tensor<4xf32> {device.binding = #device.binding<variable "b">},
                %c: tensor<4xf32> {device.binding = #device.binding<variable "c">},
                %p: tensor<4xf32> {device.binding = #device.binding<variable "p">}, %q: tensor<4xf32> {device.binding = #device.binding<variable "q">},
                %r: tensor<4xf32> {device.binding = #device.binding<variable "r">},
                %s: tensor<4xf32> {device.binding = #device.binding<batch "s">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "a">}, tensor<4xf32> {device.binding = #device.binding<variable "b">},
        tensor<4xf32> {device.binding = #device.binding<variable "c">},
        tensor<4xf32> {device.binding = #device.binding<variable "p">}, tensor<4xf32> {device.binding = #device.binding<variable "q">},
        tensor<4xf32> {device.binding = #device.binding<variable "r">}) {
  %one = arith.constant dense<1.0> : tensor<4xf32>
  return %b, %a, %one, %q, %p, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

//--- carried.mlir
// Loop-carried values that rotate, are yielded twice, come from outside, and are the new values of variables.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<4xf32>
device.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0>}
device.kernel @f(tensor<4xf32>, tensor<4xf32>, index) -> tensor<4xf32> attributes {in_place = array<i64: 1>}
collective.group @all
func.func @loop(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %n: tensor<i32> {device.binding = #device.binding<scalar "n">},
                %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<metric "m">},
        tensor<4xf32> {device.binding = #device.binding<result "r">}, tensor<4xf32> {device.binding = #device.binding<result "t">}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %e = tensor.extract %n[] : tensor<i32>
  %u = arith.index_cast %e : i32 to index
  %i = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %l:5 = scf.for %k = %zero to %u step %one iter_args(%a = %i, %b = %x, %c = %x, %d = %i, %v = %w)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %f = device.invoke @f(%a, %b, %k) : (tensor<4xf32>, tensor<4xf32>, index) -> tensor<4xf32>
    %h = collective.start all_reduce sum @all channel 0 (%f : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = device.invoke @k(%c) : (tensor<4xf32>) -> tensor<4xf32>
    %s = collective.wait %h (%f : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %z = device.invoke @f(%v, %s, %k) : (tensor<4xf32>, tensor<4xf32>, index) -> tensor<4xf32>
    scf.yield %b, %a, %g, %g, %z : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %l#4, %l#4, %l#0, %l#3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

//--- branches.mlir
// Branches that yield a variable, an input, the same value twice, or a value from outside; results that are in a bucket and in a variable.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<4xf32>
device.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0>}
device.kernel @f(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 1>}
collective.group @all
func.func @branch(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %c: tensor<i1> {device.binding = #device.binding<scalar "c">},
                  %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<metric "m">},
        tensor<4xf32> {device.binding = #device.binding<result "r">}) {
  %b = tensor.extract %c[] : tensor<i1>
  %a = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %r:4 = scf.if %b -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %h = collective.start all_reduce sum @all channel 0 (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %n = device.invoke @f(%w, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %i = device.invoke @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n, %i, %i, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } else {
    scf.yield %w, %x, %a, %w : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %h1 = collective.start all_reduce sum @all channel 1 (%r#1, %r#2, %r#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      -> !collective.pending<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
  %t = device.invoke @f(%r#1, %r#2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s1:3 = collective.wait %h1 (%r#1, %r#2, %r#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      : !collective.pending<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  %o = device.invoke @f(%s1#0, %s1#2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %p = device.invoke @f(%o, %r#3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r#0, %p, %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

//--- while.mlir
// A loop with a condition: forwarded values in another order than carried ones, one of them used after the loop.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @s : tensor<4xf32>
device.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0>}
device.kernel @test(tensor<4xf32>) -> tensor<i1>
collective.group @all
func.func @while(%s: tensor<4xf32> {device.binding = #device.binding<variable "s">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<metric "m">}, tensor<4xf32> {device.binding = #device.binding<result "r">}) {
  %i = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %w:2 = scf.while (%a = %s, %b = %i) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %t = device.invoke @test(%a) : (tensor<4xf32>) -> tensor<i1>
    %c = tensor.extract %t[] : tensor<i1>
    scf.condition(%c) %b, %a : tensor<4xf32>, tensor<4xf32>
  } do {
  ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>):
    %h = collective.start all_reduce sum @all channel 0 (%c : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = device.invoke @k(%c) : (tensor<4xf32>) -> tensor<4xf32>
    %r = collective.wait %h (%c : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %e = device.invoke @k(%d) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %e, %g : tensor<4xf32>, tensor<4xf32>
  }
  return %w#1, %w#0 : tensor<4xf32>, tensor<4xf32>
}

//--- flight.mlir
// Two collectives in flight at once; an operand that is read while it is in flight, by a kernel that could work in place, and again afterwards;
// views of an operand in the same bucket.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0>, scratch = 64 : i64}
device.kernel @v(tensor<2x2xf32>) -> tensor<2x2xf32> attributes {in_place = array<i64: 0>}
collective.group @all
func.func @flight(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<2x2xf32> {device.binding = #device.binding<metric "m">}, tensor<4xf32> {device.binding = #device.binding<metric "n">},
        tensor<2x2xf32> {device.binding = #device.binding<result "r">}) {
  %a = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = tensor.expand_shape %a [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %h = collective.start all_reduce sum @all channel 0 (%a, %b : tensor<4xf32>, tensor<2x2xf32>) -> !collective.pending<tensor<4xf32>, tensor<2x2xf32>>
  %c = device.invoke @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %i = collective.start all_reduce max @all channel 1 (%c : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %d = device.invoke @v(%b) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %r:2 = collective.wait %h (%a, %b : tensor<4xf32>, tensor<2x2xf32>) : !collective.pending<tensor<4xf32>, tensor<2x2xf32>> -> tensor<4xf32>, tensor<2x2xf32>
  %e = device.invoke @v(%d) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %s = collective.wait %i (%c : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %f = device.invoke @k(%s) : (tensor<4xf32>) -> tensor<4xf32>
  return %r#1, %f, %e : tensor<2x2xf32>, tensor<4xf32>, tensor<2x2xf32>
}

//--- nested.mlir
// A branch in a loop in a loop, with values that are live across each of them.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<4xf32>
device.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0>}
device.kernel @f(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0>}
device.kernel @test(tensor<4xf32>) -> tensor<i1>
collective.group @all
func.func @nested(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %n: tensor<i64> {device.binding = #device.binding<scalar "n">},
                  %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %e = tensor.extract %n[] : tensor<i64>
  %u = arith.index_cast %e : i64 to index
  %a = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = device.invoke @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %l:2 = scf.for %i = %zero to %u step %one iter_args(%v = %w, %c = %b) -> (tensor<4xf32>, tensor<4xf32>) {
    %d = device.invoke @f(%c, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %m:2 = scf.for %j = %zero to %two step %one iter_args(%y = %v, %z = %d) -> (tensor<4xf32>, tensor<4xf32>) {
      %t = device.invoke @test(%y) : (tensor<4xf32>) -> tensor<i1>
      %g = tensor.extract %t[] : tensor<i1>
      %p:2 = scf.if %g -> (tensor<4xf32>, tensor<4xf32>) {
        %h = collective.start all_reduce sum @all channel 0 (%z : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
        %q = device.invoke @f(%z, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        %s = collective.wait %h (%z : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
        %o = device.invoke @f(%y, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        scf.yield %o, %q : tensor<4xf32>, tensor<4xf32>
      } else {
        scf.yield %y, %d : tensor<4xf32>, tensor<4xf32>
      }
      scf.yield %p#0, %p#1 : tensor<4xf32>, tensor<4xf32>
    }
    %q = device.invoke @f(%m#1, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %m#0, %q : tensor<4xf32>, tensor<4xf32>
  }
  %r = device.invoke @f(%l#1, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %l#0, %r : tensor<4xf32>, tensor<4xf32>
}

//--- groups.mlir
// The result of a collective over some of the ranks is not equal on all ranks, so it is not stored once.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
collective.group @even {ranks = array<i64: 0, 2>}
func.func @groups(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<4xf32> {device.binding = #device.binding<result "r">}) {
  %h = collective.start all_reduce sum @even channel 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %k = device.invoke @k(%s) : (tensor<4xf32>) -> tensor<4xf32>
  return %k : tensor<4xf32>
}

//--- outputs.mlir
// Results that are the old values of variables, assigned ones among them, a batch, a scalar, a constant, the rank, and a value twice.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<4xf32>
replica.variable @v : tensor<4xf32>
replica.variable @n : tensor<4xf32> {synchronization = #replica.synchronization<on_read>}
device.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0>}
func.func @outputs(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %v: tensor<4xf32> {device.binding = #device.binding<variable "v">},
                   %n: tensor<4xf32> {device.binding = #device.binding<variable "n">}, %rank: tensor<i32> {device.binding = #device.binding<rank "">},
                   %x: tensor<2x2xf32> {device.binding = #device.binding<batch "x">}, %lr: tensor<f32> {device.binding = #device.binding<scalar "lr">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<variable "n">},
        tensor<4xf32> {device.binding = #device.binding<metric "old">}, tensor<2x2xf32> {device.binding = #device.binding<result "view">},
        tensor<4xf32> {device.binding = #device.binding<metric "new">}, tensor<4xf32> {device.binding = #device.binding<metric "kept">},
        tensor<4xf32> {device.binding = #device.binding<result "n">}, tensor<4xf32> {device.binding = #device.binding<result "x">},
        tensor<f32> {device.binding = #device.binding<metric "lr">}, tensor<f32> {device.binding = #device.binding<metric "one">},
        tensor<i32> {device.binding = #device.binding<result "rank">}, tensor<4xf32> {device.binding = #device.binding<metric "again">}) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %view = tensor.expand_shape %w [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %a = device.invoke @k(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %b = device.invoke @k(%n) : (tensor<4xf32>) -> tensor<4xf32>
  return %a, %b, %w, %view, %a, %v, %n, %flat, %lr, %one, %rank, %a
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>,
        tensor<i32>, tensor<4xf32>
}

//--- joined.mlir
// Gathered pieces that are next to each other in memory, with another member of the collective before them: one value, which is read when both
// pieces are dead. The buffer that `@f` needs is not placed in them meanwhile.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @b : tensor<8xf32> {whole_shape = array<i64: 16>}
replica.variable @w0 : tensor<16xf32> {whole_shape = array<i64: 8, 4>}
replica.variable @w1 : tensor<16xf32> {whole_shape = array<i64: 8, 4>}
collective.group @all
device.kernel @k(tensor<16xf32>) -> tensor<64xf32>
device.kernel @f(tensor<64xf32>, tensor<32xf32>) -> tensor<64xf32> attributes {in_place = array<i64: 0>}
device.kernel @g(tensor<64xf32>, tensor<16x4xf32>) -> tensor<16xf32>
func.func @joined(%b: tensor<8xf32> {device.binding = #device.binding<variable "b">}, %w0: tensor<16xf32> {device.binding = #device.binding<variable "w0">},
                  %w1: tensor<16xf32> {device.binding = #device.binding<variable "w1">})
    -> (tensor<16xf32> {device.binding = #device.binding<variable "w0">}, tensor<16xf32> {device.binding = #device.binding<variable "w1">}) {
  %h = collective.start all_gather none @all channel 0 axis 0 (%b, %w0, %w1 : tensor<8xf32>, tensor<16xf32>, tensor<16xf32>)
      -> <tensor<16xf32>, tensor<32xf32>, tensor<32xf32>>
  %r:3 = collective.wait %h (%b, %w0, %w1 : tensor<8xf32>, tensor<16xf32>, tensor<16xf32>)
      : <tensor<16xf32>, tensor<32xf32>, tensor<32xf32>> -> tensor<16xf32>, tensor<32xf32>, tensor<32xf32>
  %whole = tensor.concat dim(0) %r#1, %r#2 : (tensor<32xf32>, tensor<32xf32>) -> tensor<64xf32>
  %rows = tensor.expand_shape %whole [[0, 1]] output_shape [16, 4] : tensor<64xf32> into tensor<16x4xf32>
  %0 = device.invoke @k(%r#0) : (tensor<16xf32>) -> tensor<64xf32>
  %1 = device.invoke @f(%0, %r#1) : (tensor<64xf32>, tensor<32xf32>) -> tensor<64xf32>
  %2 = device.invoke @g(%1, %rows) : (tensor<64xf32>, tensor<16x4xf32>) -> tensor<16xf32>
  return %2, %w0 : tensor<16xf32>, tensor<16xf32>
}
