// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(fuse-operations{least-split=1}))" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(fuse-operations))" --split-input-file | FileCheck %s --check-prefix=WHOLE

// A transposed convolution with strides of 2 by filters of 3: even elements of the result, behind a padding of 1, are those that multiply the second
// element of the filter, and odd ones those that multiply the first and the last one.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32>, %[[W:.*]]: tensor<3x3x5xf32>
// CHECK: %[[ALL:.*]] = tensor.empty() : tensor<7x5xf32>
// CHECK: %[[W0:.*]] = tensor.extract_slice %[[W]][1, 0, 0] [1, 3, 5] [2, 1, 1]
// CHECK: %[[M0:.*]] = tensor.collapse_shape %[[W0]]
// CHECK: %[[EVEN:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[M0]] : tensor<4x3xf32>, tensor<3x5xf32>)
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[EVEN]] into %[[ALL]][0, 0] [4, 5] [2, 1]
// CHECK: %[[W1:.*]] = tensor.extract_slice %[[W]][0, 0, 0] [2, 3, 5] [2, 1, 1]
// CHECK: %[[ODD:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[W1]] : tensor<4x3xf32>, tensor<2x3x5xf32>)
// CHECK: tensor.insert_slice %[[ODD]] into %[[FIRST]][1, 0] [3, 5] [2, 1]
// WHOLE-LABEL: func.func @transposed
// WHOLE: tensor.insert_slice %{{.*}} into %{{.*}}[1, 0] [4, 3] [2, 1]
// WHOLE: linalg.generic
// WHOLE-NOT: linalg.generic
// WHOLE: return
func.func @transposed(%x: tensor<4x3xf32>, %w: tensor<3x3x5xf32>) -> tensor<7x5xf32> {
  %zero = arith.constant 0.0 : f32
  %large = tensor.empty() : tensor<9x3xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%large : tensor<9x3xf32>) -> tensor<9x3xf32>
  %d = tensor.insert_slice %x into %zeros[1, 0] [4, 3] [2, 1] : tensor<4x3xf32> into tensor<9x3xf32>
  %e = tensor.empty() : tensor<7x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<7x5xf32>) -> tensor<7x5xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(p, r, k, c) -> (p + r, c)>, affine_map<(p, r, k, c) -> (r, c, k)>, affine_map<(p, r, k, c) -> (p, k)>],
                       iterator_types = ["parallel", "reduction", "parallel", "reduction"]}
      ins(%d, %w : tensor<9x3xf32>, tensor<3x3x5xf32>) outs(%f : tensor<7x5xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %m : f32
    linalg.yield %next : f32
  } -> tensor<7x5xf32>
  return %y : tensor<7x5xf32>
}

// -----

// Windows that reach beyond the source need zeros there. Of filters of one element, odd elements of the result are zeros. What all users round is rounded
// before it is inserted.
// CHECK-LABEL: func.func @rounded
// CHECK-SAME: %[[X:.*]]: tensor<4x3xbf16>, %[[W:.*]]: tensor<5x3x5xbf16>
// CHECK: %[[PADDED:.*]] = tensor.pad %[[X]] low[2, 0] high[1, 0]
// CHECK: tensor<4x3xbf16> to tensor<7x3xbf16>
// CHECK: %[[ALL:.*]] = tensor.empty() : tensor<9x5xbf16>
// CHECK: tensor.extract_slice %[[W]][0, 0, 0] [3, 3, 5] [2, 1, 1]
// CHECK: arith.addf
// CHECK: arith.truncf
// CHECK: tensor.insert_slice %{{.*}} into %[[ALL]][0, 0] [5, 5] [2, 1] : tensor<5x5xbf16> into tensor<9x5xbf16>
// CHECK: tensor.extract_slice %[[PADDED]][1, 0] [5, 3] [1, 1]
// CHECK: tensor.extract_slice %[[W]][1, 0, 0] [2, 3, 5] [2, 1, 1]
// CHECK: %[[LAST:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[1, 0] [4, 5] [2, 1] : tensor<4x5xbf16> into tensor<9x5xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[LAST]] : tensor<9x5xbf16>)
// CHECK-NOT: arith.truncf
// CHECK: return
// CHECK-LABEL: func.func @points
// CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} tensor<7x5xf32>
// CHECK: tensor.insert_slice %{{.*}} into %[[ZEROS]][0, 0] [4, 5] [2, 1]
// CHECK-NOT: tensor.insert_slice
// CHECK: return
#id = affine_map<(i, j) -> (i, j)>
#image = affine_map<(p, r, k, c) -> (p + r, c)>
#filter = affine_map<(p, r, k, c) -> (r, c, k)>
#result = affine_map<(p, r, k, c) -> (p, k)>
func.func @rounded(%x: tensor<4x3xbf16>, %w: tensor<5x3x5xbf16>) -> tensor<9x5xf32> {
  %low = arith.constant 0.0 : bf16
  %zero = arith.constant 0.0 : f32
  %large = tensor.empty() : tensor<13x3xbf16>
  %zeros = linalg.fill ins(%low : bf16) outs(%large : tensor<13x3xbf16>) -> tensor<13x3xbf16>
  %d = tensor.insert_slice %x into %zeros[4, 0] [4, 3] [2, 1] : tensor<4x3xbf16> into tensor<13x3xbf16>
  %e = tensor.empty() : tensor<9x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<9x5xf32>) -> tensor<9x5xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "reduction", "parallel", "reduction"]}
      ins(%d, %w : tensor<13x3xbf16>, tensor<5x3x5xbf16>) outs(%f : tensor<9x5xf32>) {
  ^bb0(%a: bf16, %b: bf16, %sum: f32):
    %wa = arith.extf %a : bf16 to f32
    %wb = arith.extf %b : bf16 to f32
    %m = arith.mulf %wa, %wb : f32
    %next = arith.addf %sum, %m : f32
    linalg.yield %next : f32
  } -> tensor<9x5xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<9x5xf32>) outs(%e : tensor<9x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.truncf %in : f32 to bf16
    %v = arith.extf %n : bf16 to f32
    %s = math.exp %v : f32
    linalg.yield %s : f32
  } -> tensor<9x5xf32>
  return %z : tensor<9x5xf32>
}
func.func @points(%x: tensor<4x3xf32>, %w: tensor<1x3x5xf32>) -> tensor<7x5xf32> {
  %zero = arith.constant 0.0 : f32
  %large = tensor.empty() : tensor<7x3xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%large : tensor<7x3xf32>) -> tensor<7x3xf32>
  %d = tensor.insert_slice %x into %zeros[0, 0] [4, 3] [2, 1] : tensor<4x3xf32> into tensor<7x3xf32>
  %e = tensor.empty() : tensor<7x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<7x5xf32>) -> tensor<7x5xf32>
  %y = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "reduction", "parallel", "reduction"]}
      ins(%d, %w : tensor<7x3xf32>, tensor<1x3x5xf32>) outs(%f : tensor<7x5xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %m : f32
    linalg.yield %next : f32
  } -> tensor<7x5xf32>
  return %y : tensor<7x5xf32>
}

// -----

// If the elements of filters are as far apart as those of the source, odd elements of the result have no terms, and the others have all.
// CHECK-LABEL: func.func @dilated
// CHECK: tensor.insert_slice
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @dilated(%x: tensor<4x3xf32>, %w: tensor<3x3x5xf32>) -> tensor<3x5xf32> {
  %zero = arith.constant 0.0 : f32
  %large = tensor.empty() : tensor<7x3xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%large : tensor<7x3xf32>) -> tensor<7x3xf32>
  %d = tensor.insert_slice %x into %zeros[0, 0] [4, 3] [2, 1] : tensor<4x3xf32> into tensor<7x3xf32>
  %e = tensor.empty() : tensor<3x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x5xf32>) -> tensor<3x5xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(p, r, k, c) -> (p + r * 2, c)>, affine_map<(p, r, k, c) -> (r, c, k)>, affine_map<(p, r, k, c) -> (p, k)>],
                       iterator_types = ["parallel", "reduction", "parallel", "reduction"]}
      ins(%d, %w : tensor<7x3xf32>, tensor<3x3x5xf32>) outs(%f : tensor<3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %m : f32
    linalg.yield %next : f32
  } -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// A named convolution.
// CHECK-LABEL: func.func @named
// CHECK-COUNT-4: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<{{.*}}x3xf32>, tensor<{{.*}}xf32>)
// CHECK: return
// CHECK-NOT: linalg.conv_2d_nhwc_hwcf
func.func @named(%x: tensor<1x4x4x3xf32>, %w: tensor<3x3x3x5xf32>) -> tensor<1x7x7x5xf32> {
  %zero = arith.constant 0.0 : f32
  %large = tensor.empty() : tensor<1x9x9x3xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%large : tensor<1x9x9x3xf32>) -> tensor<1x9x9x3xf32>
  %d = tensor.insert_slice %x into %zeros[0, 1, 1, 0] [1, 4, 4, 3] [1, 2, 2, 1] : tensor<1x4x4x3xf32> into tensor<1x9x9x3xf32>
  %e = tensor.empty() : tensor<1x7x7x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x7x7x5xf32>) -> tensor<1x7x7x5xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%d, %w : tensor<1x9x9x3xf32>, tensor<3x3x3x5xf32>) outs(%f : tensor<1x7x7x5xf32>) -> tensor<1x7x7x5xf32>
  return %y : tensor<1x7x7x5xf32>
}
