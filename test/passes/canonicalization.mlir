// RUN: lockstep-compile --stop-after=import %s | FileCheck %s

// Padding that is inserted with a stride keeps its position: the element is at
// 1 + 1 * 2. MLIR's own canonicalization places it at 1 + 1.

// CHECK-LABEL: replica.step @step
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[1, 1] [3, 3] [1, 2]
func.func public @step(%x: tensor<1x1xf32> {replica.batch = "x"})
    -> (tensor<5x7xf32> {replica.metric = "y"}) {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x1xf32> to tensor<3x3xf32>
  %empty = tensor.empty() : tensor<5x7xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<5x7xf32>)
      -> tensor<5x7xf32>
  %y = tensor.insert_slice %padded into %filled[1, 1] [3, 3] [1, 2]
      : tensor<3x3xf32> into tensor<5x7xf32>
  return %y : tensor<5x7xf32>
}
