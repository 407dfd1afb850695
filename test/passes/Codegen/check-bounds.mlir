// RUN: lockstep-opt %s --check-bounds --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --check-bounds=accesses=false --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: lockstep-opt %s --check-bounds=gpu --split-input-file | FileCheck %s --check-prefix=GPU

// Each index of an element is compared with the size of its dimension; the message names the source line.
// CHECK: llvm.mlir.global internal constant @[[TEXT:.*]]("model.py:7: expected an index in [0, {bound}) for dimension 1 of tensor<4x8xf32>, found {value} [E_OUT_OF_RANGE]
// CHECK: llvm.func @lockstep_fail(!llvm.ptr, i64, i64)
// CHECK-LABEL: func.func @element(
// CHECK: %[[ROW:.*]] = arith.cmpi ult, %arg1, %{{.*}} : index
// CHECK: cf.cond_br %[[ROW]], ^[[NEXT:.*]], ^[[FAIL:.*]](
// CHECK: ^[[NEXT]]:
// CHECK: %[[COLUMN:.*]] = arith.cmpi ult, %arg2, %{{.*}} : index
// CHECK: llvm.mlir.addressof @[[TEXT]]
// CHECK: cf.cond_br %[[COLUMN]], ^[[ACCESS:.*]], ^[[FAIL]](
// CHECK: ^[[ACCESS]]:
// CHECK-NEXT: memref.load
// CHECK: ^[[FAIL]](%[[MESSAGE:.*]]: !llvm.ptr, %{{.*}}: index, %{{.*}}: index):
// CHECK: llvm.call @lockstep_fail(%[[MESSAGE]]
// CHECK-NEXT: return
// NONE-NOT: lockstep_fail

// The first thread of a GPU whose check fails records the numbers.
// GPU: llvm.mlir.global external constant @lockstep_check_2("model.py:7: expected an index in [0, {bound}) for dimension 1 of {{.*}}\00") {addr_space = 1 : i32}
// GPU: llvm.mlir.global external constant @lockstep_check_1("model.py:7: expected an index in [0, {bound}) for dimension 0 of {{.*}}\00") {addr_space = 1 : i32}
// GPU: llvm.mlir.global external @lockstep_fault(dense<0> : tensor<4xi64>) {addr_space = 1 : i32, alignment = 8 : i64} : !llvm.array<4 x i64>
// GPU-LABEL: func.func @element(
// GPU: %[[FIRST:.*]] = arith.constant 1 : i64
// GPU: cf.cond_br %{{.*}}, ^{{.*}}, ^[[RECORD:.*]](%[[FIRST]], %arg1, %{{.*}} : i64, index, index)
// GPU: ^[[RECORD]](%[[TEXT:.*]]: i64, %[[VALUE:.*]]: index, %[[BOUND:.*]]: index):
// GPU: %[[FAULT:.*]] = llvm.mlir.addressof @lockstep_fault : !llvm.ptr<1>
// GPU: %[[OLD:.*]] = llvm.cmpxchg %[[FAULT]], %{{.*}}, %{{.*}} monotonic monotonic : !llvm.ptr<1>, i64
// GPU: %[[IS:.*]] = llvm.extractvalue %[[OLD]][1]
// GPU: cf.cond_br %[[IS]], ^[[NOTE:.*]], ^[[DONE:.*]]
// GPU: ^[[NOTE]]:
// GPU: llvm.getelementptr %[[FAULT]][1]
// GPU: llvm.store %[[TEXT]]
// GPU: llvm.getelementptr %[[FAULT]][3]
// GPU: ^[[DONE]]:
// GPU-NEXT: return
func.func @element(%m: memref<4x8xf32>, %i: index, %j: index, %out: memref<f32>) {
  %0 = memref.load %m[%i, %j] : memref<4x8xf32> loc("model.py":7:3)
  memref.store %0, %out[] : memref<f32>
  return
}

// -----

// Without indices, nothing can fail, and no record is there.
// GPU-NOT: lockstep_fault
// GPU-LABEL: func.func @scalar(
// GPU-NEXT: memref.load
// GPU-NEXT: memref.store
// GPU-NEXT: return
func.func @scalar(%m: memref<f32>, %out: memref<f32>) {
  %0 = memref.load %m[] : memref<f32>
  memref.store %0, %out[] : memref<f32>
  return
}

// -----

// The other threads of a block leave a loop when one of them has.
// GPU-LABEL: func.func @loop(
// GPU: ^[[BEFORE:.*]]:
// GPU: %[[STATE:.*]] = llvm.load volatile %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// GPU: %[[HOLDS:.*]] = arith.cmpi eq, %[[STATE]], %{{.*}} : i64
// GPU: cf.cond_br %[[HOLDS]], ^{{.*}}, ^{{.*}}(
// GPU: memref.load %arg0[]
// CHECK-LABEL: func.func @loop(
// CHECK-NOT: volatile
func.func @loop(%more: memref<i1>, %m: memref<4xi1>, %i: index) {
  scf.while : () -> () {
    %0 = memref.load %more[] : memref<i1>
    scf.condition(%0)
  } do {
    %1 = memref.load %m[%i] : memref<4xi1>
    memref.store %1, %more[] : memref<i1>
    scf.yield
  }
  return
}

// -----

// An index that is known to be in bounds is not compared.
// CHECK-LABEL: func.func @known(
// CHECK-NOT: cf.cond_br
func.func @known(%m: memref<4xf32>, %out: memref<f32>) {
  %c3 = arith.constant 3 : index
  %0 = memref.load %m[%c3] : memref<4xf32>
  memref.store %0, %out[] : memref<f32>
  return
}

// -----

// The indices of the first and the last lane of a vector are compared; the last lane of a masked access is the last whose mask is set.
// CHECK-LABEL: func.func @vectors(
// CHECK: arith.cmpi ult, %arg1
// CHECK: arith.cmpi ult
// CHECK: vector.load
// CHECK: arith.cmpi ult, %arg1
// CHECK: arith.cmpi ult
// CHECK: vector.maskedstore
func.func @vectors(%m: memref<20xf32>, %i: index) {
  %0 = vector.load %m[%i] : memref<20xf32>, vector<8xf32>
  %mask = vector.constant_mask [3] : vector<8xi1>
  vector.maskedstore %m[%i], %mask, %0 : memref<20xf32>, vector<8xi1>, vector<8xf32>
  return
}

// -----

// Assertions are checked whether or not accesses are, also in loops; their messages contain the compared numbers.
// CHECK-LABEL: func.func @assertion(
// NONE: llvm.mlir.global internal constant @[[NONETEXT:.*]]("expected {bound}, found {value}\00")
// NONE-LABEL: func.func @assertion(
// NONE-NOT: scf.for
// NONE: %[[HOLDS:.*]] = arith.cmpi eq, %arg0, %arg1
// NONE: llvm.mlir.addressof @[[NONETEXT]]
// NONE: cf.cond_br %[[HOLDS]], ^{{.*}}, ^{{.*}}(%{{.*}}, %arg0, %arg1
// NONE-NOT: cf.assert
func.func @assertion(%n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %holds = arith.cmpi eq, %n, %m : index
    cf.assert %holds, "expected {bound}, found {value}"
  }
  return
}
