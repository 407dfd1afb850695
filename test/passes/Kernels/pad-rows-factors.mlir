// Which factors get rows of a multiple of eight elements (see pad-rows.mlir).

// RUN: lockstep-opt %s --form-kernels=library-products=true --pad-rows=large=100000 --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --form-kernels=library-products=true --pad-rows="large=100000 tf32=true" --split-input-file | FileCheck %s --check-prefix=TF32

// A matrix that is both factors, once transposed: its rows are those along which products are added.
#id = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#t = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @gram_0_elementwise(
// CHECK-SAME: -> tensor<64x72xbf16>
// CHECK-LABEL: device.kernel private @gram_1_product(
// CHECK-SAME: tensor<64x72xbf16>) -> tensor<64x64xf32>
func.func @gram(%w: tensor<64x66xf32> {device.binding = #device.binding<batch "w">})
    -> (tensor<64x64xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %n = tensor.empty() : tensor<64x66xbf16>
  %o = tensor.empty() : tensor<64x64xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<64x66xf32>) outs(%n : tensor<64x66xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<64x66xbf16>
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.generic {indexing_maps = [#lhs, #t, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v, %v : tensor<64x66xbf16>, tensor<64x66xbf16>)
      outs(%h : tensor<64x64xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.extf %b : bf16 to f32
    %u = arith.mulf %s, %t : f32
    %y = arith.addf %c, %u : f32
    linalg.yield %y : f32
  } -> tensor<64x64xf32>
  return %p : tensor<64x64xf32>
}

// -----

// Not a matrix that would need two shapes: more columns as the first factor, more rows, too, as the second one.
#id = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#t = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @square_0_elementwise(
// CHECK-SAME: -> tensor<66x66xbf16>
// CHECK-LABEL: device.kernel private @square_1_product(
// CHECK-SAME: tensor<66x66xbf16>) -> tensor<66x66xf32>
func.func @square(%w: tensor<66x66xf32> {device.binding = #device.binding<batch "w">})
    -> (tensor<66x66xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %n = tensor.empty() : tensor<66x66xbf16>
  %o = tensor.empty() : tensor<66x66xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<66x66xf32>) outs(%n : tensor<66x66xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<66x66xbf16>
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<66x66xf32>) -> tensor<66x66xf32>
  %p = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v, %v : tensor<66x66xbf16>, tensor<66x66xbf16>)
      outs(%h : tensor<66x66xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.extf %b : bf16 to f32
    %u = arith.mulf %s, %t : f32
    %y = arith.addf %c, %u : f32
    linalg.yield %y : f32
  } -> tensor<66x66xf32>
  return %p : tensor<66x66xf32>
}

// -----

// Factors of f32 are multiplied on tensor cores only if they may be rounded. A result that gets more elements than the argument in whose memory it was
// computed is computed elsewhere.
#id = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#t = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @single_0_elementwise(
// CHECK-SAME: -> tensor<64x66xf32> attributes {{.*}}in_place = array<i64: 0>
// TF32-LABEL: device.kernel private @single_0_elementwise(
// TF32-SAME: -> tensor<64x72xf32>
// TF32-NOT: in_place
// TF32-LABEL: device.kernel private @single_1_product(
// TF32-SAME: tensor<64x72xf32>) -> tensor<64x64xf32>
func.func @single(%w: tensor<64x66xf32> {device.binding = #device.binding<batch "w">})
    -> (tensor<64x64xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %n = tensor.empty() : tensor<64x66xf32>
  %o = tensor.empty() : tensor<64x64xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<64x66xf32>) outs(%n : tensor<64x66xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.sin %a : f32
    linalg.yield %s : f32
  } -> tensor<64x66xf32>
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.generic {indexing_maps = [#lhs, #t, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v, %v : tensor<64x66xf32>, tensor<64x66xf32>)
      outs(%h : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %u = arith.mulf %a, %b : f32
    %y = arith.addf %c, %u : f32
    linalg.yield %y : f32
  } -> tensor<64x64xf32>
  return %p : tensor<64x64xf32>
}

// -----

// A product does not add up what is behind the elements of another one's result, which may be NaNs: the kernel of that one leaves it out.
#id = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#t = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @chain_0_elementwise(
// CHECK-SAME: -> tensor<64x72xbf16>
// CHECK-LABEL: device.kernel private @chain_1_product(
// CHECK-SAME: tensor<64x72xbf16>) -> tensor<64x66xbf16>
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [64, 66] [1, 1]
// CHECK-LABEL: device.kernel private @chain_2_elementwise(
// CHECK-SAME: -> tensor<66x64xbf16>
// CHECK-LABEL: device.kernel private @chain_3_product(
// CHECK-SAME: tensor<64x66xbf16>, %{{.*}}: tensor<66x64xbf16>) -> tensor<64x64xf32>
func.func @chain(%x: tensor<64x64xbf16> {device.binding = #device.binding<batch "x">}, %w: tensor<64x66xf32> {device.binding = #device.binding<batch "w">}, %z: tensor<66x64xf32> {device.binding = #device.binding<batch "z">})
    -> (tensor<64x64xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %n = tensor.empty() : tensor<64x66xbf16>
  %o = tensor.empty() : tensor<64x66xf32>
  %m = tensor.empty() : tensor<66x64xbf16>
  %q = tensor.empty() : tensor<64x64xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<64x66xf32>) outs(%n : tensor<64x66xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<64x66xbf16>
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<64x66xf32>) -> tensor<64x66xf32>
  %p = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %v : tensor<64x64xbf16>, tensor<64x66xbf16>)
      outs(%h : tensor<64x66xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.extf %b : bf16 to f32
    %u = arith.mulf %s, %t : f32
    %y = arith.addf %c, %u : f32
    linalg.yield %y : f32
  } -> tensor<64x66xf32>
  %left = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<64x66xf32>) outs(%n : tensor<64x66xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<64x66xbf16>
  %right = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%z : tensor<66x64xf32>) outs(%m : tensor<66x64xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<66x64xbf16>
  %g = linalg.fill ins(%zero : f32) outs(%q : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%left, %right : tensor<64x66xbf16>, tensor<66x64xbf16>)
      outs(%g : tensor<64x64xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.extf %b : bf16 to f32
    %u = arith.mulf %s, %t : f32
    %y = arith.addf %c, %u : f32
    linalg.yield %y : f32
  } -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// A kernel that is invoked twice keeps the shapes of its arguments and results, and so do the values of both.
#id = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#t = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @round(
// CHECK-SAME: -> tensor<64x66xbf16>
// CHECK-LABEL: device.kernel private @multiply(
// CHECK-SAME: tensor<64x66xbf16>, %{{.*}}: tensor<64x66xbf16>) -> tensor<64x64xf32>
device.kernel private @round(%a: tensor<64x66xf32>) -> tensor<64x66xbf16> attributes {bytes = 0 : i64, flops = 0 : i64, grid = 1 : i64, scratch = 0 : i64} {
  %n = tensor.empty() : tensor<64x66xbf16>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<64x66xf32>) outs(%n : tensor<64x66xbf16>) {
  ^bb0(%x: f32, %y: bf16):
    %s = arith.truncf %x : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<64x66xbf16>
  device.yield %v : tensor<64x66xbf16>
}
device.kernel private @multiply(%a: tensor<64x66xbf16>, %b: tensor<64x66xbf16>) -> tensor<64x64xf32> attributes {bytes = 0 : i64, flops = 0 : i64, grid = 1 : i64, scratch = 0 : i64} {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<64x64xf32>
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.generic {indexing_maps = [#lhs, #t, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<64x66xbf16>, tensor<64x66xbf16>)
      outs(%h : tensor<64x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %s = arith.extf %x : bf16 to f32
    %t = arith.extf %y : bf16 to f32
    %u = arith.mulf %s, %t : f32
    %w = arith.addf %z, %u : f32
    linalg.yield %w : f32
  } -> tensor<64x64xf32>
  device.yield %p : tensor<64x64xf32>
}
func.func @round_twice(%w: tensor<64x66xf32> {device.binding = #device.binding<batch "w">}, %u: tensor<64x66xf32> {device.binding = #device.binding<batch "u">})
    -> (tensor<64x64xf32> {device.binding = #device.binding<result "r">}) {
  %a = device.invoke @round(%w) : (tensor<64x66xf32>) -> tensor<64x66xbf16>
  %b = device.invoke @round(%u) : (tensor<64x66xf32>) -> tensor<64x66xbf16>
  %p = device.invoke @multiply(%a, %b) : (tensor<64x66xbf16>, tensor<64x66xbf16>) -> tensor<64x64xf32>
  return %p : tensor<64x64xf32>
}
