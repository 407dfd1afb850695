// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases{library-convolutions})" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases{library-convolutions tf32})" --split-input-file | FileCheck %s --check-prefix=TF32
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases{library-convolutions library-activations})" --split-input-file | FileCheck %s --check-prefix=ACTIVATION
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases)" --split-input-file | FileCheck %s --check-prefix=GENERATED

// GENERATED-NOT: lockstep.convolutions

// Words: phase, 1 for the gradient of a filter, whether factors are rounded, two strides, two dilations; and of the image, the filter and the result
// the buffer, the offset in bytes, the element type, four sizes and four strides; whether a bias is added, its buffer and its offset; and the
// activation. The last column of the image is in no window.
// CHECK-LABEL: func.func @strides$0
// CHECK: func.func private @strides
// CHECK-SAME: lockstep.convolutions = array<i64: 0, 0, 0, 2, 3, 1, 1,
// CHECK-SAME: 0, 0, 11, 2, 16, 9, 10, 1440, 1, 160, 16,
// CHECK-SAME: 1, 0, 11, 24, 16, 3, 3, 1, 24, 1152, 384,
// CHECK-SAME: 2, 0, 11, 2, 24, 4, 3, 288, 1, 72, 24, 0, 0, 0, 0>
// TF32: func.func private @strides
// TF32-SAME: lockstep.convolutions = array<i64: 0, 0, 1, 2, 3, 1, 1,
device.kernel @strides(%x: tensor<2x9x10x16xf32>, %w: tensor<3x3x16x24xf32>) -> tensor<2x4x3x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x3x24xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x3x24xf32>) -> tensor<2x4x3x24xf32>
  %y = linalg.conv_2d_nhwc_hwcf {strides = dense<[2, 3]> : tensor<2xi64>} ins(%x, %w : tensor<2x9x10x16xf32>, tensor<3x3x16x24xf32>) outs(%f : tensor<2x4x3x24xf32>) -> tensor<2x4x3x24xf32>
  device.yield %y : tensor<2x4x3x24xf32>
}

// -----

// Of an image that has more windows, only a part is given to the library. Here, the sums are rounded.
// CHECK: func.func private @rounded
// CHECK-SAME: lockstep.convolutions = array<i64: 0, 0, 0, 1, 1, 1, 2,
// CHECK-SAME: 0, 0, 10, 2, 16, 7, 8, 1440, 1, 160, 16,
// CHECK-SAME: 1, 0, 10, 16, 16, 3, 3, 1, 16, 768, 256,
// CHECK-SAME: 2, 0, 10, 2, 16, 5, 4, 320, 1, 64, 16, 0, 0, 0, 0>
// TF32: func.func private @rounded
// TF32-SAME: lockstep.convolutions = array<i64: 0, 0, 1, 1, 1, 1, 2,
#id = affine_map<(n, p, q, k) -> (n, p, q, k)>
device.kernel @rounded(%x: tensor<2x9x10x16xbf16>, %w: tensor<3x3x16x16xbf16>) -> tensor<2x5x4x16xbf16> {
  %zero = arith.constant 0.0 : f32
  %s = tensor.extract_slice %x[0, 0, 0, 0] [2, 8, 9, 16] [1, 1, 1, 1] : tensor<2x9x10x16xbf16> to tensor<2x8x9x16xbf16>
  %e = tensor.empty() : tensor<2x5x4x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x4x16xf32>) -> tensor<2x5x4x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, p, q, k, r, s, c) -> (n, p + r, q + s * 2, c)>,
                                        affine_map<(n, p, q, k, r, s, c) -> (r, s, c, k)>,
                                        affine_map<(n, p, q, k, r, s, c) -> (n, p, q, k)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%s, %w : tensor<2x8x9x16xbf16>, tensor<3x3x16x16xbf16>) outs(%f : tensor<2x5x4x16xf32>) {
  ^bb0(%a: bf16, %b: bf16, %sum: f32):
    %wa = arith.extf %a : bf16 to f32
    %wb = arith.extf %b : bf16 to f32
    %m = arith.mulf %wa, %wb : f32
    %next = arith.addf %sum, %m : f32
    linalg.yield %next : f32
  } -> tensor<2x5x4x16xf32>
  %re = tensor.empty() : tensor<2x5x4x16xbf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<2x5x4x16xf32>) outs(%re : tensor<2x5x4x16xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %n = arith.truncf %a : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<2x5x4x16xbf16>
  device.yield %r : tensor<2x5x4x16xbf16>
}

// -----

// The gradient of a filter with strides: the sum runs over the results, which are more than the elements of the filter.
// CHECK: func.func private @gradient
// CHECK-SAME: lockstep.convolutions = array<i64: 0, 1, 0, 2, 1, 1, 1,
// CHECK-SAME: 0, 0, 11, 2, 16, 17, 10, 2720, 1, 160, 16,
// CHECK-SAME: 2, 0, 11, 24, 16, 3, 3, 1, 24, 1152, 384,
// CHECK-SAME: 1, 0, 11, 2, 24, 8, 8, 1536, 1, 192, 24, 0, 0, 0, 0>
device.kernel @gradient(%x: tensor<2x17x10x16xf32>, %y: tensor<2x8x8x24xf32>) -> tensor<3x3x16x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x3x16x24xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x3x16x24xf32>) -> tensor<3x3x16x24xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(n, k, r, p, s, q, c) -> (n, r + p * 2, s + q, c)>,
                                        affine_map<(n, k, r, p, s, q, c) -> (n, p, q, k)>,
                                        affine_map<(n, k, r, p, s, q, c) -> (r, s, c, k)>],
                       iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]}
      ins(%x, %y : tensor<2x17x10x16xf32>, tensor<2x8x8x24xf32>) outs(%f : tensor<3x3x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %m : f32
    linalg.yield %next : f32
  } -> tensor<3x3x16x24xf32>
  device.yield %w : tensor<3x3x16x24xf32>
}

// -----

// Sums of factors of 16 bits that are stored as f32, products of matrices, and convolutions of groups of channels are left to generated code.
// CHECK: func.func private @wide
// CHECK-NOT: lockstep.convolutions
device.kernel @wide(%x: tensor<2x9x9x16xbf16>, %w: tensor<3x3x16x16xbf16>) -> tensor<2x7x7x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x7x7x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x7x7x16xf32>) -> tensor<2x7x7x16xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x9x9x16xbf16>, tensor<3x3x16x16xbf16>) outs(%f : tensor<2x7x7x16xf32>) -> tensor<2x7x7x16xf32>
  device.yield %y : tensor<2x7x7x16xf32>
}
device.kernel @matrices(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) -> tensor<32x48xf32>
  device.yield %m : tensor<32x48xf32>
}
device.kernel @groups(%x: tensor<2x9x9x2x16xf32>, %w: tensor<3x3x2x16x16xf32>) -> tensor<2x7x7x2x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x7x7x2x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x7x7x2x16xf32>) -> tensor<2x7x7x2x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, p, q, g, k, r, s, c) -> (n, p + r, q + s, g, c)>,
                                        affine_map<(n, p, q, g, k, r, s, c) -> (r, s, g, c, k)>,
                                        affine_map<(n, p, q, g, k, r, s, c) -> (n, p, q, g, k)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<2x9x9x2x16xf32>, tensor<3x3x2x16x16xf32>) outs(%f : tensor<2x7x7x2x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %m : f32
    linalg.yield %next : f32
  } -> tensor<2x7x7x2x16xf32>
  device.yield %y : tensor<2x7x7x2x16xf32>
}

// -----

// Indices without a loop: row 2 of the image, and row 1 of the filter.
// CHECK: func.func private @rows
// CHECK-SAME: lockstep.convolutions = array<i64: 0, 0, 0, 1, 1, 1, 1,
// CHECK-SAME: 0, 3072, 11, 4, 16, 1, 24, 3840, 1, 384, 16,
// CHECK-SAME: 1, 3072, 11, 16, 16, 1, 3, 1, 16, 768, 256,
device.kernel @rows(%x: tensor<4x10x24x16xf32>, %w: tensor<2x3x16x16xf32>) -> tensor<4x22x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x22x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x22x16xf32>) -> tensor<4x22x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, q, k, s, c) -> (n, 2, q + s, c)>,
                                        affine_map<(n, q, k, s, c) -> (1, s, c, k)>,
                                        affine_map<(n, q, k, s, c) -> (n, q, k)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<4x10x24x16xf32>, tensor<2x3x16x16xf32>) outs(%f : tensor<4x22x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %m : f32
    linalg.yield %next : f32
  } -> tensor<4x22x16xf32>
  device.yield %y : tensor<4x22x16xf32>
}

// -----

// A bias of one element for each channel is added by the library; a ReLU is applied only if that is asked for. Neither is one without a bias.
// CHECK-LABEL: func.func @biased$0
// CHECK-NOT: @biased$1
// CHECK: func.func private @biased
// CHECK-SAME: lockstep.convolutions = array<i64: 0, 0, 0, 1, 1, 1, 1,
// CHECK-SAME: 3, 0, 11, 2, 24, 7, 8, 1344, 1, 192, 24, 1, 2, 0, 0>
// CHECK-LABEL: func.func @relu$1
// CHECK: func.func private @relu
// CHECK-SAME: 24, 0, 0, 0, 0>
// ACTIVATION-LABEL: func.func @relu$0
// ACTIVATION-NOT: @relu$1
// ACTIVATION: func.func private @relu
// ACTIVATION-SAME: 3, 0, 11, 2, 24, 7, 8, 1344, 1, 192, 24, 1, 2, 0, 1>
// ACTIVATION-LABEL: func.func @alone$1
// ACTIVATION: func.func private @alone
// ACTIVATION-SAME: 24, 0, 0, 0, 0>
#id = affine_map<(n, p, q, k) -> (n, p, q, k)>
#channel = affine_map<(n, p, q, k) -> (k)>
device.kernel @biased(%x: tensor<2x9x10x16xf32>, %w: tensor<3x3x16x24xf32>, %b: tensor<24xf32>) -> tensor<2x7x8x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x7x8x24xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x7x8x24xf32>) -> tensor<2x7x8x24xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x9x10x16xf32>, tensor<3x3x16x24xf32>) outs(%f : tensor<2x7x8x24xf32>) -> tensor<2x7x8x24xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y, %b : tensor<2x7x8x24xf32>, tensor<24xf32>) outs(%e : tensor<2x7x8x24xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<2x7x8x24xf32>
  device.yield %r : tensor<2x7x8x24xf32>
}
device.kernel @relu(%x: tensor<2x9x10x16xf32>, %w: tensor<3x3x16x24xf32>, %b: tensor<24xf32>) -> tensor<2x7x8x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x7x8x24xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x7x8x24xf32>) -> tensor<2x7x8x24xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x9x10x16xf32>, tensor<3x3x16x24xf32>) outs(%f : tensor<2x7x8x24xf32>) -> tensor<2x7x8x24xf32>
  %r = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y, %b : tensor<2x7x8x24xf32>, tensor<24xf32>) outs(%e : tensor<2x7x8x24xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<2x7x8x24xf32>
  device.yield %r : tensor<2x7x8x24xf32>
}
device.kernel @alone(%x: tensor<2x9x10x16xf32>, %w: tensor<3x3x16x24xf32>) -> tensor<2x7x8x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x7x8x24xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x7x8x24xf32>) -> tensor<2x7x8x24xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x9x10x16xf32>, tensor<3x3x16x24xf32>) outs(%f : tensor<2x7x8x24xf32>) -> tensor<2x7x8x24xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y : tensor<2x7x8x24xf32>) outs(%e : tensor<2x7x8x24xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.maximumf %i, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<2x7x8x24xf32>
  device.yield %r : tensor<2x7x8x24xf32>
}
