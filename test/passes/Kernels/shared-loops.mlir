// RUN: lockstep-opt %s --form-kernels --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --form-kernels=library-products --split-input-file | FileCheck %s --check-prefix=LIBRARY

// A softmax of long rows, which is much work, has one kernel: its loops over rows are common, and what a row needs stays in a cache.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: device.kernel private @softmax_0_elementwise
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK-NOT: device.kernel
// CHECK: func.func @softmax
func.func @softmax(%x: tensor<4096x256xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<4096x256xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %o = tensor.empty() : tensor<4096x256xf32>
  %e = tensor.empty() : tensor<4096xf32>
  %f = linalg.fill ins(%lowest : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4096x256xf32>) outs(%f : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4096xf32>
  %exp = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %max : tensor<4096x256xf32>, tensor<4096xf32>) outs(%o : tensor<4096x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.subf %a, %b : f32
    %t = math.exp %s : f32
    linalg.yield %t : f32
  } -> tensor<4096x256xf32>
  %g = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<4096x256xf32>) outs(%g : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<4096xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<4096x256xf32>, tensor<4096xf32>) outs(%o : tensor<4096x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4096x256xf32>
  return %r : tensor<4096x256xf32>
}

// -----

// Not where an iteration reads what another one computes: a column of the exponentials.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
// CHECK: device.kernel private @columns_0_elementwise
// CHECK: math.exp
// CHECK: device.kernel private @columns_1_reduction
// CHECK: arith.addf
func.func @columns(%x: tensor<4096x256xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<4096x256xf32> {device.binding = #device.binding<result "e">}, tensor<256xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<4096x256xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4096x256xf32>) outs(%o : tensor<4096x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<4096x256xf32>
  %e = tensor.empty() : tensor<256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256xf32>) -> tensor<256xf32>
  %sum = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%exp : tensor<4096x256xf32>) outs(%f : tensor<256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<256xf32>
  return %exp, %sum : tensor<4096x256xf32>, tensor<256xf32>
}

// -----

// Not where rows leave the cache, nor where there are few of them: then only these would be divided among processors.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK: device.kernel private @few_0_elementwise
// CHECK: device.kernel private @few_1_reduction
func.func @few(%x: tensor<8x65536xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<8x65536xf32> {device.binding = #device.binding<result "e">}, tensor<8xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<8x65536xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x65536xf32>) outs(%o : tensor<8x65536xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<8x65536xf32>
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<8x65536xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %exp, %sum : tensor<8x65536xf32>, tensor<8xf32>
}

// -----

// Not with a value that is exchanged, which would be ready later. What is only read shares its loops with what reads it.
#id = affine_map<(i, j) -> (i, j)>
collective.group @all
// CHECK: device.kernel private @exchanged_0_elementwise
// CHECK: math.exp
// CHECK: device.kernel private @exchanged_1_elementwise
// CHECK: arith.mulf
// CHECK: math.tanh
// CHECK: arith.addf
// CHECK-NOT: device.kernel
func.func @exchanged(%x: tensor<4096x256xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4096x256xf32> {device.binding = #device.binding<result "s">}, tensor<4096x256xf32> {device.binding = #device.binding<result "t">}, tensor<4096x256xf32> {device.binding = #device.binding<result "r">}) {
  %o = tensor.empty() : tensor<4096x256xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4096x256xf32>) outs(%o : tensor<4096x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<4096x256xf32>
  %p = collective.start all_reduce sum @all(%exp : tensor<4096x256xf32>) -> <tensor<4096x256xf32>>
  %s = collective.wait %p(%exp : tensor<4096x256xf32>) : <tensor<4096x256xf32>> -> tensor<4096x256xf32>
  %tanh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%exp : tensor<4096x256xf32>) outs(%o : tensor<4096x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %2 = arith.mulf %a, %a : f32
    %t = math.tanh %2 : f32
    linalg.yield %t : f32
  } -> tensor<4096x256xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%tanh, %exp : tensor<4096x256xf32>, tensor<4096x256xf32>) outs(%o : tensor<4096x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<4096x256xf32>
  return %s, %tanh, %r : tensor<4096x256xf32>, tensor<4096x256xf32>, tensor<4096x256xf32>
}

// -----

// What follows a product is computed with its sums in registers. A library only rounds them or adds a bias, so that what else follows is
// computed with the operations after it.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK: device.kernel private @epilogue_0_matmul
// CHECK: linalg.matmul
// CHECK: math.tanh
// CHECK: device.kernel private @epilogue_1_reduction
// LIBRARY: device.kernel private @epilogue_0_matmul
// LIBRARY-NOT: math.tanh
// LIBRARY: device.kernel private @epilogue_1_reduction
// LIBRARY: math.tanh
// LIBRARY: arith.addf
func.func @epilogue(%x: tensor<4096x256xf32> {device.binding = #device.binding<batch "x">}, %w: tensor<256x256xf32> {device.binding = #device.binding<batch "w">}) -> (tensor<4096xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<4096x256xf32>
  %z = linalg.fill ins(%zero : f32) outs(%o : tensor<4096x256xf32>) -> tensor<4096x256xf32>
  %m = linalg.matmul ins(%x, %w : tensor<4096x256xf32>, tensor<256x256xf32>) outs(%z : tensor<4096x256xf32>) -> tensor<4096x256xf32>
  %tanh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<4096x256xf32>) outs(%o : tensor<4096x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = math.tanh %a : f32
    linalg.yield %t : f32
  } -> tensor<4096x256xf32>
  %e = tensor.empty() : tensor<4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%tanh : tensor<4096x256xf32>) outs(%f : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<4096xf32>
  return %sum : tensor<4096xf32>
}

// -----

// A library adds a bias to a single product, if it has one element for each column: not to a batch, nor another addend.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#row = affine_map<(i, j) -> (i)>
#id3 = affine_map<(b, i, j) -> (b, i, j)>
#column3 = affine_map<(b, i, j) -> (j)>
// LIBRARY: device.kernel private @biases_0_matmul
// LIBRARY: linalg.matmul
// LIBRARY: arith.addf
// LIBRARY: device.kernel private @biases_1_matmul
// LIBRARY-NOT: arith.addf
// LIBRARY: device.kernel private @biases_2_elementwise
// LIBRARY: arith.addf
// LIBRARY: device.kernel private @biases_3_batch_matmul
// LIBRARY-NOT: arith.addf
// LIBRARY: device.kernel private @biases_4_elementwise
// LIBRARY: arith.addf
// LIBRARY-LABEL: func.func @biases
func.func @biases(%x: tensor<256x256xf32> {device.binding = #device.binding<batch "x">}, %y: tensor<4x256x256xf32> {device.binding = #device.binding<batch "y">}, %b: tensor<256xf32> {device.binding = #device.binding<batch "b">}) -> (tensor<256x256xf32> {device.binding = #device.binding<result "r">}, tensor<256x256xf32> {device.binding = #device.binding<result "s">}, tensor<4x256x256xf32> {device.binding = #device.binding<result "t">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<256x256xf32>) -> tensor<256x256xf32>
  %p = linalg.matmul ins(%x, %x : tensor<256x256xf32>, tensor<256x256xf32>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  %r = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<256x256xf32>, tensor<256xf32>) outs(%o : tensor<256x256xf32>) {
  ^bb0(%i: f32, %j: f32, %k: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<256x256xf32>
  %q = linalg.matmul ins(%x, %r : tensor<256x256xf32>, tensor<256x256xf32>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  %s = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%q, %b : tensor<256x256xf32>, tensor<256xf32>) outs(%o : tensor<256x256xf32>) {
  ^bb0(%i: f32, %j: f32, %k: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<256x256xf32>
  %o3 = tensor.empty() : tensor<4x256x256xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%o3 : tensor<4x256x256xf32>) -> tensor<4x256x256xf32>
  %m = linalg.batch_matmul ins(%y, %y : tensor<4x256x256xf32>, tensor<4x256x256xf32>) outs(%f3 : tensor<4x256x256xf32>) -> tensor<4x256x256xf32>
  %t = linalg.generic {indexing_maps = [#id3, #column3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%m, %b : tensor<4x256x256xf32>, tensor<256xf32>) outs(%o3 : tensor<4x256x256xf32>) {
  ^bb0(%i: f32, %j: f32, %k: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<4x256x256xf32>
  return %r, %s, %t : tensor<256x256xf32>, tensor<256x256xf32>, tensor<4x256x256xf32>
}
