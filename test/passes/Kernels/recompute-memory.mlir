// Values are computed again only if that does not need more memory (see recompute.mlir).

// RUN: lockstep-opt %s --form-kernels=recompute=true --split-input-file | FileCheck %s

// The sum, from which `v` would be computed, would be in use for longer, and has twice as many bytes as `v`.
#id = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @life_0
// CHECK-SAME: -> (tensor<4096x256xbf16>, tensor<4096x256xbf16>)
// CHECK-LABEL: device.kernel private @life_1
// CHECK-SAME: tensor<4096x256xbf16>, %{{.*}}: tensor<256x256xbf16>, %{{.*}}: tensor<4096x256xbf16>) -> tensor<4096x256xf32>
collective.group @all
func.func @life(%x: tensor<4096x256xf32> {device.binding = #device.binding<batch "x">}, %w: tensor<256x256xbf16> {device.binding = #device.binding<batch "w">})
    -> (tensor<4096x256xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<4096x256xf32>
  %n = tensor.empty() : tensor<4096x256xbf16>
  %start = collective.start all_reduce sum @all (%x : tensor<4096x256xf32>) -> !collective.pending<tensor<4096x256xf32>>
  %sum = collective.wait %start (%x : tensor<4096x256xf32>) : !collective.pending<tensor<4096x256xf32>> -> tensor<4096x256xf32>
  %u, %v = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%sum : tensor<4096x256xf32>)
      outs(%n, %n : tensor<4096x256xbf16>, tensor<4096x256xbf16>) {
  ^bb0(%a: f32, %b: bf16, %c: bf16):
    %s = arith.mulf %a, %a : f32
    %t = arith.truncf %a : f32 to bf16
    %y = arith.truncf %s : f32 to bf16
    linalg.yield %t, %y : bf16, bf16
  } -> (tensor<4096x256xbf16>, tensor<4096x256xbf16>)
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<4096x256xf32>) -> tensor<4096x256xf32>
  %p = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%u, %w : tensor<4096x256xbf16>, tensor<256x256xbf16>)
      outs(%h : tensor<4096x256xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.extf %b : bf16 to f32
    %y = arith.mulf %s, %t : f32
    %z = arith.addf %c, %y : f32
    linalg.yield %z : f32
  } -> tensor<4096x256xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %v : tensor<4096x256xf32>, tensor<4096x256xbf16>) outs(%o : tensor<4096x256xf32>) {
  ^bb0(%a: f32, %b: bf16, %c: f32):
    %s = arith.extf %b : bf16 to f32
    %t = arith.addf %a, %s : f32
    linalg.yield %t : f32
  } -> tensor<4096x256xf32>
  return %r : tensor<4096x256xf32>
}

// -----

// As many as `v`, which is not stored.
#id = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @shorter_0
// CHECK-SAME: -> tensor<4096x256xbf16> attributes
// CHECK-LABEL: device.kernel private @shorter_1
// CHECK-SAME: tensor<4096x256xbf16>, %{{.*}}: tensor<256x256xbf16>, %{{.*}}: tensor<4096x256xf32>) -> tensor<4096x256xf32>
collective.group @all
func.func @shorter(%x: tensor<4096x256xf32> {device.binding = #device.binding<batch "x">}, %w: tensor<256x256xbf16> {device.binding = #device.binding<batch "w">})
    -> (tensor<4096x256xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<4096x256xf32>
  %n = tensor.empty() : tensor<4096x256xbf16>
  %start = collective.start all_reduce sum @all (%x : tensor<4096x256xf32>) -> !collective.pending<tensor<4096x256xf32>>
  %sum = collective.wait %start (%x : tensor<4096x256xf32>) : !collective.pending<tensor<4096x256xf32>> -> tensor<4096x256xf32>
  %u, %v = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%sum : tensor<4096x256xf32>)
      outs(%n, %o : tensor<4096x256xbf16>, tensor<4096x256xf32>) {
  ^bb0(%a: f32, %b: bf16, %c: f32):
    %s = arith.mulf %a, %a : f32
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t, %s : bf16, f32
  } -> (tensor<4096x256xbf16>, tensor<4096x256xf32>)
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<4096x256xf32>) -> tensor<4096x256xf32>
  %p = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%u, %w : tensor<4096x256xbf16>, tensor<256x256xbf16>)
      outs(%h : tensor<4096x256xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.extf %b : bf16 to f32
    %y = arith.mulf %s, %t : f32
    %z = arith.addf %c, %y : f32
    linalg.yield %z : f32
  } -> tensor<4096x256xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %v : tensor<4096x256xf32>, tensor<4096x256xf32>) outs(%o : tensor<4096x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<4096x256xf32>
  return %r : tensor<4096x256xf32>
}
