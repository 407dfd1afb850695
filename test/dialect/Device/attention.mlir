// RUN: lockstep-opt %s --split-input-file | lockstep-opt --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(expand-attention))" | FileCheck %s --check-prefix=EXPANDED

// Two products, and between them a softmax of their rows.
// CHECK-LABEL: func.func @forward
// CHECK: device.attention causal scale 5.000000e-01 ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x4x3x8xbf16>, tensor<2x6x3x8xbf16>, tensor<2x6x3x8xbf16>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>) -> tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>
// EXPANDED-LABEL: func.func @forward
// EXPANDED-NOT: device.attention
// EXPANDED: %[[PRODUCTS:.*]] = linalg.generic
// EXPANDED-SAME: ins(%arg0, %arg1 : tensor<2x4x3x8xbf16>, tensor<2x6x3x8xbf16>) outs(%{{.*}} : tensor<2x3x4x6xf32>)
// EXPANDED: %[[SCORES:.*]] = linalg.generic {{.*}} ins(%[[PRODUCTS]] : tensor<2x3x4x6xf32>)
// EXPANDED: %[[SCALE:.*]] = arith.constant 5.000000e-01 : f32
// EXPANDED: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[SCALE]] : f32
// EXPANDED: %[[QUERY:.*]] = linalg.index 2 : index
// EXPANDED: %[[KEY:.*]] = linalg.index 3 : index
// EXPANDED: %[[SEEN:.*]] = arith.cmpi sge, %[[QUERY]], %[[KEY]] : index
// EXPANDED: arith.select %[[SEEN]], %[[SCALED]], %{{.*}} : f32
// EXPANDED: arith.maximumf
// EXPANDED: math.exp
// EXPANDED: arith.addf
// EXPANDED: arith.divf
// EXPANDED: arith.truncf %{{.*}} : f32 to bf16
// EXPANDED: ins(%{{.*}}, %arg2 : tensor<2x3x4x6xbf16>, tensor<2x6x3x8xbf16>) outs(%{{.*}} : tensor<2x4x3x8xf32>)
// EXPANDED: arith.truncf %{{.*}} : f32 to bf16
// EXPANDED: math.log
func.func @forward(%q: tensor<2x4x3x8xbf16>, %k: tensor<2x6x3x8xbf16>, %v: tensor<2x6x3x8xbf16>) -> (tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>) {
  %e = tensor.empty() : tensor<2x4x3x8xbf16>
  %f = tensor.empty() : tensor<2x3x4xf32>
  %o:2 = device.attention causal scale 5.000000e-01 ins(%q, %k, %v : tensor<2x4x3x8xbf16>, tensor<2x6x3x8xbf16>, tensor<2x6x3x8xbf16>)
      outs(%e, %f : tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>) -> tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>
  return %o#0, %o#1 : tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>
}

// -----

// Five products: the scores again, the gradients of values and weights, and those of queries and keys. Nothing is rounded, or masked.
// CHECK-LABEL: func.func @gradient
// CHECK: device.attention_gradient scale 2.500000e-01 ins(
// CHECK-SAME: outs(
// CHECK-SAME: -> tensor<2x4x3x8xf64>, tensor<2x6x3x8xf64>, tensor<2x6x3x8xf64>
// EXPANDED-LABEL: func.func @gradient
// EXPANDED-NOT: arith.truncf
// EXPANDED-NOT: arith.select
// EXPANDED: ins(%arg0, %arg1 : tensor<2x4x3x8xf64>, tensor<2x6x3x8xf64>) outs(%{{.*}} : tensor<2x3x4x6xf64>)
// EXPANDED: math.exp
// EXPANDED: ins(%[[WEIGHTS:.*]], %arg5 : tensor<2x3x4x6xf64>, tensor<2x4x3x8xf64>) outs(%{{.*}} : tensor<2x6x3x8xf64>)
// EXPANDED: ins(%arg5, %arg2 : tensor<2x4x3x8xf64>, tensor<2x6x3x8xf64>) outs(%{{.*}} : tensor<2x3x4x6xf64>)
// EXPANDED: ins(%arg5, %arg3 : tensor<2x4x3x8xf64>, tensor<2x4x3x8xf64>) outs(%{{.*}} : tensor<2x3x4xf64>)
// EXPANDED: ins(%[[SCORES:.*]], %arg1 : tensor<2x3x4x6xf64>, tensor<2x6x3x8xf64>) outs(%{{.*}} : tensor<2x4x3x8xf64>)
// EXPANDED: ins(%[[SCORES]], %arg0 : tensor<2x3x4x6xf64>, tensor<2x4x3x8xf64>) outs(%{{.*}} : tensor<2x6x3x8xf64>)
func.func @gradient(%q: tensor<2x4x3x8xf64>, %k: tensor<2x6x3x8xf64>, %v: tensor<2x6x3x8xf64>, %o: tensor<2x4x3x8xf64>, %s: tensor<2x3x4xf64>,
                    %d: tensor<2x4x3x8xf64>) -> (tensor<2x4x3x8xf64>, tensor<2x6x3x8xf64>, tensor<2x6x3x8xf64>) {
  %e = tensor.empty() : tensor<2x4x3x8xf64>
  %f = tensor.empty() : tensor<2x6x3x8xf64>
  %g:3 = device.attention_gradient scale 2.500000e-01
      ins(%q, %k, %v, %o, %s, %d : tensor<2x4x3x8xf64>, tensor<2x6x3x8xf64>, tensor<2x6x3x8xf64>, tensor<2x4x3x8xf64>, tensor<2x3x4xf64>, tensor<2x4x3x8xf64>)
      outs(%e, %f, %f : tensor<2x4x3x8xf64>, tensor<2x6x3x8xf64>, tensor<2x6x3x8xf64>) -> tensor<2x4x3x8xf64>, tensor<2x6x3x8xf64>, tensor<2x6x3x8xf64>
  return %g#0, %g#1, %g#2 : tensor<2x4x3x8xf64>, tensor<2x6x3x8xf64>, tensor<2x6x3x8xf64>
}

// -----

// On memory.
// CHECK-LABEL: func.func @memory
// CHECK: device.attention scale 1.000000e+00 ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<1x4x1x8xf16>, memref<1x4x1x8xf16>, memref<1x4x1x8xf16>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : memref<1x4x1x8xf16>, memref<1x1x4xf32>){{$}}
func.func @memory(%q: memref<1x4x1x8xf16>, %o: memref<1x4x1x8xf16>, %s: memref<1x1x4xf32>) {
  device.attention scale 1.000000e+00 ins(%q, %q, %q : memref<1x4x1x8xf16>, memref<1x4x1x8xf16>, memref<1x4x1x8xf16>)
      outs(%o, %s : memref<1x4x1x8xf16>, memref<1x1x4xf32>)
  return
}
