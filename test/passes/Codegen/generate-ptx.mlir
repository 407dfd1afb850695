// RUN: lockstep-opt %s --generate-code="targets=sm_90,x86-64-v3" > %t.first
// RUN: FileCheck %s < %t.first
// RUN: lockstep-opt %s --generate-code="targets=sm_90,x86-64-v3" > %t.second
// RUN: diff %t.first %t.second
// RUN: lockstep-opt %s --lower-kernels="target=sm_90" | FileCheck %s --check-prefix=LLVM

// A device of another kind has binaries of its own. Code for processors decides about tiles; the working memory of all tiles is that of a GPU.
// CHECK: device.kernel @sums
// CHECK-SAME: grid = 1 : i64
// CHECK-SAME: scratch = 256 : i64
// CHECK: device.binary @sm_90 device "cuda" target "sm_90" {object = dense<"0x2F2F
// CHECK: device.binary @x86_64_v3 target "x86-64-v3" {object = dense<"0x7F454C46

// Addresses and scalars are arguments, not arrays of them.
// LLVM: llvm.mlir.global private @{{.*}}() {addr_space = 3 : i32{{.*}}} : !llvm.array<128 x f32>
// LLVM: llvm.func @sums$0(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr, %arg3: i64)
// LLVM-SAME: lockstep.threads = 128 : i64
// LLVM: nvvm.barrier0
// LLVM: llvm.func @sums(
// LLVM-SAME: lockstep.launches = array<i64: 4, 128, 2, 256>
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#row = affine_map<(i, j) -> (i)>
device.kernel @sums(%x: tensor<4x100xf32>, %n: index) -> tensor<100x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x100xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %o = tensor.empty() : tensor<100x4xf32>
  %r = linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<4xf32>) outs(%o : tensor<100x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = arith.index_cast %n : index to i32
    %c = arith.sitofp %i : i32 to f32
    %d = arith.divf %a, %c : f32
    linalg.yield %d : f32
  } -> tensor<100x4xf32>
  device.yield %r : tensor<100x4xf32>
}
