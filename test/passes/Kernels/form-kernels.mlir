// RUN: lockstep-opt %s --form-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,FUSED
// RUN: lockstep-opt %s --form-kernels=fuse=false --split-input-file | FileCheck %s --check-prefixes=CHECK,ALONE

// A producer and its user share a kernel; without fusion, each operation has its own. Only invocations remain in the step.
#id = affine_map<(i) -> (i)>
// CHECK: device.kernel private @chain_0_elementwise(
// FUSED: math.exp
// FUSED: arith.mulf
// FUSED-NOT: device.kernel
// ALONE: math.exp
// ALONE: device.kernel private @chain_1_elementwise(
// ALONE: arith.mulf
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<8xf32>
// FUSED-NEXT: %[[R:.*]] = device.invoke @chain_0_elementwise(%[[X]]) : (tensor<8xf32>) -> tensor<8xf32>
// ALONE-NEXT: %[[A:.*]] = device.invoke @chain_0_elementwise(%[[X]])
// ALONE-NEXT: %[[R:.*]] = device.invoke @chain_1_elementwise(%[[A]])
// CHECK-NEXT: return %[[R]]
func.func @chain(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<8xf32> {device.binding = #device.binding<result "r">}) {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.mulf %i, %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %b : tensor<8xf32>
}

// -----

// The results of a kernel are all uniform or all varying: what is computed from scalars alone has its own kernel, although a computation
// on a batch reads it.
#id = affine_map<(i) -> (i)>
// CHECK: device.kernel private @mixed_0_elementwise(
// CHECK: math.exp
// CHECK: device.kernel private @mixed_1_elementwise(
// CHECK: arith.mulf
// CHECK-NOT: device.kernel
// CHECK-LABEL: func.func @mixed(
// CHECK-SAME: %[[S:[a-z0-9]*]]: tensor<8xf32> {{.*}} %[[X:[a-z0-9]*]]: tensor<8xf32>
// CHECK-NEXT: %[[U:.*]] = device.invoke @mixed_0_elementwise(%[[S]])
// CHECK-NEXT: %[[V:.*]] = device.invoke @mixed_1_elementwise(%[[U]], %[[X]])
// CHECK-NEXT: return %[[V]]
func.func @mixed(%s: tensor<8xf32> {device.binding = #device.binding<scalar "s">}, %x: tensor<8xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<8xf32> {device.binding = #device.binding<result "r">}) {
  %e = tensor.empty() : tensor<8xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%s : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %v = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%u, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %v : tensor<8xf32>
}

// -----

// Fills, reshapes and small constants are cloned into every kernel that uses them and erased from the step; their results are not
// passed as arguments.
#id = affine_map<(i, j) -> (i, j)>
// CHECK: device.kernel private @glue_0_{{.*}}(%{{.*}}: tensor<8xf32>) -> tensor<2x4xf32>
// CHECK-DAG: arith.constant dense<{{.*}}> : tensor<2x4xf32>
// CHECK-DAG: tensor.expand_shape
// CHECK-DAG: tensor.empty
// CHECK: device.yield
// CHECK-LABEL: func.func @glue(
// CHECK-NEXT: device.invoke
// CHECK-NEXT: return
func.func @glue(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<2x4xf32> {device.binding = #device.binding<result "r">}) {
  %c = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %s = tensor.expand_shape %x [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %e = tensor.empty() : tensor<2x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %c : tensor<2x4xf32>, tensor<2x4xf32>) outs(%e : tensor<2x4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<2x4xf32>
  return %a : tensor<2x4xf32>
}

// -----

// A constant of more than 1 KiB is passed as an argument, so that its bytes exist once; a splat is cloned.
#id = affine_map<(i) -> (i)>
// CHECK: device.kernel private @constants_0_elementwise(%{{.*}}: tensor<300xf32>, %{{.*}}: tensor<300xf32>) -> tensor<300xf32>
// CHECK: arith.constant dense<2.000000e+00> : tensor<300xf32>
// CHECK-LABEL: func.func @constants(
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<"0x{{.*}}"> : tensor<300xf32>
// CHECK-NEXT: device.invoke @constants_0_elementwise({{.*}}%[[C]]
func.func @constants(%x: tensor<300xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<300xf32> {device.binding = #device.binding<result "r">}) {
  %big = arith.constant dense<"0x000000000000803F0000004000004040000080400000A0400000C0400000E0400000004100001041000020410000304100004041000050410000604100007041000080410000884100009041000098410000A0410000A8410000B0410000B8410000C0410000C8410000D0410000D8410000E0410000E8410000F0410000F84100000042000004420000084200000C4200001042000014420000184200001C4200002042000024420000284200002C4200003042000034420000384200003C4200004042000044420000484200004C4200005042000054420000584200005C4200006042000064420000684200006C4200007042000074420000784200007C42000080420000824200008442000086420000884200008A4200008C4200008E42000090420000924200009442000096420000984200009A4200009C4200009E420000A0420000A2420000A4420000A6420000A8420000AA420000AC420000AE420000B0420000B2420000B4420000B6420000B8420000BA420000BC420000BE420000C0420000C2420000C4420000C6420000C8420000CA420000CC420000CE420000D0420000D2420000D4420000D6420000D8420000DA420000DC420000DE420000E0420000E2420000E4420000E6420000E8420000EA420000EC420000EE420000F0420000F2420000F4420000F6420000F8420000FA420000FC420000FE420000004300000143000002430000034300000443000005430000064300000743000008430000094300000A4300000B4300000C4300000D4300000E4300000F430000104300001143000012430000134300001443000015430000164300001743000018430000194300001A4300001B4300001C4300001D4300001E4300001F430000204300002143000022430000234300002443000025430000264300002743000028430000294300002A4300002B4300002C4300002D4300002E4300002F430000304300003143000032430000334300003443000035430000364300003743000038430000394300003A4300003B4300003C4300003D4300003E4300003F430000404300004143000042430000434300004443000045430000464300004743000048430000494300004A4300004B4300004C4300004D4300004E4300004F430000504300005143000052430000534300005443000055430000564300005743000058430000594300005A4300005B4300005C4300005D4300005E4300005F430000604300006143000062430000634300006443000065430000664300006743000068430000694300006A4300006B4300006C4300006D4300006E4300006F430000704300007143000072430000734300007443000075430000764300007743000078430000794300007A4300007B4300007C4300007D4300007E4300007F43000080430080804300008143008081430000824300808243000083430080834300008443008084430000854300808543000086430080864300008743008087430000884300808843000089430080894300008A4300808A4300008B4300808B4300008C4300808C4300008D4300808D4300008E4300808E4300008F4300808F43000090430080904300009143008091430000924300809243000093430080934300009443008094430000954300809543"> : tensor<300xf32>
  %splat = arith.constant dense<2.0> : tensor<300xf32>
  %e = tensor.empty() : tensor<300xf32>
  %a = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]} ins(%x, %big, %splat : tensor<300xf32>, tensor<300xf32>, tensor<300xf32>) outs(%e : tensor<300xf32>) {
  ^bb0(%i: f32, %j: f32, %k: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    %1 = arith.mulf %0, %k : f32
    linalg.yield %1 : f32
  } -> tensor<300xf32>
  return %a : tensor<300xf32>
}

// -----

// Values that only the kernel itself reads are no results of the kernel.
#id = affine_map<(i) -> (i)>
// FUSED: device.kernel private @inner_{{.*}} -> (tensor<8xf32>, tensor<8xf32>)
func.func @inner(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<8xf32> {device.binding = #device.binding<result "a">}, tensor<8xf32> {device.binding = #device.binding<result "c">}) {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.log %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%b : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.negf %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %a, %c : tensor<8xf32>, tensor<8xf32>
}

// -----

// A result may be in place of an argument that is read with the indices with which the result is written, but not of one that is read transposed.
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
// CHECK: device.kernel private @in_place_0_elementwise(%{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-SAME: in_place = array<i64: 1>
func.func @in_place(%x: tensor<4x4xf32> {device.binding = #device.binding<batch "x">}, %y: tensor<4x4xf32> {device.binding = #device.binding<batch "y">})
    -> (tensor<4x4xf32> {device.binding = #device.binding<result "a">}) {
  %e = tensor.empty() : tensor<4x4xf32>
  %a = linalg.generic {indexing_maps = [#t, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  return %a : tensor<4x4xf32>
}

// -----

// The element-wise user of a product becomes an epilogue in its kernel.
#id = affine_map<(i, j) -> (i, j)>
#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
// CHECK: device.kernel private @product_0_product(
// FUSED: math.tanh
// ALONE-NOT: math.tanh
// CHECK: device.yield
func.func @product(%x: tensor<4x4xf32> {device.binding = #device.binding<batch "x">}, %y: tensor<4x4xf32> {device.binding = #device.binding<batch "y">})
    -> (tensor<4x4xf32> {device.binding = #device.binding<result "a">}) {
  %e = tensor.empty() : tensor<4x4xf32>
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = linalg.generic {indexing_maps = [#l, #r, #o], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>) {
  ^bb0(%i: f32, %j: f32, %u: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %u, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: f32, %u: f32):
    %0 = math.tanh %i : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  return %a : tensor<4x4xf32>
}

// -----

// Kernels are named after the user's function that their main operation is in, of a chain of calls the innermost one that has a name. The
// name of the step is not repeated, and a symbol has only letters, digits and underscores.
#id = affine_map<(i) -> (i)>
// ALONE: device.kernel private @named_0_attention_elementwise(
// ALONE: device.kernel private @named_1_elementwise(
// ALONE: device.kernel private @named_2_norm_backward_elementwise(
func.func @named(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<8xf32> {device.binding = #device.binding<result "r">}) {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32> loc(callsite("model.py":3:2 at callsite("attention"("model.py":7:2) at "named"("model.py":9:4))))
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.tanh %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32> loc("named"("model.py":10:4))
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%b : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.mulf %i, %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32> loc(fused["x", "norm.backward"("model.py":11:4)])
  return %c : tensor<8xf32>
}

// -----

// A row is inserted into a tensor that nothing else reads, in its memory: a loop that stacks results copies only rows.
// CHECK: device.kernel private @insert_0_insert_slice(%{{.*}}: tensor<1x4xf32>, %{{.*}}: tensor<8x4xf32>, %{{.*}}: index) -> tensor<8x4xf32>
// CHECK-SAME: in_place = array<i64: 1>
func.func @insert(%rows: tensor<8x4xf32>, %row: tensor<1x4xf32>, %i: index) -> tensor<8x4xf32> {
  %after = tensor.insert_slice %row into %rows[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %after : tensor<8x4xf32>
}

// -----

// Not if the inserted elements are read from it.
// FUSED: device.kernel private @move_0_insert_slice(
// FUSED-NOT: in_place
// FUSED: device.yield
func.func @move(%rows: tensor<8x4xf32>, %i: index) -> tensor<8x4xf32> {
  %row = tensor.extract_slice %rows[%i, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<1x4xf32>
  %after = tensor.insert_slice %row into %rows[0, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %after : tensor<8x4xf32>
}

// -----

// Gathered tensors that are next to each other in memory are read as one by the kernel; others are concatenated by a kernel: those whose bytes
// leave a gap, those in another order, and results of two collectives.
collective.group @all
// CHECK-LABEL: func.func @gathered(
// CHECK: %[[R:.*]]:4 = collective.wait
// CHECK: %[[VIEW:.*]] = tensor.concat dim(0) %[[R]]#1, %[[R]]#2 : (tensor<16xf32>, tensor<32xf32>) -> tensor<48xf32>
// CHECK-NOT: tensor.concat
// CHECK: device.invoke @{{.*}}(%[[VIEW]]) : (tensor<48xf32>) -> tensor<3x16xf32>
// CHECK-DAG: device.invoke @{{.*}}(%[[R]]#0, %[[R]]#1) : (tensor<8xf32>, tensor<16xf32>) -> tensor<24xf32>
// CHECK-DAG: device.invoke @{{.*}}(%[[R]]#2, %[[R]]#1) : (tensor<32xf32>, tensor<16xf32>) -> tensor<48xf32>
// CHECK-DAG: device.invoke @{{.*}}(%[[R]]#3, %{{.*}}) : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
func.func @gathered(%a: tensor<4xf32>, %b: tensor<8xf32>, %c: tensor<16xf32>) -> (tensor<3x16xf32>, tensor<24xf32>, tensor<48xf32>, tensor<32xf32>) {
  %h = collective.start all_gather none @all axis 0 (%a, %b, %c, %b : tensor<4xf32>, tensor<8xf32>, tensor<16xf32>, tensor<8xf32>)
      -> <tensor<8xf32>, tensor<16xf32>, tensor<32xf32>, tensor<16xf32>>
  %r:4 = collective.wait %h (%a, %b, %c, %b : tensor<4xf32>, tensor<8xf32>, tensor<16xf32>, tensor<8xf32>)
      : <tensor<8xf32>, tensor<16xf32>, tensor<32xf32>, tensor<16xf32>> -> tensor<8xf32>, tensor<16xf32>, tensor<32xf32>, tensor<16xf32>
  %h2 = collective.start all_gather none @all axis 0 (%b : tensor<8xf32>) -> <tensor<16xf32>>
  %r2 = collective.wait %h2 (%b : tensor<8xf32>) : <tensor<16xf32>> -> tensor<16xf32>
  %view = tensor.concat dim(0) %r#1, %r#2 : (tensor<16xf32>, tensor<32xf32>) -> tensor<48xf32>
  %rows = tensor.expand_shape %view [[0, 1]] output_shape [3, 16] : tensor<48xf32> into tensor<3x16xf32>
  %e = tensor.empty() : tensor<3x16xf32>
  %s = linalg.exp ins(%rows : tensor<3x16xf32>) outs(%e : tensor<3x16xf32>) -> tensor<3x16xf32>
  %gap = tensor.concat dim(0) %r#0, %r#1 : (tensor<8xf32>, tensor<16xf32>) -> tensor<24xf32>
  %order = tensor.concat dim(0) %r#2, %r#1 : (tensor<32xf32>, tensor<16xf32>) -> tensor<48xf32>
  %two = tensor.concat dim(0) %r#3, %r2 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  return %s, %gap, %order, %two : tensor<3x16xf32>, tensor<24xf32>, tensor<48xf32>, tensor<32xf32>
}
