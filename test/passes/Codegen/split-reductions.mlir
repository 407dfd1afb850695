// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases)" --split-input-file | FileCheck %s

// A sum over all but the last of few channels: each example is a part, which a block for each eight channels adds up; then 64 partial sums are added.
// CHECK: func.func private @channels
// CHECK-SAME: lockstep.launches = array<i64: 512, 1024, 8, 64>, lockstep.scratch = 16384
device.kernel @channels(%x: tensor<64x56x56x64xbf16>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>], iterator_types = ["reduction", "reduction", "reduction", "parallel"]}
      ins(%x : tensor<64x56x56x64xbf16>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: bf16, %sum: f32):
    %w = arith.extf %a : bf16 to f32
    %next = arith.addf %sum, %w : f32
    linalg.yield %next : f32
  } -> tensor<64xf32>
  device.yield %y : tensor<64xf32>
}

// -----

// The sum of a matrix: 29 parts of its rows, and 12 of each row.
// CHECK: func.func private @total
// CHECK-SAME: lockstep.launches = array<i64: 348, 256, {{.*}}>, lockstep.scratch = 1536
device.kernel @total(%x: tensor<15689x768xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<(h, w) -> (h, w)>, affine_map<(h, w) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<15689x768xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %m = arith.mulf %a, %a : f32
    %next = arith.addf %sum, %m : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  device.yield %y : tensor<f32>
}

// -----

// Not if blocks have little to do, or occupy the GPU; sums of 16 bits would be rounded more often; a prime number of elements has no equal parts.
// CHECK: func.func private @few
// CHECK-NOT: lockstep.has_scratch
device.kernel @few(%x: tensor<512x24xf32>) -> tensor<24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<24xf32>) -> tensor<24xf32>
  %y = linalg.reduce {arith.addf} ins(%x : tensor<512x24xf32>) outs(%f : tensor<24xf32>) dimensions = [0]
  device.yield %y : tensor<24xf32>
}
device.kernel @many(%x: tensor<8192x1056xf32>) -> tensor<1056xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1056xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1056xf32>) -> tensor<1056xf32>
  %y = linalg.reduce {arith.addf} ins(%x : tensor<8192x1056xf32>) outs(%f : tensor<1056xf32>) dimensions = [0]
  device.yield %y : tensor<1056xf32>
}
device.kernel @narrow(%x: tensor<65536x24xbf16>) -> tensor<24xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<24xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<24xbf16>) -> tensor<24xbf16>
  %y = linalg.reduce {arith.addf} ins(%x : tensor<65536x24xbf16>) outs(%f : tensor<24xbf16>) dimensions = [0]
  device.yield %y : tensor<24xbf16>
}
device.kernel @prime(%x: tensor<1000003xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %y = linalg.reduce {arith.addf} ins(%x : tensor<1000003xf32>) outs(%f : tensor<f32>) dimensions = [0]
  device.yield %y : tensor<f32>
}

// -----

// No results.
// CHECK: func.func private @none
// CHECK-NOT: lockstep.has_scratch
device.kernel @none(%x: tensor<4096x0xf32>) -> tensor<0xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<0xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<0xf32>) -> tensor<0xf32>
  %y = linalg.reduce {arith.addf} ins(%x : tensor<4096x0xf32>) outs(%f : tensor<0xf32>) dimensions = [0]
  device.yield %y : tensor<0xf32>
}
