// RUN: lockstep-opt %s --form-kernels="library-products library-activations" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --form-kernels="library-products library-activations tf32" --split-input-file | FileCheck %s --check-prefix=TF32

// A library applies a ReLU to a product of matrices, if these have rows and columns that are one dimension in memory each: not to a product of
// vectors, nor where heads come before positions.
#id2 = affine_map<(i, j) -> (i, j)>
#id3 = affine_map<(h, i, j) -> (h, i, j)>
#left = affine_map<(h, i, j, k) -> (i, k)>
#right = affine_map<(h, i, j, k) -> (k, h, j)>
#result = affine_map<(h, i, j, k) -> (h, i, j)>
// CHECK: device.kernel private @relu_0_matmul
// CHECK: arith.maximumf
// CHECK: device.kernel private @relu_1_product
// CHECK-NOT: arith.maximumf
// CHECK: device.kernel private @relu_2_elementwise
// CHECK: arith.maximumf
// CHECK-LABEL: func.func @relu
func.func @relu(%x: tensor<256x256xf32> {device.binding = #device.binding<batch "x">}, %w: tensor<256x4x64xf32> {device.binding = #device.binding<batch "w">}) -> (tensor<256x256xf32> {device.binding = #device.binding<result "r">}, tensor<4x256x64xf32> {device.binding = #device.binding<result "s">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<256x256xf32>) -> tensor<256x256xf32>
  %p = linalg.matmul ins(%x, %x : tensor<256x256xf32>, tensor<256x256xf32>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  %r = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<256x256xf32>) outs(%o : tensor<256x256xf32>) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.maximumf %i, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<256x256xf32>
  %o3 = tensor.empty() : tensor<4x256x64xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%o3 : tensor<4x256x64xf32>) -> tensor<4x256x64xf32>
  %q = linalg.generic {indexing_maps = [#left, #right, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<256x256xf32>, tensor<256x4x64xf32>) outs(%f3 : tensor<4x256x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x256x64xf32>
  %s = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q : tensor<4x256x64xf32>) outs(%o3 : tensor<4x256x64xf32>) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.maximumf %i, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<4x256x64xf32>
  return %r, %s : tensor<256x256xf32>, tensor<4x256x64xf32>
}

// -----

#v = affine_map<(k) -> (k)>
#none = affine_map<(k) -> ()>
#scalar = affine_map<() -> ()>
// CHECK-LABEL: func.func @vectors
func.func @vectors(%x: tensor<65536xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<f32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %p = linalg.generic {indexing_maps = [#v, #v, #none], iterator_types = ["reduction"]} ins(%x, %x : tensor<65536xf32>, tensor<65536xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%p : tensor<f32>) outs(%o : tensor<f32>) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.maximumf %i, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// Rows of 1,001 elements may be padded for tensor cores, in a kernel that only multiplies.
#id2 = affine_map<(i, j) -> (i, j)>
// CHECK: device.kernel private @large_0_matmul
// CHECK: arith.maximumf
// CHECK-LABEL: func.func @large
// TF32: device.kernel private @large_0_matmul
// TF32-NOT: arith.maximumf
// TF32: device.kernel private @large_1_elementwise
// TF32: arith.maximumf
// TF32-LABEL: func.func @large
func.func @large(%x: tensor<2048x1024xf32> {device.binding = #device.binding<batch "x">}, %w: tensor<1024x1001xf32> {device.binding = #device.binding<batch "w">}) -> (tensor<2048x1001xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<2048x1001xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<2048x1001xf32>) -> tensor<2048x1001xf32>
  %p = linalg.matmul ins(%x, %w : tensor<2048x1024xf32>, tensor<1024x1001xf32>) outs(%f : tensor<2048x1001xf32>) -> tensor<2048x1001xf32>
  %r = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<2048x1001xf32>) outs(%o : tensor<2048x1001xf32>) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.maximumf %i, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<2048x1001xf32>
  return %r : tensor<2048x1001xf32>
}
