// RUN: lockstep-opt %s --form-kernels=merge-padding=true | FileCheck %s
// RUN: lockstep-opt %s --form-kernels | FileCheck %s --check-prefix=APART

// What is only padded, or only gets zeros between its elements, is computed in the kernel that does so. Not what others read, too.
// CHECK: device.kernel private @padded_0
// CHECK: math.exp
// CHECK: tensor.pad
// CHECK: device.kernel private @padded_1
// CHECK: math.sqrt
// CHECK: tensor.insert_slice
// CHECK: device.kernel private @padded_2
// CHECK: math.sin
// CHECK-NOT: tensor.pad
// CHECK: device.kernel private @padded_3
// CHECK: tensor.pad

// APART: device.kernel private @padded_5
#id = affine_map<(i, j) -> (i, j)>
func.func @padded(%x: tensor<512x512xf32>) -> (tensor<514x514xf32>, tensor<1023x512xf32>, tensor<512x512xf32>, tensor<514x514xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<512x512xf32>
  %pa = tensor.pad %a low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<512x512xf32> to tensor<514x514xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.sqrt %in : f32
    linalg.yield %0 : f32
  } -> tensor<512x512xf32>
  %large = tensor.empty() : tensor<1023x512xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%large : tensor<1023x512xf32>) -> tensor<1023x512xf32>
  %pb = tensor.insert_slice %b into %zeros[0, 0] [512, 512] [2, 1] : tensor<512x512xf32> into tensor<1023x512xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.sin %in : f32
    linalg.yield %0 : f32
  } -> tensor<512x512xf32>
  %pc = tensor.pad %c low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<512x512xf32> to tensor<514x514xf32>
  return %pa, %pb, %c, %pc : tensor<514x514xf32>, tensor<1023x512xf32>, tensor<512x512xf32>, tensor<514x514xf32>
}
