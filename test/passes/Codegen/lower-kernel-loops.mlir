// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,func.func(lower-kernel-loops{target=x86-64-v4}))" --split-input-file | FileCheck %s --check-prefix=V4
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,func.func(lower-kernel-loops{target=x86-64-v3}))" --split-input-file | FileCheck %s --check-prefix=V3

// A product with fill and relu: the block stays in registers from the first multiply-add to the store, and nothing else is stored.
// V4-LABEL: func.func @dense
// V4: memref.alloc() {{.*}} memref<64x32xf32>
// V4-COUNT-16: vector.fma {{.*}} : vector<16xf32>
// V4: scf.yield
// V4: arith.maximumf {{.*}} : vector<16xf32>
// V4: vector.store {{.*}}, %arg2
// V3-LABEL: func.func @dense
// V3: memref.alloc() {{.*}} memref<64x16xf32>
// V3: vector.fma {{.*}} : vector<8xf32>
#id = affine_map<(i, j) -> (i, j)>
device.kernel @dense(%x: tensor<16x64xf32>, %w: tensor<64x32xf32>) -> tensor<16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
  %m = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x32xf32>) outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<16x32xf32>) outs(%e : tensor<16x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %a, %zero : f32
    linalg.yield %s : f32
  } -> tensor<16x32xf32>
  device.yield %r : tensor<16x32xf32>
}

// -----

// A sum along the contiguous dimension keeps 32 partial sums on every target, which are added in a tree; the remainder is masked.
// V4-LABEL: func.func @sums
// V4: scf.for {{.*}} iter_args({{.*}}) -> (vector<32xf32>)
// V4: arith.select {{.*}} : vector<32xi1>, vector<32xf32>
// V4: arith.addf {{.*}} : vector<16xf32>
// V4: arith.addf {{.*}} : vector<1xf32>
// V3-LABEL: func.func @sums
// V3: scf.for {{.*}} iter_args({{.*}}) -> (vector<32xf32>)
device.kernel @sums(%x: tensor<4x100xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.reduce ins(%x : tensor<4x100xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
    (%a: f32, %b: f32) {
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  device.yield %r : tensor<4xf32>
}

// -----

// A large operation is divided into tiles, whose number is the same on all targets.
// V4-LABEL: func.func @large
// V4-SAME: lockstep.grid = 64 : i64
// V3-LABEL: func.func @large
// V3-SAME: lockstep.grid = 64 : i64
#id = affine_map<(i, j) -> (i, j)>
device.kernel @large(%x: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
  %e = tensor.empty() : tensor<4096x1024xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4096x1024xf32>) outs(%e : tensor<4096x1024xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<4096x1024xf32>
  device.yield %r : tensor<4096x1024xf32>
}

// -----

// The sum of all rows, which are short: it stays in registers until it is complete. The last 8 of 40 elements are loaded by a mask.
// V4-LABEL: func.func @short_rows
// V4: %[[FIRST:.*]] = vector.load %arg1[%{{.*}}] : memref<40xf32>, vector<32xf32>
// V4: %[[SECOND:.*]] = vector.maskedload %arg1[%{{.*}}], %{{.*}} : memref<40xf32>
// V4: %[[SUM:.*]]:2 = scf.for %{{.*}} iter_args(%[[A:[a-z0-9]+]] = %[[FIRST]], %[[B:[a-z0-9]+]] = %[[SECOND]])
// V4: arith.addf %[[A]], %{{.*}} : vector<32xf32>
// V4: arith.addf %[[B]], %{{.*}} : vector<32xf32>
// V4: vector.store %[[SUM]]#0, %arg1[%{{.*}}] : memref<40xf32>, vector<32xf32>
// V4: vector.maskedstore %arg1[%{{.*}}], %{{.*}}, %[[SUM]]#1
device.kernel @short_rows(%x: tensor<64x40xf32>) -> tensor<40xf32> {
  %e = tensor.empty() : tensor<40xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<40xf32>) -> tensor<40xf32>
  %r = linalg.reduce ins(%x : tensor<64x40xf32>) outs(%f : tensor<40xf32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %s = arith.addf %b, %a : f32
      linalg.yield %s : f32
    }
  device.yield %r : tensor<40xf32>
}

// -----

// Longer rows are added to the result in memory.
// V4-LABEL: func.func @long_rows
// V4: scf.for
// V4: scf.for
// V4: memref.load
// V4: memref.store
device.kernel @long_rows(%x: tensor<64x80xf32>) -> tensor<80xf32> {
  %e = tensor.empty() : tensor<80xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<80xf32>) -> tensor<80xf32>
  %r = linalg.reduce ins(%x : tensor<64x80xf32>) outs(%f : tensor<80xf32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %s = arith.addf %b, %a : f32
      linalg.yield %s : f32
    }
  device.yield %r : tensor<80xf32>
}

// -----

// The numbers of iterations as a vector: the sum of the elements of a row whose column is the given index.
// V4-LABEL: func.func @selected
// V4: scf.for %[[J:.*]] = %c0{{.*}} to %c96
// V4: %[[FIRST:.*]] = vector.broadcast %[[J]] : index to vector<32xindex>
// V4: %[[STEP:.*]] = vector.step : vector<32xindex>
// V4: %[[NUMBER:.*]] = arith.addi %[[FIRST]], %[[STEP]]
// V4: %[[CAST:.*]] = arith.index_cast %[[NUMBER]] : vector<32xindex> to vector<32xi32>
// V4: arith.cmpi eq, %{{.*}}, %[[CAST]] : vector<32xi32>
// V3-LABEL: func.func @selected
// V3: vector.step
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
device.kernel @selected(%x: tensor<16x100xf32>, %i: tensor<16xi32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %i : tensor<16x100xf32>, tensor<16xi32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %index: i32, %b: f32):
    %j = linalg.index 1 : index
    %number = arith.index_cast %j : index to i32
    %here = arith.cmpi eq, %index, %number : i32
    %chosen = arith.select %here, %a, %zero : f32
    %s = arith.addf %b, %chosen : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  device.yield %r : tensor<16xf32>
}

// -----

// The loops over examples and tokens become one, in the epilogue, too; the sums need no memory.
// V4-LABEL: func.func @batch
// V4-DAG: %[[X:.*]] = memref.collapse_shape %arg0 {{\[}}[0, 1], [2]] : memref<2x8x16xf32> into memref<16x16xf32>
// V4-DAG: %[[R:.*]] = memref.collapse_shape %arg3 {{\[}}[0, 1], [2]] : memref<2x8x32xf32> into memref<16x32xf32>
// V4-NOT: memref.alloc() {{.*}} memref<2x8x32xf32>
// V4: memref.load %[[X]]
// V4: vector.store {{.*}}, %[[R]]
#rows = affine_map<(b, t, n, k) -> (b, t, k)>
#columns = affine_map<(b, t, n, k) -> (k, n)>
#result = affine_map<(b, t, n, k) -> (b, t, n)>
#id = affine_map<(b, t, n) -> (b, t, n)>
#bias = affine_map<(b, t, n) -> (n)>
device.kernel @batch(%x: tensor<2x8x16xf32>, %w: tensor<16x32xf32>, %bias: tensor<32xf32>) -> tensor<2x8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  %m = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2x8x16xf32>, tensor<16x32xf32>) outs(%f : tensor<2x8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x8x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #bias, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%m, %bias : tensor<2x8x32xf32>, tensor<32xf32>) outs(%e : tensor<2x8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x8x32xf32>
  device.yield %r : tensor<2x8x32xf32>
}

// -----

// So do two loops over the terms of a sum.
// V4-LABEL: func.func @terms
// V4: memref.collapse_shape %arg0 {{\[}}[0, 1], [2]] : memref<2x8x16xf32> into memref<16x16xf32>
// V4: memref.collapse_shape %arg1 {{\[}}[0, 1], [2]] : memref<2x8x32xf32> into memref<16x32xf32>
#left = affine_map<(m, n, b, t) -> (b, t, m)>
#right = affine_map<(m, n, b, t) -> (b, t, n)>
#sum = affine_map<(m, n, b, t) -> (m, n)>
device.kernel @terms(%x: tensor<2x8x16xf32>, %y: tensor<2x8x32xf32>) -> tensor<16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
  %m = linalg.generic {indexing_maps = [#left, #right, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %y : tensor<2x8x16xf32>, tensor<2x8x32xf32>) outs(%f : tensor<16x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x32xf32>
  device.yield %m : tensor<16x32xf32>
}

// -----

// The bias has one of the loops alone: they stay two.
// V4-LABEL: func.func @positions
// V4-NOT: memref.collapse_shape
// V4: return
#rows = affine_map<(b, t, n, k) -> (b, t, k)>
#columns = affine_map<(b, t, n, k) -> (k, n)>
#result = affine_map<(b, t, n, k) -> (b, t, n)>
#id = affine_map<(b, t, n) -> (b, t, n)>
#bias = affine_map<(b, t, n) -> (t, n)>
device.kernel @positions(%x: tensor<2x8x16xf32>, %w: tensor<16x32xf32>, %bias: tensor<8x32xf32>) -> tensor<2x8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  %m = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2x8x16xf32>, tensor<16x32xf32>) outs(%f : tensor<2x8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x8x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #bias, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%m, %bias : tensor<2x8x32xf32>, tensor<8x32xf32>) outs(%e : tensor<2x8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x8x32xf32>
  device.yield %r : tensor<2x8x32xf32>
}
