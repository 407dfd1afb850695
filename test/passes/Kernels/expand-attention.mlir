// What cuDNN may compute is kept, and becomes a kernel of its own.

// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(expand-attention{library}),form-kernels)" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(expand-attention{library}),form-kernels)" --split-input-file --remarks-filter=kernels 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(expand-attention))" --split-input-file | FileCheck %s --check-prefix=EXPANDED
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(expand-attention{library obstacle=forTheTest}))" --split-input-file --remarks-filter=kernels 2>&1 | FileCheck %s --check-prefix=OBSTACLE

// EXPANDED-NOT: device.attention
// OBSTACLE-NOT: device.attention
// OBSTACLE: Remark="generated code instead of cuDNN: forTheTest"

// The kernel reads parts of a tensor where they are. Element-wise operations before and after it have kernels of their own, small as they are.
// CHECK: device.kernel private @step_0_elementwise
// CHECK-NOT: device.attention
// CHECK: device.kernel private @step_1_attention(%{{.*}}: tensor<2x4x3x2x8xf16>) -> (tensor<2x4x2x8xf16>, tensor<2x2x4xf32>)
// CHECK-COUNT-3: tensor.extract_slice
// CHECK: device.attention causal
// CHECK-NEXT: device.yield
// CHECK: device.kernel private @step_2_elementwise
// CHECK-NOT: extract_slice
// CHECK: func.func @step
#id = affine_map<(i, j, k, l) -> (i, j, k, l)>
#id5 = affine_map<(i, j, k, l, m) -> (i, j, k, l, m)>
func.func @step(%y: tensor<2x4x3x2x8xf16>) -> (tensor<2x4x2x8xf16>, tensor<2x2x4xf32>) {
  %xe = tensor.empty() : tensor<2x4x3x2x8xf16>
  %x = linalg.generic {indexing_maps = [#id5, #id5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<2x4x3x2x8xf16>) outs(%xe : tensor<2x4x3x2x8xf16>) {
  ^bb0(%a: f16, %out: f16):
    %n = arith.negf %a : f16
    linalg.yield %n : f16
  } -> tensor<2x4x3x2x8xf16>
  %qs = tensor.extract_slice %x[0, 0, 0, 0, 0] [2, 4, 1, 2, 8] [1, 1, 1, 1, 1] : tensor<2x4x3x2x8xf16> to tensor<2x4x1x2x8xf16>
  %q = tensor.collapse_shape %qs [[0], [1, 2], [3], [4]] : tensor<2x4x1x2x8xf16> into tensor<2x4x2x8xf16>
  %k = tensor.extract_slice %x[0, 0, 1, 0, 0] [2, 4, 1, 2, 8] [1, 1, 1, 1, 1] : tensor<2x4x3x2x8xf16> to tensor<2x4x2x8xf16>
  %v = tensor.extract_slice %x[0, 0, 2, 0, 0] [2, 4, 1, 2, 8] [1, 1, 1, 1, 1] : tensor<2x4x3x2x8xf16> to tensor<2x4x2x8xf16>
  %e = tensor.empty() : tensor<2x4x2x8xf16>
  %f = tensor.empty() : tensor<2x2x4xf32>
  %o:2 = device.attention causal scale 1.000000e+00 ins(%q, %k, %v : tensor<2x4x2x8xf16>, tensor<2x4x2x8xf16>, tensor<2x4x2x8xf16>)
      outs(%e, %f : tensor<2x4x2x8xf16>, tensor<2x2x4xf32>) -> tensor<2x4x2x8xf16>, tensor<2x2x4xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%o#0 : tensor<2x4x2x8xf16>) outs(%e : tensor<2x4x2x8xf16>) {
  ^bb0(%a: f16, %out: f16):
    %n = arith.negf %a : f16
    linalg.yield %n : f16
  } -> tensor<2x4x2x8xf16>
  return %r, %o#1 : tensor<2x4x2x8xf16>, tensor<2x2x4xf32>
}

// -----

// In a loop of the step, too.
// CHECK: device.kernel private @step_{{.*}}attention(
// CHECK: func.func @step
// CHECK: scf.for
// CHECK: device.invoke @step_{{.*}}attention
func.func @step(%x: tensor<1x4x2x8xbf16>) -> tensor<1x4x2x8xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<1x4x2x8xbf16>
  %f = tensor.empty() : tensor<1x2x4xf32>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<1x4x2x8xbf16> {
    %o:2 = device.attention scale 1.000000e+00 ins(%a, %a, %a : tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>)
        outs(%e, %f : tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>) -> tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>
    scf.yield %o#0 : tensor<1x4x2x8xbf16>
  }
  return %r : tensor<1x4x2x8xbf16>
}

// -----

// CHECK-NOT: device.attention
// REMARK: remark: [Missed] Attention {{.*}} Remark="generated code instead of cuDNN: expected elements of f16 or bf16, found f32"
func.func @single(%x: tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32> {
  %e = tensor.empty() : tensor<1x4x2x8xf32>
  %f = tensor.empty() : tensor<1x2x4xf32>
  %o:2 = device.attention scale 1.000000e+00 ins(%x, %x, %x : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
      outs(%e, %f : tensor<1x4x2x8xf32>, tensor<1x2x4xf32>) -> tensor<1x4x2x8xf32>, tensor<1x2x4xf32>
  return %o#0 : tensor<1x4x2x8xf32>
}

// -----

// CHECK-NOT: device.attention
// REMARK: remark: [Missed] Attention {{.*}} Remark="generated code instead of cuDNN: expected heads of at most 128 elements, a multiple of 8, found 12"
func.func @heads(%x: tensor<1x4x2x12xf16>) -> tensor<1x4x2x12xf16> {
  %e = tensor.empty() : tensor<1x4x2x12xf16>
  %f = tensor.empty() : tensor<1x2x4xf32>
  %o:2 = device.attention scale 1.000000e+00 ins(%x, %x, %x : tensor<1x4x2x12xf16>, tensor<1x4x2x12xf16>, tensor<1x4x2x12xf16>)
      outs(%e, %f : tensor<1x4x2x12xf16>, tensor<1x2x4xf32>) -> tensor<1x4x2x12xf16>, tensor<1x2x4xf32>
  return %o#0 : tensor<1x4x2x12xf16>
}

// -----

// A library reads no part that begins elsewhere than at a multiple of 16 bytes, nor constants within the code.
// CHECK: device.kernel private @step_{{[0-9]+}}_extract_slice
// CHECK: device.kernel private @step_{{[0-9]+}}_attention(%{{.*}}: tensor<1x2x1x8xf16>, %{{.*}}: tensor<1x2x1x8xf16>)
// CHECK-NOT: extract_slice
// CHECK-NOT: dense
// CHECK: device.yield
func.func @step(%x: tensor<1x2x1x24xf16>) -> tensor<1x2x1x8xf16> {
  %c = arith.constant dense<[[[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]], [[8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]]]]> : tensor<1x2x1x8xf16>
  %q = tensor.extract_slice %x[0, 0, 0, 4] [1, 2, 1, 8] [1, 1, 1, 1] : tensor<1x2x1x24xf16> to tensor<1x2x1x8xf16>
  %e = tensor.empty() : tensor<1x2x1x8xf16>
  %f = tensor.empty() : tensor<1x1x2xf32>
  %o:2 = device.attention scale 1.000000e+00 ins(%q, %c, %c : tensor<1x2x1x8xf16>, tensor<1x2x1x8xf16>, tensor<1x2x1x8xf16>)
      outs(%e, %f : tensor<1x2x1x8xf16>, tensor<1x1x2xf32>) -> tensor<1x2x1x8xf16>, tensor<1x1x2xf32>
  return %o#0 : tensor<1x2x1x8xf16>
}
