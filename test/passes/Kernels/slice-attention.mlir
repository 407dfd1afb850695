// Attention of some examples, or heads of one, at a time.

// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(expand-attention{most-bytes=120}))" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(expand-attention{most-bytes=255}))" --split-input-file | FileCheck %s --check-prefix=TWO
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(expand-attention))" --split-input-file | FileCheck %s --check-prefix=WHOLE
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(expand-attention{library most-bytes=1}))" --split-input-file | FileCheck %s --check-prefix=LIBRARY

// WHOLE-NOT: scf.for

// Three examples of two heads, each with 4 x 3 scores of f32: 96 bytes for an example.
// CHECK-LABEL: func.func @examples
// CHECK: %[[RESULTS:.*]]:2 = scf.for %[[I:.*]] = %c0 to %c3 step %c1 iter_args(%[[O:[a-z0-9]+]] = %{{[0-9]+}}, %[[S:[a-z0-9]+]] = %{{[0-9]+}})
// CHECK-SAME: -> (tensor<3x4x2x8xf32>, tensor<3x2x4xf32>)
// CHECK: %[[Q:.*]] = tensor.extract_slice %arg0[%[[I]], 0, 0, 0] [1, 4, 2, 8] [1, 1, 1, 1]
// CHECK: %[[K:.*]] = tensor.extract_slice %arg1[%[[I]], 0, 0, 0] [1, 3, 2, 8] [1, 1, 1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[Q]], %[[K]] : tensor<1x4x2x8xf32>, tensor<1x3x2x8xf32>) outs(%{{.*}} : tensor<1x2x4x3xf32>)
// CHECK: tensor.insert_slice %{{.*}} into %[[O]][%[[I]], 0, 0, 0] [1, 4, 2, 8] [1, 1, 1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %[[S]][%[[I]], 0, 0] [1, 2, 4] [1, 1, 1]
// CHECK: return %[[RESULTS]]#0, %[[RESULTS]]#1
// Two of them fit into 255 bytes, and the third one is behind a loop of one iteration.
// TWO-LABEL: func.func @examples
// TWO: %[[LOOP:.*]]:2 = scf.for %{{.*}} = %c0 to %c2 step %c2
// TWO: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x2x4x3xf32>)
// TWO: tensor.extract_slice %arg0[2, 0, 0, 0] [1, 4, 2, 8] [1, 1, 1, 1]
// TWO: tensor.insert_slice %{{.*}} into %[[LOOP]]#0[2, 0, 0, 0] [1, 4, 2, 8] [1, 1, 1, 1]
// TWO: tensor.insert_slice %{{.*}} into %[[LOOP]]#1[2, 0, 0] [1, 2, 4] [1, 1, 1]
func.func @examples(%q: tensor<3x4x2x8xf32>, %k: tensor<3x3x2x8xf32>, %v: tensor<3x3x2x8xf32>) -> (tensor<3x4x2x8xf32>, tensor<3x2x4xf32>) {
  %e = tensor.empty() : tensor<3x4x2x8xf32>
  %f = tensor.empty() : tensor<3x2x4xf32>
  %o:2 = device.attention causal scale 1.000000e+00 ins(%q, %k, %v : tensor<3x4x2x8xf32>, tensor<3x3x2x8xf32>, tensor<3x3x2x8xf32>)
      outs(%e, %f : tensor<3x4x2x8xf32>, tensor<3x2x4xf32>) -> tensor<3x4x2x8xf32>, tensor<3x2x4xf32>
  return %o#0, %o#1 : tensor<3x4x2x8xf32>, tensor<3x2x4xf32>
}

// -----

// The gradient, of bf16 with scores of f32: 5 x 4 of a head are 80 bytes, so that each example is divided by heads. What a library computes is not divided.
// CHECK-LABEL: func.func @heads
// CHECK: scf.for %[[B:.*]] = {{.*}} iter_args(%[[GQ:[a-z0-9]+]] = %{{[0-9]+}}, %[[GK:[a-z0-9]+]] = %{{[0-9]+}}, %[[GV:[a-z0-9]+]] = %{{[0-9]+}})
// CHECK: tensor.extract_slice %arg3[%[[B]], 0, 0] [1, 3, 5] [1, 1, 1] : tensor<2x3x5xf32> to tensor<1x3x5xf32>
// CHECK: scf.for %[[H:.*]] = {{.*}} iter_args
// CHECK: tensor.extract_slice %{{.*}}[0, 0, %[[H]], 0] [1, 5, 1, 8] [1, 1, 1, 1] : tensor<1x5x3x8xbf16> to tensor<1x5x1x8xbf16>
// CHECK: tensor.extract_slice %{{.*}}[0, %[[H]], 0] [1, 1, 5] [1, 1, 1] : tensor<1x3x5xf32> to tensor<1x1x5xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x1x5x4xf32>)
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, %[[H]], 0] [1, 5, 1, 8] [1, 1, 1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %[[GQ]][%[[B]], 0, 0, 0] [1, 5, 3, 8] [1, 1, 1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %[[GK]][%[[B]], 0, 0, 0] [1, 4, 3, 8] [1, 1, 1, 1]
// LIBRARY-LABEL: func.func @heads
// LIBRARY-NOT: scf.for
// LIBRARY: device.attention_gradient
func.func @heads(%q: tensor<2x5x3x8xbf16>, %k: tensor<2x4x3x8xbf16>, %o: tensor<2x5x3x8xbf16>, %s: tensor<2x3x5xf32>)
    -> (tensor<2x5x3x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>) {
  %e = tensor.empty() : tensor<2x5x3x8xbf16>
  %f = tensor.empty() : tensor<2x4x3x8xbf16>
  %g:3 = device.attention_gradient scale 1.000000e+00
      ins(%q, %k, %k, %o, %s, %o : tensor<2x5x3x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x3x5xf32>, tensor<2x5x3x8xbf16>)
      outs(%e, %f, %f : tensor<2x5x3x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>)
      -> tensor<2x5x3x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>
  return %g#0, %g#1, %g#2 : tensor<2x5x3x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>
}
