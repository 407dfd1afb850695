// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(fuse-operations))" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(fuse-operations{library-products library-convolutions}))" --split-input-file | FileCheck %s --check-prefixes=CHECK,LIBRARY

// A convolution by filters of one element is a product of matrices.
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d4, d3)>
// CHECK-LABEL: func.func @points
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1, 2], [3]] : tensor<1x1x3x5xf32> into tensor<3x5xf32>
// CHECK: linalg.generic {indexing_maps = [#[[X]], #[[W]],
func.func @points(%x: tensor<2x7x8x3xf32>, %w: tensor<1x1x3x5xf32>) -> tensor<2x7x8x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x7x8x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x7x8x5xf32>) -> tensor<2x7x8x5xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x7x8x3xf32>, tensor<1x1x3x5xf32>) outs(%f : tensor<2x7x8x5xf32>) -> tensor<2x7x8x5xf32>
  return %y : tensor<2x7x8x5xf32>
}

// -----

// Not if the filter is larger along a dimension, or if there are elements between those that are taken.
// CHECK-LABEL: func.func @rows
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func @rows(%x: tensor<2x7x8x3xf32>, %w: tensor<1x3x3x5xf32>) -> tensor<2x7x6x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x7x6x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x7x6x5xf32>) -> tensor<2x7x6x5xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x7x8x3xf32>, tensor<1x3x3x5xf32>) outs(%f : tensor<2x7x6x5xf32>) -> tensor<2x7x6x5xf32>
  return %y : tensor<2x7x6x5xf32>
}
// CHECK-LABEL: func.func @strides
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func @strides(%x: tensor<2x7x7x3xf32>, %w: tensor<1x1x3x5xf32>) -> tensor<2x4x4x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x4x5xf32>) -> tensor<2x4x4x5xf32>
  %y = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<2x7x7x3xf32>, tensor<1x1x3x5xf32>) outs(%f : tensor<2x4x4x5xf32>) -> tensor<2x4x4x5xf32>
  return %y : tensor<2x4x4x5xf32>
}

// -----

// The gradient of a filter with strides of 2 and 3 does not add up the zeros between the gradients of the results, which are not stored. In the second
// dimension, there are two zeros before the first one.
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2 + d3 * 2, d4 + d5 * 3 + 2, d6)>
// CHECK-LABEL: func.func @gradient
// CHECK-SAME: %[[IMAGE:.*]]: tensor<2x9x14x3xf32>, %[[RESULT:.*]]: tensor<2x4x4x5xf32>
// CHECK-NOT: tensor.insert_slice
// CHECK: linalg.generic {indexing_maps = [#[[X]], {{.*}} ins(%[[IMAGE]], %[[RESULT]] :
#image = affine_map<(n, k, r, p, s, q, c) -> (n, r + p, s + q, c)>
#result = affine_map<(n, k, r, p, s, q, c) -> (n, p, q, k)>
#filter = affine_map<(n, k, r, p, s, q, c) -> (r, s, c, k)>
func.func @gradient(%x: tensor<2x9x14x3xf32>, %y: tensor<2x4x4x5xf32>) -> tensor<3x3x3x5xf32> {
  %zero = arith.constant 0.0 : f32
  %large = tensor.empty() : tensor<2x7x12x5xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%large : tensor<2x7x12x5xf32>) -> tensor<2x7x12x5xf32>
  %d = tensor.insert_slice %y into %zeros[0, 0, 2, 0] [2, 4, 4, 5] [1, 2, 3, 1] : tensor<2x4x4x5xf32> into tensor<2x7x12x5xf32>
  %e = tensor.empty() : tensor<3x3x3x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x3x3x5xf32>) -> tensor<3x3x3x5xf32>
  %w = linalg.generic {indexing_maps = [#image, #result, #filter],
                       iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]}
      ins(%x, %d : tensor<2x9x14x3xf32>, tensor<2x7x12x5xf32>) outs(%f : tensor<3x3x3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %m : f32
    linalg.yield %next : f32
  } -> tensor<3x3x3x5xf32>
  return %w : tensor<3x3x3x5xf32>
}

// -----

// A product of matrices multiplies the zeros: by infinity, they are no numbers. Other values than zero are added up, too.
// CHECK-LABEL: func.func @matrices
// CHECK: tensor.insert_slice
func.func @matrices(%x: tensor<2x4xf32>, %w: tensor<7x5xf32>) -> tensor<2x5xf32> {
  %zero = arith.constant 0.0 : f32
  %large = tensor.empty() : tensor<2x7xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%large : tensor<2x7xf32>) -> tensor<2x7xf32>
  %d = tensor.insert_slice %x into %zeros[0, 0] [2, 4] [1, 2] : tensor<2x4xf32> into tensor<2x7xf32>
  %e = tensor.empty() : tensor<2x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5xf32>) -> tensor<2x5xf32>
  %y = linalg.matmul ins(%d, %w : tensor<2x7xf32>, tensor<7x5xf32>) outs(%f : tensor<2x5xf32>) -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}
// CHECK-LABEL: func.func @ones
// CHECK: tensor.insert_slice
func.func @ones(%x: tensor<9x3xf32>, %y: tensor<4x5xf32>) -> tensor<3x3x5xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %large = tensor.empty() : tensor<7x5xf32>
  %ones = linalg.fill ins(%one : f32) outs(%large : tensor<7x5xf32>) -> tensor<7x5xf32>
  %d = tensor.insert_slice %y into %ones[0, 0] [4, 5] [2, 1] : tensor<4x5xf32> into tensor<7x5xf32>
  %e = tensor.empty() : tensor<3x3x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x3x5xf32>) -> tensor<3x3x5xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(k, r, p, c) -> (r + p, c)>, affine_map<(k, r, p, c) -> (p, k)>, affine_map<(k, r, p, c) -> (r, c, k)>],
                       iterator_types = ["parallel", "parallel", "reduction", "parallel"]}
      ins(%x, %d : tensor<9x3xf32>, tensor<7x5xf32>) outs(%f : tensor<3x3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %m : f32
    linalg.yield %next : f32
  } -> tensor<3x3x5xf32>
  return %w : tensor<3x3x5xf32>
}

// -----

// What a library computes is rounded before it is stored, also if it is small and the only user is computed with it otherwise.
// CHECK-LABEL: func.func @rounded
// LIBRARY: linalg.conv_2d_nhwc_hwcf
// LIBRARY-NEXT: tensor.empty() : tensor<2x7x7x16xbf16>
// LIBRARY-NEXT: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x7x7x16xf32>)
// LIBRARY-NEXT: ^bb0(%[[SUM:.*]]: f32, %{{.*}}: bf16):
// LIBRARY-NEXT: arith.truncf %[[SUM]] : f32 to bf16
// LIBRARY-NEXT: linalg.yield
// LIBRARY: linalg.matmul
// LIBRARY-NEXT: tensor.empty() : tensor<16x16xbf16>
// LIBRARY-NEXT: linalg.generic {{.*}} ins(%{{.*}} : tensor<16x16xf32>)
#id = affine_map<(n, p, q, k) -> (n, p, q, k)>
#pair = affine_map<(i, j) -> (i, j)>
func.func @rounded(%x: tensor<2x9x9x16xbf16>, %w: tensor<3x3x16x16xbf16>, %a: tensor<16x16xbf16>) -> (tensor<2x7x7x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x7x7x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x7x7x16xf32>) -> tensor<2x7x7x16xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x9x9x16xbf16>, tensor<3x3x16x16xbf16>) outs(%f : tensor<2x7x7x16xf32>) -> tensor<2x7x7x16xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<2x7x7x16xf32>) outs(%e : tensor<2x7x7x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.truncf %in : f32 to bf16
    %r = arith.extf %n : bf16 to f32
    %t = math.exp %r : f32
    linalg.yield %t : f32
  } -> tensor<2x7x7x16xf32>
  %e2 = tensor.empty() : tensor<16x16xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %m = linalg.matmul ins(%a, %a : tensor<16x16xbf16>, tensor<16x16xbf16>) outs(%f2 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %v = linalg.generic {indexing_maps = [#pair, #pair], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<16x16xf32>) outs(%e2 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.truncf %in : f32 to bf16
    %r = arith.extf %n : bf16 to f32
    %t = math.exp %r : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  return %z, %v : tensor<2x7x7x16xf32>, tensor<16x16xf32>
}

// -----

// No library computes poolings, convolutions with channels first, or in three dimensions: the sums of these are not stored.
// CHECK-LABEL: func.func @others
// CHECK-NOT: outs(%{{.*}}xbf16>)
// CHECK: return
#volume = affine_map<(n, d, p, q, k) -> (n, d, p, q, k)>
#flat = affine_map<(n, p, q, k) -> (n, p, q, k)>
func.func @others(%x: tensor<2x6x6x16xbf16>, %w: tensor<16x6x3x3xbf16>, %v: tensor<2x4x4x4x16xbf16>, %u: tensor<2x2x2x16x16xbf16>) -> (tensor<2x16x4x14xf32>, tensor<2x3x3x3x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x16x4x14xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x16x4x14xf32>) -> tensor<2x16x4x14xf32>
  %y = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<2x6x6x16xbf16>, tensor<16x6x3x3xbf16>) outs(%f : tensor<2x16x4x14xf32>) -> tensor<2x16x4x14xf32>
  %z = linalg.generic {indexing_maps = [#flat, #flat], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y : tensor<2x16x4x14xf32>) outs(%e : tensor<2x16x4x14xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.truncf %in : f32 to bf16
    %r = arith.extf %n : bf16 to f32
    linalg.yield %r : f32
  } -> tensor<2x16x4x14xf32>
  %e3 = tensor.empty() : tensor<2x3x3x3x16xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x3x3x3x16xf32>) -> tensor<2x3x3x3x16xf32>
  %y3 = linalg.conv_3d_ndhwc_dhwcf ins(%v, %u : tensor<2x4x4x4x16xbf16>, tensor<2x2x2x16x16xbf16>) outs(%f3 : tensor<2x3x3x3x16xf32>) -> tensor<2x3x3x3x16xf32>
  %z3 = linalg.generic {indexing_maps = [#volume, #volume], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%y3 : tensor<2x3x3x3x16xf32>) outs(%e3 : tensor<2x3x3x3x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.truncf %in : f32 to bf16
    %r = arith.extf %n : bf16 to f32
    linalg.yield %r : f32
  } -> tensor<2x3x3x3x16xf32>
  return %z, %z3 : tensor<2x16x4x14xf32>, tensor<2x3x3x3x16xf32>
}
