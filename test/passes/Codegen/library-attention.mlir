// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases)" --split-input-file | FileCheck %s

// Words: phase, 1 for the gradient, 1 if causal, the bits of the scale; then the query, the key, the value, the output and the statistics, and the cotangent
// and the gradients: the buffer, the offset in bytes, the element type, four sizes and four strides. There is no code, so no blocks are launched.
// CHECK-NOT: func.func @
// CHECK: func.func private @forward
// CHECK-SAME: lockstep.attention = array<i64: 0, 0, 1, 4602678819172646912,
// CHECK-SAME: 0, 0, 10, 2, 3, 4, 8, 96, 8, 24, 1,
// CHECK-SAME: 1, 0, 10, 2, 3, 6, 8, 144, 8, 24, 1,
// CHECK-SAME: 2, 0, 10, 2, 3, 6, 8, 144, 8, 24, 1,
// CHECK-SAME: 3, 0, 10, 2, 3, 4, 8, 96, 8, 24, 1,
// CHECK-SAME: 4, 0, 11, 2, 3, 4, 1, 12, 4, 1, 1,
// CHECK-SAME: lockstep.launches = array<i64: -1, 0>
device.kernel @forward(%q: tensor<2x4x3x8xbf16>, %k: tensor<2x6x3x8xbf16>, %v: tensor<2x6x3x8xbf16>) -> (tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>) {
  %e = tensor.empty() : tensor<2x4x3x8xbf16>
  %f = tensor.empty() : tensor<2x3x4xf32>
  %o:2 = device.attention causal scale 5.000000e-01 ins(%q, %k, %v : tensor<2x4x3x8xbf16>, tensor<2x6x3x8xbf16>, tensor<2x6x3x8xbf16>)
      outs(%e, %f : tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>) -> tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>
  device.yield %o#0, %o#1 : tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>
}

// -----

// Queries, keys and values are parts of one tensor, which the library reads where they are.
// CHECK: func.func private @parts
// CHECK-SAME: lockstep.attention = array<i64: 0, 0, 0, 4607182418800017408,
// CHECK-SAME: 0, 0, 9, 2, 2, 4, 8, 192, 8, 48, 1,
// CHECK-SAME: 0, 32, 9, 2, 2, 4, 8, 192, 8, 48, 1,
// CHECK-SAME: 0, 64, 9, 2, 2, 4, 8, 192, 8, 48, 1,
// CHECK-SAME: lockstep.launches = array<i64: -1, 0>
device.kernel @parts(%x: tensor<2x4x3x2x8xf16>) -> (tensor<2x4x2x8xf16>, tensor<2x2x4xf32>) {
  %q = tensor.extract_slice %x[0, 0, 0, 0, 0] [2, 4, 1, 2, 8] [1, 1, 1, 1, 1] : tensor<2x4x3x2x8xf16> to tensor<2x4x2x8xf16>
  %k = tensor.extract_slice %x[0, 0, 1, 0, 0] [2, 4, 1, 2, 8] [1, 1, 1, 1, 1] : tensor<2x4x3x2x8xf16> to tensor<2x4x2x8xf16>
  %v = tensor.extract_slice %x[0, 0, 2, 0, 0] [2, 4, 1, 2, 8] [1, 1, 1, 1, 1] : tensor<2x4x3x2x8xf16> to tensor<2x4x2x8xf16>
  %e = tensor.empty() : tensor<2x4x2x8xf16>
  %f = tensor.empty() : tensor<2x2x4xf32>
  %o:2 = device.attention scale 1.000000e+00 ins(%q, %k, %v : tensor<2x4x2x8xf16>, tensor<2x4x2x8xf16>, tensor<2x4x2x8xf16>)
      outs(%e, %f : tensor<2x4x2x8xf16>, tensor<2x2x4xf32>) -> tensor<2x4x2x8xf16>, tensor<2x2x4xf32>
  device.yield %o#0, %o#1 : tensor<2x4x2x8xf16>, tensor<2x2x4xf32>
}

// -----

// The three gradients are in buffers of their own.
// CHECK: func.func private @gradient
// CHECK-SAME: lockstep.attention = array<i64: 0, 1, 0, 4607182418800017408,
// CHECK-SAME: 0, 0, 10, 1, 1, 4, 8, 32, 8, 8, 1,
// CHECK-SAME: 2, 0, 11, 1, 1, 4, 1, 4, 4, 1, 1,
// CHECK-SAME: 3, 0, 10, 1, 1, 4, 8, 32, 8, 8, 1, 4, 0, 10, 1, 1, 4, 8, 32, 8, 8, 1, 5, 0, 10, 1, 1, 4, 8, 32, 8, 8, 1, 6, 0, 10, 1, 1, 4, 8, 32, 8, 8, 1>
device.kernel @gradient(%q: tensor<1x4x1x8xbf16>, %o: tensor<1x4x1x8xbf16>, %s: tensor<1x1x4xf32>, %d: tensor<1x4x1x8xbf16>)
    -> (tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>) {
  %e = tensor.empty() : tensor<1x4x1x8xbf16>
  %g:3 = device.attention_gradient scale 1.000000e+00
      ins(%q, %q, %q, %o, %s, %d : tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x1x4xf32>, tensor<1x4x1x8xbf16>)
      outs(%e, %e, %e : tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>)
      -> tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>
  device.yield %g#0, %g#1, %g#2 : tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>, tensor<1x4x1x8xbf16>
}
