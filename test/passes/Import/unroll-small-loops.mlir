// RUN: lockstep-opt %s --unroll-small-loops --split-input-file --verify-each | FileCheck %s
// RUN: lockstep-opt %s --unroll-small-loops=max-trips=2 --split-input-file | FileCheck %s --check-prefix=TRIPS
// RUN: lockstep-opt %s --unroll-small-loops=max-ops=5 --split-input-file | FileCheck %s --check-prefix=OPS

// A loop with few iterations of element-wise operations is unrolled, within both bounds.
// CHECK-LABEL: func @small
// CHECK-NOT: scf.for
// CHECK-COUNT-6: math.exp
// CHECK-NOT: math.exp
// TRIPS-LABEL: func @small
// TRIPS: scf.for
// OPS-LABEL: func @small
// OPS: scf.for
func.func @small(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %1 = math.exp %a : tensor<4xf32>
    %2 = math.exp %1 : tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// A loop whose trip count is not known stays.
// CHECK-LABEL: func @dynamic
// CHECK: scf.for
func.func @dynamic(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %1 = math.exp %a : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// A loop over a matrix product stays.
// CHECK-LABEL: func @product
// CHECK: scf.for
func.func @product(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<4x4xf32>) {
    %1 = linalg.matmul ins(%a, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %1 : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

// A loop with a collective stays, since its collective is one operation of the user.
// CHECK-LABEL: replica.step @collective
// CHECK: scf.for
replica.step @collective(%x: tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %1 = replica.all_reduce sum %a : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  replica.return
}

// -----

// Inner loops are unrolled first; the loop around them may then be small as well.
// CHECK-LABEL: func @nested
// CHECK-NOT: scf.for
// CHECK-COUNT-6: math.exp
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %1 = scf.for %j = %c0 to %c2 step %c1 iter_args(%b = %a) -> (tensor<4xf32>) {
      %2 = math.exp %b : tensor<4xf32>
      scf.yield %2 : tensor<4xf32>
    }
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
