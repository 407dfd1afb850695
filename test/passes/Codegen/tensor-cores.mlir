// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases)" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases{tf32})" --split-input-file | FileCheck %s --check-prefix=TF32

// Factors of 16 bits: two of them are a word of 32 bits. A thread has 4 x 4 elements of a tile of 32 x 32, of which a tensor core computes 2 x 2.
// CHECK-LABEL: func.func @halves$0
// CHECK-SAME: lockstep.threads = 64
// CHECK: memref.get_global @{{.*}} : memref<2x32x24xi16, 3>
// CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : f16 to i16
// CHECK: memref.store %[[BITS]]
// CHECK: nvvm.barrier0
// CHECK: vector.load {{.*}} {alignment = 4 : i64} : memref<2x32x24xi16, 3>, vector<2xi16>
// CHECK-COUNT-4: nvvm.mma.sync {{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32)
// CHECK-NOT: math.fma
// CHECK: func.func private @halves
device.kernel @halves(%x: tensor<32x64xf16>, %w: tensor<64x32xf16>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xf16>, tensor<64x32xf16>) outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  device.yield %m : tensor<32x32xf32>
}

// -----

// Factors of f32, only if they may be rounded. The slices are 16 deep; the last one has 4 elements, and zeros.
// CHECK-LABEL: func.func @singles$0
// CHECK-NOT: nvvm.mma.sync
// CHECK: math.fma
// TF32-LABEL: func.func @singles$0
// TF32: nvvm.convert.float.to.tf32 %{{.*}} {rnd = #nvvm.fp_rnd_mode<rna>}
// TF32-COUNT-8: nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<tf32>, {{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 8>
// TF32-NOT: math.fma
// TF32: func.func private @singles
device.kernel @singles(%x: tensor<32x68xf32>, %w: tensor<68x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x68xf32>, tensor<68x32xf32>) outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  device.yield %m : tensor<32x32xf32>
}

// -----

// Not of f64, and not of two types.
// TF32-LABEL: func.func @doubles$0
// TF32-NOT: nvvm.mma.sync
// TF32: math.fma
device.kernel @doubles(%x: tensor<32x64xf64>, %w: tensor<64x32xf64>) -> tensor<32x32xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<32x32xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<32x32xf64>) -> tensor<32x32xf64>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xf64>, tensor<64x32xf64>) outs(%f : tensor<32x32xf64>) -> tensor<32x32xf64>
  device.yield %m : tensor<32x32xf64>
}

// -----

// TF32-LABEL: func.func @mixed$0
// TF32-NOT: nvvm.mma.sync
// TF32: math.fma
device.kernel @mixed(%x: tensor<32x64xbf16>, %w: tensor<64x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xbf16>, tensor<64x32xf32>) outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  device.yield %m : tensor<32x32xf32>
}
