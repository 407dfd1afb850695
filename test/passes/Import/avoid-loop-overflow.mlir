// RUN: lockstep-opt %s --allow-unregistered-dialect --avoid-loop-overflow --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --allow-unregistered-dialect --avoid-loop-overflow --unroll-small-loops --split-input-file | FileCheck %s --check-prefix=IMPORT

// The value behind the last iteration would be 2^63 + 2: two iterations.
// CHECK-LABEL: func @overflows
// CHECK-DAG: %[[LOWER:.*]] = arith.constant 9223372036854775800 : index
// CHECK-DAG: %[[STEP:.*]] = arith.constant 5 : index
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: scf.for %[[N:.*]] = %[[ZERO]] to %[[TWO]] step %[[ONE]]
// CHECK-NEXT: %[[DISTANCE:.*]] = arith.muli %[[N]], %[[STEP]]
// CHECK-NEXT: arith.addi %[[LOWER]], %[[DISTANCE]]
// IMPORT-LABEL: @overflows
// IMPORT-NOT: scf.for
// IMPORT-COUNT-2: arith.addf
func.func @overflows(%x: tensor<f32>) -> tensor<f32> {
  %lower = arith.constant 9223372036854775800 : index
  %upper = arith.constant 9223372036854775807 : index
  %c5 = arith.constant 5 : index
  %0 = scf.for %i = %lower to %upper step %c5 iter_args(%a = %x) -> tensor<f32> {
    %1 = arith.addf %a, %x : tensor<f32>
    scf.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// In 8 bits, signed: 100, 120. Unsigned: 100, 120, ..., 180.
// CHECK-LABEL: func @narrow
// CHECK: scf.for %{{.*}} = %c0_i8 to %c2_i8 step %c1_i8
// CHECK: scf.for unsigned %{{.*}} = %c100_i8 to %c-56_i8 step %c20_i8
// CHECK: scf.for unsigned %{{.*}} = %{{.*}} to %c8_i8{{.*}} step
func.func @narrow() {
  %c100 = arith.constant 100 : i8
  %c127 = arith.constant 127 : i8
  %c200 = arith.constant -56 : i8
  %c255 = arith.constant -1 : i8
  %c20 = arith.constant 20 : i8
  scf.for %i = %c100 to %c127 step %c20 : i8 {
    "test.use"(%i) : (i8) -> ()
  }
  scf.for unsigned %i = %c100 to %c200 step %c20 : i8 {
    "test.use"(%i) : (i8) -> ()
  }
  scf.for unsigned %i = %c100 to %c255 step %c20 : i8 {
    "test.use"(%i) : (i8) -> ()
  }
  return
}
