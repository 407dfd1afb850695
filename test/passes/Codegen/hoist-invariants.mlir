// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(hoist-invariants))' --split-input-file | FileCheck %s

// The load of a scalar that all elements share is hoisted out of the loop, with what is computed from it alone.
// CHECK-LABEL: func.func @shared(
// CHECK: %[[RATE:.*]] = memref.load %arg1[]
// CHECK: %[[EXP:.*]] = math.exp %[[RATE]]
// CHECK: scf.for
// CHECK: memref.load %arg0
// CHECK: arith.mulf %{{.*}}, %[[EXP]]
func.func @shared(%a: memref<8xf32>, %rate: memref<f32>, %r: memref<8xf32>, %n: index)
    attributes {lockstep.in_place = array<i64: 0>, lockstep.num_buffers = 3 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %rate[] : memref<f32>
    %1 = math.exp %0 : f32
    %2 = memref.load %a[%i] : memref<8xf32>
    %3 = arith.mulf %2, %1 : f32
    memref.store %3, %r[%i] : memref<8xf32>
  }
  return
}

// -----

// The load of one element per row is hoisted out of the loop over columns, but not out of the loop over rows. It is not hoisted out of a loop
// that may have no iterations: the element need not exist then.
// CHECK-LABEL: func.func @rows(
// CHECK: scf.for
// CHECK-NEXT: memref.load %arg1
// CHECK-NEXT: scf.for
// CHECK-NOT: memref.load %arg1
// CHECK: scf.for
// CHECK-NEXT: memref.load %arg1
func.func @rows(%a: memref<4x8xf32>, %v: memref<?xf32>, %r: memref<4x8xf32>, %n: index)
    attributes {lockstep.in_place = array<i64: -1>, lockstep.num_buffers = 3 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %0 = memref.load %v[%i] : memref<?xf32>
      %1 = memref.load %a[%i, %j] : memref<4x8xf32>
      %2 = arith.mulf %0, %1 : f32
      memref.store %2, %r[%i, %j] : memref<4x8xf32>
    }
  }
  scf.for %j = %c0 to %n step %c1 {
    %0 = memref.load %v[%c4] : memref<?xf32>
    memref.store %0, %r[%c0, %j] : memref<4x8xf32>
  }
  return
}

// -----

// A load stays in the loop if the loop writes to its buffer, or to a result that is in place of its buffer. A load in a branch stays too.
// CHECK-LABEL: func.func @written(
// CHECK-NOT: memref.load
// CHECK: scf.for
// CHECK: memref.load %arg0[%c0]
// CHECK: memref.load %arg2[%c1]
// CHECK: scf.if
// CHECK-NEXT: memref.load %arg1
func.func @written(%a: memref<8xf32>, %b: memref<8xf32>, %r: memref<8xf32>, %c: i1)
    attributes {lockstep.in_place = array<i64: 0>, lockstep.num_buffers = 3 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = memref.load %a[%c0] : memref<8xf32>
    %1 = memref.load %r[%c1] : memref<8xf32>
    %2 = arith.addf %0, %1 : f32
    memref.store %2, %r[%i] : memref<8xf32>
    scf.if %c {
      %3 = memref.load %b[%c0] : memref<8xf32>
      memref.store %3, %r[%i] : memref<8xf32>
    }
  }
  return
}

// -----

// A buffer that is selected at run time may alias the one that the loop writes, so its load stays.
// CHECK-LABEL: func.func @chosen(
// CHECK: scf.for
// CHECK: memref.load %{{.*}}[%c0]
func.func @chosen(%a: memref<8xf32>, %r: memref<8xf32>, %c: i1) attributes {lockstep.in_place = array<i64: -1>, lockstep.num_buffers = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %either = arith.select %c, %a, %r : memref<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = memref.load %either[%c0] : memref<8xf32>
    memref.store %0, %r[%i] : memref<8xf32>
  }
  return
}
