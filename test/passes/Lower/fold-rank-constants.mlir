// RUN: lockstep-opt %s --fold-rank-constants --split-input-file | FileCheck %s

// All of 4 replicas have a number below 8; only one has number 0.
// CHECK-LABEL: replica.step @known
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK: scf.if %[[TRUE]]
// CHECK: scf.if %[[FIRST]]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4}
replica.variable @w : tensor<i32> {synchronization = #replica.synchronization<on_read>}
replica.step @known() {
  %id = replica.id : tensor<i32>
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %i = tensor.extract %id[] : tensor<i32>
  %few = arith.cmpi slt, %i, %c8 : i32
  %first = arith.cmpi eq, %i, %c0 : i32
  scf.if %few {
    replica.assign @w, %id : tensor<i32>
  }
  scf.if %first {
    replica.assign @w, %id : tensor<i32>
  }
  replica.return
}

// -----

// The loop has two iterations on each replica, with values of its own: it becomes a loop with constant bounds.
// CHECK-LABEL: replica.step @turns
// CHECK: %[[I:.*]] = tensor.extract
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK: scf.for %[[K:.*]] = %[[ZERO]] to %[[TWO]] step %{{.*}} : i32 {
// CHECK: %[[D:.*]] = arith.muli %[[K]]
// CHECK: %[[N:.*]] = arith.addi %[[I]], %[[D]]
// CHECK: tensor.from_elements %[[N]]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4}
replica.variable @w : tensor<i32> {synchronization = #replica.synchronization<on_read>}
replica.step @turns() {
  %id = replica.id : tensor<i32>
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %i = tensor.extract %id[] : tensor<i32>
  %end = arith.addi %i, %c4 : i32
  scf.for %k = %i to %end step %c3 : i32 {
    %0 = tensor.from_elements %k : tensor<i32>
    replica.assign @w, %0 : tensor<i32>
  }
  replica.return
}

// -----

// Without the number of replicas, nothing is known about their numbers.
// CHECK-LABEL: replica.step @unknown
// CHECK: scf.if %{{.*}} {
// CHECK-NOT: arith.constant true
replica.variable @w : tensor<i32> {synchronization = #replica.synchronization<on_read>}
replica.step @unknown() {
  %id = replica.id : tensor<i32>
  %c8 = arith.constant 8 : i32
  %i = tensor.extract %id[] : tensor<i32>
  %few = arith.cmpi slt, %i, %c8 : i32
  scf.if %few {
    replica.assign @w, %id : tensor<i32>
  }
  replica.return
}
