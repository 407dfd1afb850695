// RUN: lockstep-opt %s --prepare-kernels --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --prepare-kernels=optimize=false --split-input-file | FileCheck %s --check-prefix=PLAIN

// A transpose is folded into the indexing map of the product that reads it.
// CHECK-LABEL: device.kernel @transposed
// CHECK-NOT: linalg.transpose
// CHECK: linalg.generic {indexing_maps = [{{.*}}], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4xf32>, tensor<8x4xf32>)
device.kernel @transposed(%x: tensor<2x4xf32>, %w: tensor<8x4xf32>) -> tensor<2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) permutation = [1, 0]
  %o = tensor.empty() : tensor<2x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<2x8xf32>) -> tensor<2x8xf32>
  %r = linalg.matmul ins(%x, %t : tensor<2x4xf32>, tensor<4x8xf32>) outs(%f : tensor<2x8xf32>) -> tensor<2x8xf32>
  device.yield %r : tensor<2x8xf32>
}

// -----

// An element-wise operation reads its destination as an input, so that its result may be written elsewhere.
// CHECK-LABEL: device.kernel @accumulates
// CHECK: %[[EMPTY:.*]] = tensor.empty()
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}}) outs(%[[EMPTY]]
#id = affine_map<(i) -> (i)>
device.kernel @accumulates(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%b : tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  device.yield %r : tensor<8xf32>
}

// -----

// An input that is a fill is replaced by its scalar, and needs no memory.
// PLAIN-LABEL: device.kernel @filled
// PLAIN-NOT: linalg.fill
// PLAIN: linalg.generic {{.*}} ins(%arg0 : tensor<?xf32>)
// CHECK-LABEL: device.kernel @filled
// CHECK-NOT: linalg.fill
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<?xf32>)
// CHECK: arith.mulf %{{.*}}, %cst
#id = affine_map<(i) -> (i)>
device.kernel @filled(%a: tensor<?xf32>, %m: index, %n: index) -> tensor<?xf32> attributes {bounds = array<i64: 8>} {
  %two = arith.constant 2.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%two : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %f : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.mulf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  device.yield %r : tensor<?xf32>
}
