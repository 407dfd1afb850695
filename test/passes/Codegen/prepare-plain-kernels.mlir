// RUN: lockstep-opt %s --prepare-kernels=optimize=false --split-input-file | FileCheck %s

// An input that is a fill is replaced by its scalar instead of being stored, so its size may be dynamic.
// CHECK-LABEL: device.kernel @reads_a_fill
// CHECK-NOT: linalg.fill
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<?x4xf32>)
// CHECK: arith.subf %cst{{.*}}, %in
// CHECK-NOT: linalg.generic
#id = affine_map<(i, j) -> (i, j)>
device.kernel @reads_a_fill(%x: tensor<?x4xf32>, %n: index, %m: index) -> tensor<?x4xf32> attributes {bounds = array<i64: 8>} {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %o = tensor.empty(%m) : tensor<?x4xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%f, %x : tensor<?x4xf32>, tensor<?x4xf32>) outs(%o : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?x4xf32>
  device.yield %r : tensor<?x4xf32>
}

// -----

// Other producers stay separate operations.
// CHECK-LABEL: device.kernel @two_operations
// CHECK-COUNT-2: linalg.generic
device.kernel @two_operations(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.tanh ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  device.yield %r : tensor<8xf32>
}
