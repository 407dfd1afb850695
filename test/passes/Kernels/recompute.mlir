// What a kernel would store for another one is computed again there, where a GPU takes less time for that than for accessing memory.

// RUN: lockstep-opt %s --form-kernels=recompute=true --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --form-kernels --split-input-file | FileCheck %s --check-prefix=STORED
// RUN: lockstep-opt %s --form-kernels=recompute=true --split-input-file --remarks-filter=kernels 2>&1 | FileCheck %s --check-prefix=REMARK

// The derivative of a softmax needs its exponentials: it computes them from the operand and the largest element of a row, which is stored instead. What only
// the derivative needs, `more`, is computed by it alone, so that the kernel of the softmax becomes smaller. Both are computed once, in common loops.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @softmax_0
// CHECK-SAME: (%{{.*}}: tensor<4096x256xbf16>) -> (tensor<4096xf32>, tensor<4096xf32>, tensor<4096x256xbf16>)
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK-NOT: math.sqrt
// CHECK: device.yield
// CHECK-LABEL: device.kernel private @softmax_1
// CHECK-LABEL: device.kernel private @softmax_2
// CHECK-SAME: (%{{.*}}: tensor<4096x256xbf16>, %{{.*}}: tensor<4096xf32>, %{{.*}}: tensor<4096x256xbf16>, %{{.*}}: tensor<4096xf32>) -> tensor<4096x256xf32>
// CHECK: math.exp
// CHECK: math.sqrt
// CHECK-NOT: math
// CHECK: device.yield
// STORED-LABEL: device.kernel private @softmax_0
// STORED-SAME: -> (tensor<4096x256xf32>, tensor<4096x256xf32>, tensor<4096xf32>, tensor<4096x256xbf16>)
// REMARK: recompute.mlir:{{.*}} remark: [Passed] Recomputed {{.*}} Remark="4096x256xf32 ({{.*}}recompute.mlir:{{[0-9]+}}), not stored: computed again in 1 kernel"
func.func @softmax(%x: tensor<4096x256xbf16> {device.binding = #device.binding<batch "x">}, %w: tensor<256x256xbf16> {device.binding = #device.binding<batch "w">})
    -> (tensor<4096x256xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %o = tensor.empty() : tensor<4096x256xf32>
  %n = tensor.empty() : tensor<4096x256xbf16>
  %e = tensor.empty() : tensor<4096xf32>
  %f = linalg.fill ins(%lowest : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4096x256xbf16>) outs(%f : tensor<4096xf32>) {
  ^bb0(%a: bf16, %b: f32):
    %t = arith.extf %a : bf16 to f32
    %s = arith.maximumf %t, %b : f32
    linalg.yield %s : f32
  } -> tensor<4096xf32>
  %exp, %more = linalg.generic {indexing_maps = [#id, #row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %max : tensor<4096x256xbf16>, tensor<4096xf32>)
      outs(%o, %o : tensor<4096x256xf32>, tensor<4096x256xf32>) {
  ^bb0(%a: bf16, %b: f32, %c: f32, %d: f32):
    %t = arith.extf %a : bf16 to f32
    %s = arith.subf %t, %b : f32
    %u = math.exp %s : f32
    %v = math.sqrt %u : f32
    linalg.yield %u, %v : f32, f32
  } -> (tensor<4096x256xf32>, tensor<4096x256xf32>)
  %g = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<4096x256xf32>) outs(%g : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<4096xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<4096x256xf32>, tensor<4096xf32>) outs(%n : tensor<4096x256xbf16>) {
  ^bb0(%a: f32, %b: f32, %c: bf16):
    %s = arith.divf %a, %b : f32
    %t = arith.truncf %s : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<4096x256xbf16>
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<4096x256xf32>) -> tensor<4096x256xf32>
  %product = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %w : tensor<4096x256xbf16>, tensor<256x256xbf16>)
      outs(%h : tensor<4096x256xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %s = arith.extf %a : bf16 to f32
    %t = arith.extf %b : bf16 to f32
    %u = arith.mulf %s, %t : f32
    %v = arith.addf %c, %u : f32
    linalg.yield %v : f32
  } -> tensor<4096x256xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<4096x256xf32>) outs(%n : tensor<4096x256xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<4096x256xbf16>
  %inner = linalg.generic {indexing_maps = [#id, #id, #row], iterator_types = ["parallel", "reduction"]} ins(%exp, %d : tensor<4096x256xf32>, tensor<4096x256xbf16>) outs(%g : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: bf16, %c: f32):
    %s = arith.extf %b : bf16 to f32
    %t = arith.mulf %a, %s : f32
    %u = arith.addf %c, %t : f32
    linalg.yield %u : f32
  } -> tensor<4096xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #row, #row, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %more, %inner, %sum, %d : tensor<4096x256xf32>, tensor<4096x256xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096x256xbf16>) outs(%o : tensor<4096x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %m: f32, %q: bf16, %z: f32):
    %s = arith.extf %q : bf16 to f32
    %t = arith.subf %s, %c : f32
    %u = arith.mulf %t, %a : f32
    %v = arith.divf %u, %m : f32
    %y = arith.addf %v, %b : f32
    linalg.yield %y : f32
  } -> tensor<4096x256xf32>
  return %r : tensor<4096x256xf32>
}

// -----

// One operation that reads a value computes it in its own body, also along other loops than those of the kernel that has stored it. Not the cosine of a
// sine, which takes longer than an access, nor what a product reads.
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
#column = affine_map<(i, j) -> (j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @readers_0
// CHECK-SAME: -> (tensor<512x512xf32>, tensor<512x512xf32>)
// CHECK: linalg.yield %{{[^,]*}}, %{{[^,]*}} : f32, f32
// CHECK-LABEL: device.kernel private @readers_1
// CHECK-LABEL: device.kernel private @readers_2
// CHECK: linalg.generic {indexing_maps = [#[[ID:.*]], #[[T:.*]], #[[ID]], #{{.*}}], iterator_types = ["reduction", "parallel"]}
// CHECK-NEXT: bb0
// CHECK-NEXT: math.exp
// CHECK-NOT: linalg.generic
// CHECK: device.yield
func.func @readers(%x: tensor<512x512xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<512xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<512x512xf32>
  %e = tensor.empty() : tensor<512xf32>
  %exp, %sin, %square = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x512xf32>)
      outs(%o, %o, %o : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %s = math.exp %a : f32
    %v = math.sin %a : f32
    %t = math.cos %v : f32
    %u = arith.mulf %a, %a : f32
    linalg.yield %s, %t, %u : f32, f32, f32
  } -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>)
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%square, %x : tensor<512x512xf32>, tensor<512x512xf32>)
      outs(%h : tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.mulf %a, %b : f32
    %t = arith.addf %c, %s : f32
    linalg.yield %t : f32
  } -> tensor<512x512xf32>
  %g = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#id, #t, #id, #column], iterator_types = ["reduction", "parallel"]} ins(%p, %exp, %sin : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>)
      outs(%g : tensor<512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %s = arith.mulf %a, %b : f32
    %t = arith.mulf %s, %c : f32
    %u = arith.addf %d, %t : f32
    linalg.yield %u : f32
  } -> tensor<512xf32>
  return %r : tensor<512xf32>
}

// -----

// A kernel after the update of a variable cannot read its old value, from which it would compute: the exponentials are stored. Those of `y` are not.
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @variable
// CHECK: %[[F:.*]]:2 = device.invoke @variable_0{{.*}}(%arg0, %arg1)
// CHECK: device.invoke @{{.*}}(%{{.*}}, %[[F]]#0, %arg1)
collective.group @all
func.func @variable(%w: tensor<512x512xf32> {device.binding = #device.binding<variable "w">}, %y: tensor<512x512xf32> {device.binding = #device.binding<batch "y">})
    -> (tensor<512x512xf32> {device.binding = #device.binding<variable "w">}, tensor<512x512xf32> {device.binding = #device.binding<result "r">}) {
  %o = tensor.empty() : tensor<512x512xf32>
  %expw, %expy, %sum = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %y : tensor<512x512xf32>, tensor<512x512xf32>)
      outs(%o, %o, %o : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32):
    %s = math.exp %a : f32
    %t = math.exp %b : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %s, %t, %u : f32, f32, f32
  } -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>)
  %h = collective.start all_reduce sum @all (%sum : tensor<512x512xf32>) -> !collective.pending<tensor<512x512xf32>>
  %g = collective.wait %h (%sum : tensor<512x512xf32>) : !collective.pending<tensor<512x512xf32>> -> tensor<512x512xf32>
  %new = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %g : tensor<512x512xf32>, tensor<512x512xf32>) outs(%o : tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %k = collective.start all_reduce sum @all (%new : tensor<512x512xf32>) -> !collective.pending<tensor<512x512xf32>>
  %n = collective.wait %k (%new : tensor<512x512xf32>) : !collective.pending<tensor<512x512xf32>> -> tensor<512x512xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%n, %expw, %expy, %y : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) outs(%o : tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32):
    %s = arith.mulf %a, %b : f32
    %t = arith.addf %s, %c : f32
    %u = arith.addf %t, %d : f32
    linalg.yield %u : f32
  } -> tensor<512x512xf32>
  return %new, %r : tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

// Operations that read the one before them several times are found once.
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
#column = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @chain
// CHECK: device.invoke @chain_0
func.func @chain(%x: tensor<64x64xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<64x64xf32> {device.binding = #device.binding<result "r">}, tensor<64xf32> {device.binding = #device.binding<result "s">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<64x64xf32>
  %e = tensor.empty() : tensor<64xf32>
  %y0 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %x, %x, %x : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y1 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y0, %y0, %y0, %y0 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y2 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y1, %y1, %y1, %y1 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y3 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y2, %y2, %y2, %y2 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y4 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y3, %y3, %y3, %y3 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y5 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y4, %y4, %y4, %y4 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y6 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y5, %y5, %y5, %y5 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y7 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y6, %y6, %y6, %y6 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y8 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y7, %y7, %y7, %y7 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y9 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y8, %y8, %y8, %y8 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y10 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y9, %y9, %y9, %y9 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y11 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y10, %y10, %y10, %y10 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y12 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y11, %y11, %y11, %y11 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %y13 = linalg.generic {indexing_maps = [#id, #t, #id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%y12, %y12, %y12, %y12 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %f: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %g = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%y13 : tensor<64x64xf32>) outs(%g : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %y13, %s : tensor<64x64xf32>, tensor<64xf32>
}

// -----

// An operation with two results, of which a kernel needs one, is also part of the body of its only reader there.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: device.kernel private @several_0
// CHECK-LABEL: device.kernel private @several_1
// CHECK: math.exp
// CHECK: arith.negf
// CHECK-LABEL: device.kernel private @several_2
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK-NOT: linalg.generic
// CHECK: device.yield
func.func @several(%x: tensor<512x512xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<512xf32> {device.binding = #device.binding<result "r">}, tensor<512x512xf32> {device.binding = #device.binding<result "s">}) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<512x512xf32>
  %e = tensor.empty() : tensor<512xf32>
  %exp, %neg = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x512xf32>)
      outs(%o, %o : tensor<512x512xf32>, tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = math.exp %a : f32
    %t = arith.negf %s : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<512x512xf32>, tensor<512x512xf32>)
  %h = linalg.fill ins(%zero : f32) outs(%o : tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %x : tensor<512x512xf32>, tensor<512x512xf32>)
      outs(%h : tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.mulf %a, %b : f32
    %t = arith.addf %c, %s : f32
    linalg.yield %t : f32
  } -> tensor<512x512xf32>
  %g = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #column], iterator_types = ["reduction", "parallel"]} ins(%p, %exp : tensor<512x512xf32>, tensor<512x512xf32>) outs(%g : tensor<512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.mulf %a, %b : f32
    %t = arith.addf %c, %s : f32
    linalg.yield %t : f32
  } -> tensor<512xf32>
  %q = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %exp, %neg : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) outs(%o : tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %s = arith.mulf %a, %b : f32
    %t = arith.addf %s, %c : f32
    linalg.yield %t : f32
  } -> tensor<512x512xf32>
  return %r, %q : tensor<512xf32>, tensor<512x512xf32>
}
