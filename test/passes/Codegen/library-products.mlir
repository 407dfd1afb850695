// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases{library-products})" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases{library-products tf32})" --split-input-file | FileCheck %s --check-prefix=TF32
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases{library-products library-activations})" --split-input-file | FileCheck %s --check-prefix=ACTIVATION
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases)" --split-input-file | FileCheck %s --check-prefix=GENERATED

// GENERATED-NOT: lockstep.products

// Words: phase, rows, columns, depth, batches, repeats, whether it accumulates, whether factors are rounded; and of each matrix the buffer, the
// offset in bytes, the element type, and the strides of rows, columns, batches and repeats; whether a bias is added, its
// buffer and its offset; and the activation.
// CHECK-LABEL: func.func @plain$0
// CHECK: func.func private @plain
// CHECK-SAME: lockstep.products = array<i64: 0, 32, 48, 64, 1, 1, 0, 0,
// CHECK-SAME: 0, 0, 11, 64, 1, 0, 0,
// CHECK-SAME: 1, 0, 11, 48, 1, 0, 0,
// CHECK-SAME: 2, 0, 11, 48, 1, 0, 0, 0, 0, 0, 0>
// TF32: func.func private @plain
// TF32-SAME: lockstep.products = array<i64: 0, 32, 48, 64, 1, 1, 0, 1,
device.kernel @plain(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) -> tensor<32x48xf32>
  device.yield %m : tensor<32x48xf32>
}

// -----

// A slice of a factor begins at its row 4, with the strides of all of it. The products are added to what the result has, a copy of an argument.
// CHECK: func.func private @accumulating
// CHECK-SAME: lockstep.products = array<i64: 1, 32, 48, 64, 1, 1, 1, 0,
// CHECK-SAME: 0, 1280, 11, 80, 1, 0, 0,
// CHECK-SAME: 1, 0, 11, 48, 1, 0, 0,
// CHECK-SAME: 3, 0, 11, 48, 1, 0, 0, 0, 0, 0, 0>
device.kernel @accumulating(%x: tensor<36x80xf32>, %w: tensor<64x48xf32>, %c: tensor<32x48xf32>) -> tensor<32x48xf32> attributes {in_place = array<i64: 2>} {
  %s = tensor.extract_slice %x[4, 0] [32, 64] [1, 1] : tensor<36x80xf32> to tensor<32x64xf32>
  %m = linalg.matmul ins(%s, %w : tensor<32x64xf32>, tensor<64x48xf32>) outs(%c : tensor<32x48xf32>) -> tensor<32x48xf32>
  device.yield %m : tensor<32x48xf32>
}

// -----

// What follows is a phase of its own, and reads the product from working memory. Of an attention, heads are the batches of the first loop.
// CHECK-LABEL: func.func @scores$0
// CHECK-NOT: math.exp
// CHECK-LABEL: func.func @scores$1
// CHECK: math.exp
// CHECK: func.func private @scores
// CHECK-SAME: lockstep.products = array<i64: 0, 32, 24, 16, 4, 2, 0, 0,
// CHECK-SAME: 0, 0, 11, 64, 1, 16, 2048,
// CHECK-SAME: 1, 0, 11, 1, 64, 16, 1536,
// CHECK-SAME: 3, 0, 11, 24, 1, 768, 3072, 0, 0, 0, 0>
#q = affine_map<(b, h, q, t, d) -> (b, q, h, d)>
#k = affine_map<(b, h, q, t, d) -> (b, t, h, d)>
#s = affine_map<(b, h, q, t, d) -> (b, h, q, t)>
#id = affine_map<(b, h, q, t) -> (b, h, q, t)>
device.kernel @scores(%q: tensor<2x32x4x16xf32>, %k: tensor<2x24x4x16xf32>) -> tensor<2x4x32x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x32x24xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x32x24xf32>) -> tensor<2x4x32x24xf32>
  %m = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x32x4x16xf32>, tensor<2x24x4x16xf32>) outs(%f : tensor<2x4x32x24xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x4x32x24xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%m : tensor<2x4x32x24xf32>) outs(%e : tensor<2x4x32x24xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<2x4x32x24xf32>
  device.yield %r : tensor<2x4x32x24xf32>
}

// -----

// A rounding to 16 bits is part of the product, which stores no sums of 32 bits: the result has the element type 10, bf16.
// CHECK-LABEL: func.func @rounded$0
// CHECK-NOT: func.func @rounded$1
// CHECK: func.func private @rounded
// CHECK-SAME: lockstep.products = array<i64: 0, 32, 48, 64, 1, 1, 0, 0,
// CHECK-SAME: 0, 0, 10, 64, 1, 0, 0,
// CHECK-SAME: 1, 0, 10, 1, 64, 0, 0,
// CHECK-SAME: 2, 0, 10, 48, 1, 0, 0, 0, 0, 0, 0>
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (j, k)>
#r = affine_map<(i, j, k) -> (i, j)>
#same = affine_map<(i, j) -> (i, j)>
device.kernel @rounded(%x: tensor<32x64xbf16>, %w: tensor<48x64xbf16>) -> tensor<32x48xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %n = tensor.empty() : tensor<32x48xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.generic {indexing_maps = [#x, #w, #r], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<32x64xbf16>, tensor<48x64xbf16>) outs(%f : tensor<32x48xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %c, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<32x48xf32>
  %t = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<32x48xf32>) outs(%n : tensor<32x48xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %0 = arith.truncf %a : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<32x48xbf16>
  device.yield %t : tensor<32x48xbf16>
}

// -----

// A rounding that no library does, from f32 to bf16: it is a phase of its own, and the product is stored before.
// CHECK: func.func private @roundedAfterwards
// CHECK-SAME: lockstep.products = array<i64: 0, 32, 48, 64, 1, 1, 0, 0,
// CHECK-SAME: 0, 0, 11, 64, 1, 0, 0,
// CHECK-SAME: 1, 0, 11, 48, 1, 0, 0,
// CHECK-SAME: 3, 0, 11, 48, 1, 0, 0, 0, 0, 0, 0>
#same = affine_map<(i, j) -> (i, j)>
device.kernel @roundedAfterwards(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>) -> tensor<32x48xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %n = tensor.empty() : tensor<32x48xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) -> tensor<32x48xf32>
  %t = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<32x48xf32>) outs(%n : tensor<32x48xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %0 = arith.truncf %a : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<32x48xbf16>
  device.yield %t : tensor<32x48xbf16>
}

// -----

// Loops of one iteration are no dimensions. The repeated loop has 64 iterations, or is too long.
// CHECK: func.func private @ones
// CHECK-SAME: lockstep.products = array<i64: 0, 16, 16, 8, 100, 64, 0, 0,
// CHECK: func.func private @tooMany
// CHECK-NOT: lockstep.products
#l = affine_map<(o, b, h, i, j, k) -> (b, i, o, h, k)>
#r = affine_map<(o, b, h, i, j, k) -> (b, h, o, k, j)>
#p = affine_map<(o, b, h, i, j, k) -> (o, b, h, i, j)>
device.kernel @ones(%x: tensor<100x16x1x64x8xf32>, %w: tensor<100x64x1x8x16xf32>) -> tensor<1x100x64x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x100x64x16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x100x64x16x16xf32>) -> tensor<1x100x64x16x16xf32>
  %m = linalg.generic {indexing_maps = [#l, #r, #p], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<100x16x1x64x8xf32>, tensor<100x64x1x8x16xf32>) outs(%f : tensor<1x100x64x16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x100x64x16x16xf32>
  device.yield %m : tensor<1x100x64x16x16xf32>
}
device.kernel @tooMany(%x: tensor<100x16x1x65x8xf32>, %w: tensor<100x65x1x8x16xf32>) -> tensor<1x100x65x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x100x65x16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x100x65x16x16xf32>) -> tensor<1x100x65x16x16xf32>
  %m = linalg.generic {indexing_maps = [#l, #r, #p], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<100x16x1x65x8xf32>, tensor<100x65x1x8x16xf32>) outs(%f : tensor<1x100x65x16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x100x65x16x16xf32>
  device.yield %m : tensor<1x100x65x16x16xf32>
}

// -----

// Left to generated code: a convolution, sums that begin with another number than zero, and factors of two types.
// CHECK-NOT: lockstep.products
// CHECK: func.func private @convolution
// CHECK-NOT: lockstep.products
device.kernel @convolution(%x: tensor<4x18x18x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<4x16x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16x16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16x16x32xf32>) -> tensor<4x16x16x32xf32>
  %m = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<4x18x18x16xf32>, tensor<3x3x16x32xf32>) outs(%f : tensor<4x16x16x32xf32>) -> tensor<4x16x16x32xf32>
  device.yield %m : tensor<4x16x16x32xf32>
}

// CHECK: func.func private @fromOne
// CHECK-NOT: lockstep.products
device.kernel @fromOne(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) -> tensor<32x48xf32>
  device.yield %m : tensor<32x48xf32>
}

// CHECK: func.func private @mixed
// CHECK-NOT: lockstep.products
#xm = affine_map<(i, j, k) -> (i, k)>
#wm = affine_map<(i, j, k) -> (k, j)>
#rm = affine_map<(i, j, k) -> (i, j)>
device.kernel @mixed(%x: tensor<32x64xf16>, %w: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.generic {indexing_maps = [#xm, #wm, #rm], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<32x64xf16>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) {
  ^bb0(%a: f16, %b: f32, %c: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.mulf %0, %b : f32
    %2 = arith.addf %c, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<32x48xf32>
  device.yield %m : tensor<32x48xf32>
}

// -----

// Rows of 16-bit factors, and of their results, that are no multiples of eight elements: a factor is copied to working memory, with zeros behind
// each row, and the result computed before it. What is behind its rows is left out.
// CHECK-LABEL: func.func @unaligned$0
// CHECK: memref.subview %{{.*}}[0, 0] [1024, 1026] [1, 1] : memref<1024x1032xbf16> to memref<1024x1026xbf16, strided<[1032, 1]>>
// CHECK: memref.load %arg1
// CHECK: memref.store
// CHECK-LABEL: func.func @unaligned$1
// CHECK: memref.subview %{{.*}}[0, 1026] [1024, 6] [1, 1] : memref<1024x1032xbf16> to memref<1024x6xbf16, strided<[1032, 1], offset: 1026>>
// CHECK: memref.store %cst
// CHECK-LABEL: func.func @unaligned$2
// CHECK-LABEL: func.func @unaligned$3
// CHECK: memref.load %{{.*}} : memref<1024x1026xf32, strided<[1032, 1]>>
// CHECK: memref.store %{{.*}}, %arg2
// CHECK: func.func private @unaligned
// CHECK-SAME: lockstep.products = array<i64: 2, 1024, 1032, 1024, 1, 1, 0, 0,
// CHECK-SAME: 0, 0, 10, 1024, 1, 0, 0,
// CHECK-SAME: 3, 4227072, 10, 1032, 1, 0, 0,
// CHECK-SAME: 3, 0, 11, 1032, 1, 0, 0, 0, 0, 0, 0>
// CHECK-SAME: lockstep.scratch = 6340608
device.kernel @unaligned(%x: tensor<1024x1024xbf16>, %w: tensor<1024x1026xbf16>) -> tensor<1024x1026xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1026xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x1026xf32>) -> tensor<1024x1026xf32>
  %m = linalg.matmul ins(%x, %w : tensor<1024x1024xbf16>, tensor<1024x1026xbf16>) outs(%f : tensor<1024x1026xf32>) -> tensor<1024x1026xf32>
  device.yield %m : tensor<1024x1026xf32>
}

// -----

// Smaller products take no longer than the copies would.
// CHECK: func.func private @short
// CHECK-SAME: lockstep.products = array<i64: 0, 256, 1026, 1024,
device.kernel @short(%x: tensor<256x1024xbf16>, %w: tensor<1024x1026xbf16>) -> tensor<256x1026xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x1026xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x1026xf32>) -> tensor<256x1026xf32>
  %m = linalg.matmul ins(%x, %w : tensor<256x1024xbf16>, tensor<1024x1026xbf16>) outs(%f : tensor<256x1026xf32>) -> tensor<256x1026xf32>
  device.yield %m : tensor<256x1026xf32>
}

// -----

// A result that the library rounds is rounded there, too, and nothing is reserved for the sums. Rows of zeros are added to a factor.
// CHECK-LABEL: func.func @wide$1
// CHECK: memref.subview %{{.*}}[1026, 0] [6, 1024] [1, 1] : memref<1032x1024xbf16>
// CHECK-LABEL: func.func @wide$3
// CHECK: memref.load %{{.*}} : memref<1024x1026xbf16, strided<[1032, 1]>>
// CHECK: memref.store %{{.*}}, %arg2
// CHECK: func.func private @wide
// CHECK-SAME: lockstep.products = array<i64: 2, 1024, 1032, 1024, 1, 1, 0, 0,
// CHECK-SAME: 0, 0, 10, 1024, 1, 0, 0,
// CHECK-SAME: 3, 2113536, 10, 1, 1024, 0, 0,
// CHECK-SAME: 3, 0, 10, 1032, 1, 0, 0, 0, 0, 0, 0>
// CHECK-SAME: lockstep.scratch = 4227072
#m = affine_map<(i, j, k) -> (i, k)>
#n = affine_map<(i, j, k) -> (j, k)>
#r = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
device.kernel @wide(%x: tensor<1024x1024xbf16>, %w: tensor<1026x1024xbf16>) -> tensor<1024x1026xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1026xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x1026xf32>) -> tensor<1024x1026xf32>
  %m = linalg.generic {indexing_maps = [#m, #n, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<1024x1024xbf16>, tensor<1026x1024xbf16>) outs(%f : tensor<1024x1026xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %c, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<1024x1026xf32>
  %o = tensor.empty() : tensor<1024x1026xbf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<1024x1026xf32>) outs(%o : tensor<1024x1026xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %0 = arith.truncf %a : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<1024x1026xbf16>
  device.yield %r : tensor<1024x1026xbf16>
}

// -----

// A bias is added by the library, which stores the sum: two dimensions of it are the columns. It begins at an offset. A ReLU only if that is
// asked for; otherwise, it is a phase of its own, with the bias.
// CHECK-LABEL: func.func @biased$0
// CHECK-NOT: @biased$1
// CHECK: func.func private @biased
// CHECK-SAME: lockstep.products = array<i64: 0, 32, 48, 64, 1, 1, 0, 0,
// CHECK-SAME: 0, 0, 11, 64, 1, 0, 0,
// CHECK-SAME: 1, 0, 11, 48, 1, 0, 0,
// CHECK-SAME: 3, 0, 11, 48, 1, 0, 0, 1, 2, 192, 0>
#x = affine_map<(m, h, d, k) -> (m, k)>
#w = affine_map<(m, h, d, k) -> (k, h, d)>
#p = affine_map<(m, h, d, k) -> (m, h, d)>
#id = affine_map<(m, h, d) -> (m, h, d)>
#column = affine_map<(m, h, d) -> (h, d)>
device.kernel @biased(%x: tensor<32x64xf32>, %w: tensor<64x3x16xf32>, %all: tensor<2x3x16xf32>) -> tensor<32x3x16xf32> {
  %zero = arith.constant 0.0 : f32
  %bias = tensor.extract_slice %all[1, 0, 0] [1, 3, 16] [1, 1, 1] : tensor<2x3x16xf32> to tensor<3x16xf32>
  %e = tensor.empty() : tensor<32x3x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x3x16xf32>) -> tensor<32x3x16xf32>
  %m = linalg.generic {indexing_maps = [#x, #w, #p], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<32x64xf32>, tensor<64x3x16xf32>) outs(%f : tensor<32x3x16xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<32x3x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%m, %bias : tensor<32x3x16xf32>, tensor<3x16xf32>) outs(%e : tensor<32x3x16xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %j, %i : f32
    linalg.yield %0 : f32
  } -> tensor<32x3x16xf32>
  device.yield %r : tensor<32x3x16xf32>
}

// CHECK-LABEL: func.func @relu$0
// CHECK-LABEL: func.func @relu$1
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: func.func private @relu
// CHECK-SAME: lockstep.products = array<i64: 0, 32, 48, 64, {{.*}}, 0, 0, 0, 0>
// ACTIVATION-LABEL: func.func @relu$0
// ACTIVATION-NOT: @relu$1
// ACTIVATION: func.func private @relu
// ACTIVATION-SAME: lockstep.products = array<i64: 0, 32, 48, 64, 1, 1, 0, 0,
// ACTIVATION-SAME: 3, 0, 11, 48, 1, 0, 0, 1, 2, 0, 1>
#id2 = affine_map<(m, n) -> (m, n)>
#column2 = affine_map<(m, n) -> (n)>
device.kernel @relu(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>, %bias: tensor<48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) -> tensor<32x48xf32>
  %r = linalg.generic {indexing_maps = [#id2, #column2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%m, %bias : tensor<32x48xf32>, tensor<48xf32>) outs(%e : tensor<32x48xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<32x48xf32>
  device.yield %r : tensor<32x48xf32>
}

// No ReLU: a maximum with another number. No bias: one element for each row, or one that does not begin at a multiple of 16 bytes.
// ACTIVATION: func.func private @no_relu
// ACTIVATION-SAME: lockstep.products = array<i64: 0, 32, 48, 64, {{.*}}, 0, 0, 0, 0>
// ACTIVATION: func.func private @no_bias
// ACTIVATION-SAME: lockstep.products = array<i64: 0, 32, 48, 64, {{.*}}, 0, 0, 0, 0>
// ACTIVATION: func.func private @unaligned
// ACTIVATION-SAME: lockstep.products = array<i64: 0, 32, 48, 64, {{.*}}, 0, 0, 0, 0>
#row2 = affine_map<(m, n) -> (m)>
device.kernel @no_relu(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) -> tensor<32x48xf32>
  %r = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.maximumf %i, %one : f32
    linalg.yield %0 : f32
  } -> tensor<32x48xf32>
  device.yield %r : tensor<32x48xf32>
}
device.kernel @no_bias(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>, %bias: tensor<32xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) -> tensor<32x48xf32>
  %r = linalg.generic {indexing_maps = [#id2, #row2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%m, %bias : tensor<32x48xf32>, tensor<32xf32>) outs(%e : tensor<32x48xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<32x48xf32>
  device.yield %r : tensor<32x48xf32>
}
device.kernel @unaligned(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>, %all: tensor<49xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %bias = tensor.extract_slice %all[1] [48] [1] : tensor<49xf32> to tensor<48xf32>
  %e = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) -> tensor<32x48xf32>
  %r = linalg.generic {indexing_maps = [#id2, #column2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%m, %bias : tensor<32x48xf32>, tensor<48xf32>) outs(%e : tensor<32x48xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<32x48xf32>
  device.yield %r : tensor<32x48xf32>
}
