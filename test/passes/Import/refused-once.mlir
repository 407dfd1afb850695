// RUN: not lockstep-opt %s --allow-unregistered-dialect --import-stablehlo 2>&1 | FileCheck %s

// Operations of one name that one expression has are reported once.
func.func @twice(%x: tensor<4xf32>) {
  %0 = "stablehlo.fft"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(#expression)
  %1 = "stablehlo.fft"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc(#expression)
  %2 = "chlo.top_k"(%1) : (tensor<4xf32>) -> tensor<4xf32> loc(#expression)
  return
}
#expression = loc("model.py":9:9)

// CHECK:     model.py:9:9: error: cannot import 'stablehlo.fft'
// CHECK-NOT: error: cannot import 'stablehlo.fft'
// CHECK:     model.py:9:9: error: cannot import 'chlo.top_k'
