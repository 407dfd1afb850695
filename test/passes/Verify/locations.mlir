// RUN: not lockstep-opt %s --verify-uniformity --split-input-file 2>&1 | FileCheck %s

// Errors and notes are at the lines of the user's program: at the innermost line of inlined calls, with one note for all operations of
// one line. The middle of a long path is left out.

#step = loc("model.py":40:3)
#x = loc("x"("model.py":38:10))
#id = loc(callsite("model.py":12:8 at #step))
#condition = loc("model.py":13:6)
#reduce = loc("jit(step)/psum"(callsite("model.py":21:10 at callsite("model.py":33:4 at #step))))

// CHECK: model.py:21:10: error: 'replica.all_reduce' is under a condition that may differ between replicas
// CHECK-NEXT: model.py:13:6: note: the condition of this branch may differ between replicas
// CHECK-NEXT: where it is true
// CHECK-NEXT: all_reduce sum
// CHECK-NEXT: model.py:12:8: note: 'replica.id' is different on each replica
// CHECK-NOT: note:
replica.step @inlined(%x: tensor<4xf32> {replica.batch = "x"} loc(#x)) {
  %id = replica.id : tensor<i32> loc(#id)
  %c0 = arith.constant 0 : i32 loc(#condition)
  %i = tensor.extract %id[] : tensor<i32> loc(#id)
  %first = arith.cmpi eq, %i, %c0 : i32 loc(#condition)
  scf.if %first {
    %0 = replica.all_reduce sum %x : tensor<4xf32> loc(#reduce)
  } loc(#condition)
  replica.return
} loc(#step)

// -----

#step = loc("model.py":50:3)
#line = loc("model.py":51:6)
#reduce = loc("model.py":52:10)

// The whole condition is on one line: the note on its source is printed nevertheless.
// CHECK: model.py:52:10: error: 'replica.all_reduce' is under a condition
// CHECK-NEXT: model.py:51:6: note: the condition of this branch may differ
// CHECK-NEXT: where it is true
// CHECK-NEXT: all_reduce sum
// CHECK-NEXT: model.py:51:6: note: 'replica.id' is different on each replica
// CHECK-NOT: note:
replica.step @one_line(%x: tensor<4xf32> {replica.batch = "x"} loc(#step)) {
  %id = replica.id : tensor<i32> loc(#line)
  %i = tensor.extract %id[] : tensor<i32> loc(#line)
  %odd = arith.trunci %i : i32 to i1 loc(#line)
  scf.if %odd {
    %0 = replica.all_reduce sum %x : tensor<4xf32> loc(#reduce)
  } loc(#line)
  replica.return
} loc(#step)

// -----

#x = loc("x"("long.py":1:1))
// Both ends of a long path are printed.
// CHECK: long.py:100:1: error: variable 'w' is assigned a value that may differ
// CHECK-NEXT: note: the variable is declared here
// CHECK: long.py:21:1: note: 'math.absf' makes it from a value that may differ
// CHECK-NEXT: long.py:20:1: note:
// CHECK-NEXT: long.py:19:1: note:
// CHECK-NEXT: long.py:18:1: note:
// CHECK-NEXT: long.py:17:1: note:
// CHECK-NEXT: long.py:16:1: note:
// CHECK-NEXT: long.py:15:1: note: (9 more steps from here)
// CHECK-NEXT: long.py:6:1: note:
// CHECK-NEXT: long.py:5:1: note:
// CHECK-NEXT: long.py:4:1: note:
// CHECK-NEXT: long.py:3:1: note:
// CHECK-NEXT: long.py:2:1: note:
// CHECK-NEXT: long.py:1:1: note: batch argument 'x' is different on each replica
replica.variable @w : tensor<f32>
replica.step @long(%x: tensor<f32> {replica.batch = "x"} loc(#x)) {
  %0 = math.absf %x : tensor<f32> loc("long.py":2:1)
  %1 = math.absf %0 : tensor<f32> loc("long.py":3:1)
  %2 = math.absf %1 : tensor<f32> loc("long.py":4:1)
  %3 = math.absf %2 : tensor<f32> loc("long.py":5:1)
  %4 = math.absf %3 : tensor<f32> loc("long.py":6:1)
  %5 = math.absf %4 : tensor<f32> loc("long.py":7:1)
  %6 = math.absf %5 : tensor<f32> loc("long.py":8:1)
  %7 = math.absf %6 : tensor<f32> loc("long.py":9:1)
  %8 = math.absf %7 : tensor<f32> loc("long.py":10:1)
  %9 = math.absf %8 : tensor<f32> loc("long.py":11:1)
  %10 = math.absf %9 : tensor<f32> loc("long.py":12:1)
  %11 = math.absf %10 : tensor<f32> loc("long.py":13:1)
  %12 = math.absf %11 : tensor<f32> loc("long.py":14:1)
  %13 = math.absf %12 : tensor<f32> loc("long.py":15:1)
  %14 = math.absf %13 : tensor<f32> loc("long.py":16:1)
  %15 = math.absf %14 : tensor<f32> loc("long.py":17:1)
  %16 = math.absf %15 : tensor<f32> loc("long.py":18:1)
  %17 = math.absf %16 : tensor<f32> loc("long.py":19:1)
  %18 = math.absf %17 : tensor<f32> loc("long.py":20:1)
  %19 = math.absf %18 : tensor<f32> loc("long.py":21:1)
  replica.assign @w, %19 : tensor<f32> loc("long.py":100:1)
  replica.return
}

// -----

// For an argument whose location has a name but no line, the note is at the line that uses it.
// CHECK: named.py:9:1: error: metric 'm' may differ
// CHECK-NEXT: named.py:9:1: note: 'math.absf' makes it from a value that may differ
// CHECK-NEXT: named.py:9:1: note: batch argument 'x' is different on each replica
replica.step @named(%x: tensor<f32> {replica.batch = "x"} loc("x")) -> (tensor<f32> {replica.metric = "m"}) {
  %0 = math.absf %x : tensor<f32> loc("named.py":9:1)
  replica.return %0 : tensor<f32>
}
