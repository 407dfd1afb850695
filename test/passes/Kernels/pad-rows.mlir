// Matrices of large products on tensor cores get rows of a multiple of eight elements, where only kernels access them.

// RUN: lockstep-opt %s --form-kernels=library-products=true --pad-rows=large=200000 --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --form-kernels=library-products=true --pad-rows=large=200000 --split-input-file --remarks-filter=kernels 2>&1 | FileCheck %s --check-prefix=REMARK

// The kernel that rounds a factor writes zeros behind its rows, the product has more iterations, and the kernel that reads its result a part of it.
#id = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @forward_0_elementwise(
// CHECK-SAME: tensor<64x66xf32>) -> tensor<64x72xbf16>
// CHECK: %[[E:.*]] = tensor.empty() : tensor<64x72xbf16>
// CHECK: %[[B:.*]] = tensor.extract_slice %[[E]][0, 66] [64, 6] [1, 1]
// CHECK: %[[F:.*]] = linalg.fill ins(%{{.*}} : bf16) outs(%[[B]] : tensor<64x6xbf16>)
// CHECK: %[[Z:.*]] = tensor.insert_slice %[[F]] into %[[E]][0, 66] [64, 6] [1, 1]
// CHECK: %[[R:.*]] = linalg.generic
// CHECK: %[[W:.*]] = tensor.insert_slice %[[R]] into %[[Z]][0, 0] [64, 66] [1, 1]
// CHECK: device.yield %[[W]]
// CHECK-LABEL: device.kernel private @forward_1_product(
// CHECK-SAME: tensor<64x64xbf16>, %{{.*}}: tensor<64x72xbf16>) -> tensor<64x72xbf16>
// CHECK: linalg.fill {{.*}} -> tensor<64x72xf32>
// CHECK-NOT: 66
// CHECK: device.yield
// CHECK-LABEL: device.kernel private @forward_2_elementwise(
// CHECK-SAME: %[[A:.*]]: tensor<64x72xbf16>) -> tensor<64x66xf32>
// CHECK: tensor.extract_slice %[[A]][0, 0] [64, 66] [1, 1]
// CHECK-LABEL: func.func @forward
// CHECK: %[[V:.*]] = device.invoke @forward_0_elementwise(%arg1) : (tensor<64x66xf32>) -> tensor<64x72xbf16>
// CHECK: device.invoke @forward_1_product(%arg0, %[[V]]) : (tensor<64x64xbf16>, tensor<64x72xbf16>) -> tensor<64x72xbf16>
// REMARK: remark: [Passed] Padded {{.*}} Remark="64x66xbf16 ({{.*}}) is 64x72xbf16 in memory, which a library multiplies faster"
func.func @forward(%x: tensor<64x64xbf16> {device.binding = #device.binding<batch "x">}, %w: tensor<64x66xf32> {device.binding = #device.binding<batch "w">})
    -> (tensor<64x66xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %n = tensor.empty() : tensor<64x66xbf16>
  %o = tensor.empty() : tensor<64x66xf32>
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
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<64x66xf32>) outs(%n : tensor<64x66xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<64x66xbf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<64x66xbf16>) outs(%o : tensor<64x66xf32>) {
  ^bb0(%a: bf16, %b: f32):
    %s = arith.extf %a : bf16 to f32
    %t = math.sin %s : f32
    linalg.yield %t : f32
  } -> tensor<64x66xf32>
  return %r : tensor<64x66xf32>
}

// -----

// What is exchanged keeps its shape: the kernel of the product leaves out the rest. Neither a factor that is an argument, nor the other one of the same product,
// gets more elements, nor a small one.
#id = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#t = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @others_1_product(
// CHECK-SAME: tensor<64x72xbf16>) -> tensor<64x66xf32>
// CHECK: %[[P:.*]] = linalg.generic
// CHECK: %[[S:.*]] = tensor.extract_slice %[[P]][0, 0] [64, 66] [1, 1] : tensor<64x72xf32> to tensor<64x66xf32>
// CHECK: device.yield %[[S]]
// CHECK-LABEL: device.kernel private @others_2_elementwise(
// CHECK-SAME: tensor<64x66xf32>) -> tensor<64x66xbf16>
// CHECK-LABEL: device.kernel private @others_3_product(
// CHECK-SAME: tensor<64x66xbf16>, %{{.*}}: tensor<64x66xbf16>) -> tensor<64x64xf32>
collective.group @all
func.func @others(%x: tensor<64x64xbf16> {device.binding = #device.binding<batch "x">}, %w: tensor<64x66xf32> {device.binding = #device.binding<batch "w">},
    %u: tensor<64x66xbf16> {device.binding = #device.binding<batch "u">})
    -> (tensor<64x66xf32> {device.binding = #device.binding<result "r">}, tensor<64x64xf32> {device.binding = #device.binding<result "s">}) {
  %zero = arith.constant 0.0 : f32
  %n = tensor.empty() : tensor<64x66xbf16>
  %o = tensor.empty() : tensor<64x66xf32>
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
    %y = arith.mulf %s, %t : f32
    %z = arith.addf %c, %y : f32
    linalg.yield %z : f32
  } -> tensor<64x66xf32>
  %start = collective.start all_reduce sum @all (%p : tensor<64x66xf32>) -> !collective.pending<tensor<64x66xf32>>
  %sum = collective.wait %start (%p : tensor<64x66xf32>) : !collective.pending<tensor<64x66xf32>> -> tensor<64x66xf32>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%sum : tensor<64x66xf32>) outs(%n : tensor<64x66xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<64x66xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%q : tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = linalg.generic {indexing_maps = [#lhs, #t, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%m, %u : tensor<64x66xbf16>, tensor<64x66xbf16>)
      outs(%f : tensor<64x64xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.extf %b : bf16 to f32
    %y = arith.mulf %s, %t : f32
    %z = arith.addf %c, %y : f32
    linalg.yield %z : f32
  } -> tensor<64x64xf32>
  return %sum, %g : tensor<64x66xf32>, tensor<64x64xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @small_0_elementwise(
// CHECK-SAME: -> tensor<64x66xbf16>
func.func @small(%x: tensor<16x64xbf16> {device.binding = #device.binding<batch "x">}, %w: tensor<64x66xf32> {device.binding = #device.binding<batch "w">})
    -> (tensor<16x66xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %n = tensor.empty() : tensor<64x66xbf16>
  %o = tensor.empty() : tensor<16x66xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<64x66xf32>) outs(%n : tensor<64x66xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<64x66xbf16>
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<16x66xf32>) -> tensor<16x66xf32>
  %p = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %v : tensor<16x64xbf16>, tensor<64x66xbf16>)
      outs(%h : tensor<16x66xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.extf %b : bf16 to f32
    %y = arith.mulf %s, %t : f32
    %z = arith.addf %c, %y : f32
    linalg.yield %z : f32
  } -> tensor<16x66xf32>
  return %p : tensor<16x66xf32>
}

// -----

// What a product adds up has no other elements behind it than zeros: not what another product has computed, whose factor may be infinite.
#id = affine_map<(i, j) -> (i, j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#t = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @chained_0_elementwise(
// CHECK-SAME: -> (tensor<64x72xbf16>, tensor<64x66xbf16>)
// CHECK-LABEL: device.kernel private @chained_1_product(
// CHECK-SAME: tensor<64x72xbf16>) -> tensor<64x66xbf16>
// CHECK-LABEL: device.kernel private @chained_2_product(
// CHECK-SAME: tensor<64x66xbf16>, %{{.*}}: tensor<64x66xbf16>) -> tensor<64x64xf32>
func.func @chained(%x: tensor<64x64xbf16> {device.binding = #device.binding<batch "x">}, %w: tensor<64x66xf32> {device.binding = #device.binding<batch "w">})
    -> (tensor<64x64xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %n = tensor.empty() : tensor<64x66xbf16>
  %o = tensor.empty() : tensor<64x66xf32>
  %q = tensor.empty() : tensor<64x64xf32>
  %v, %u = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<64x66xf32>)
      outs(%n, %n : tensor<64x66xbf16>, tensor<64x66xbf16>) {
  ^bb0(%a: f32, %b: bf16, %c: bf16):
    %s = arith.truncf %a : f32 to bf16
    %t = arith.negf %s : bf16
    linalg.yield %s, %t : bf16, bf16
  } -> (tensor<64x66xbf16>, tensor<64x66xbf16>)
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<64x66xf32>) -> tensor<64x66xf32>
  %p = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %v : tensor<64x64xbf16>, tensor<64x66xbf16>)
      outs(%h : tensor<64x66xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.extf %b : bf16 to f32
    %y = arith.mulf %s, %t : f32
    %z = arith.addf %c, %y : f32
    linalg.yield %z : f32
  } -> tensor<64x66xf32>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<64x66xf32>) outs(%n : tensor<64x66xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<64x66xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%q : tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = linalg.generic {indexing_maps = [#lhs, #t, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%m, %u : tensor<64x66xbf16>, tensor<64x66xbf16>)
      outs(%f : tensor<64x64xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.extf %b : bf16 to f32
    %y = arith.mulf %s, %t : f32
    %z = arith.addf %c, %y : f32
    linalg.yield %z : f32
  } -> tensor<64x64xf32>
  return %g : tensor<64x64xf32>
}
