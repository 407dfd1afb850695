// RUN: lockstep-opt %s --check-casts | FileCheck %s

// A static size that a cast asserts is checked at run time; the value after a failed check is never used.
// CHECK-LABEL: replica.step @promise
replica.step @promise(%x: tensor<?x?xf32> {replica.batch = "x", replica.bounds = array<i64: 8, 8>}) -> (tensor<4x?xf32> {replica.result = "y"}) {
  // CHECK: %[[SIZE:.*]] = tensor.dim %{{.*}}, %c0
  // CHECK: %[[FITS:.*]] = arith.cmpi eq
  // CHECK: scf.if %[[FITS]] -> (tensor<4x?xf32>) {
  // CHECK-NEXT: tensor.cast %{{.*}} : tensor<?x?xf32> to tensor<4x?xf32>
  // CHECK: } else {
  // CHECK: %[[AGAIN:.*]] = arith.cmpi eq, %[[SIZE]]
  // CHECK: cf.assert %[[AGAIN]], "model.py:7: expected {bound} elements along dimension 0 of a value that is cast to tensor<4x?xf32>, found {value} [E_SHAPE_MISMATCH]"
  // CHECK: tensor.empty(%{{.*}}) : tensor<4x?xf32>
  %y = tensor.cast %x : tensor<?x?xf32> to tensor<4x?xf32> loc("model.py":7:3)
  replica.return %y : tensor<4x?xf32>
}

// A cast to a dynamic size asserts nothing.
// CHECK-LABEL: replica.step @forget
replica.step @forget(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<?xf32> {replica.result = "y"}) {
  // CHECK-NOT: scf.if
  %y = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  replica.return %y : tensor<?xf32>
}
