// RUN: lockstep-opt %s --pass-pipeline="builtin.module(prepare-kernels,bufferize-kernels,lower-kernel-phases)" --split-input-file | FileCheck %s

// Element by element: a thread for each; of the last block, some have none.
// CHECK-LABEL: func.func @relu$0
// CHECK: %[[NUMBER:.*]] = arith.addi
// CHECK: %[[HAS:.*]] = arith.cmpi ult, %[[NUMBER]], %c1000
// CHECK: scf.if %[[HAS]]
// CHECK: %[[X:.*]] = memref.load %arg0[%[[I:.*]], %[[J:.*]]]
// CHECK: %[[MAX:.*]] = arith.maximumf %[[X]]
// CHECK: memref.store %[[MAX]], %arg1[%[[I]], %[[J]]]
// CHECK: func.func private @relu({{.*}} lockstep.launches = array<i64: 4, 256>
#id = affine_map<(i, j) -> (i, j)>
device.kernel @relu(%x: tensor<10x100xf32>) -> tensor<10x100xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<10x100xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<10x100xf32>) outs(%e : tensor<10x100xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %a, %zero : f32
    linalg.yield %s : f32
  } -> tensor<10x100xf32>
  device.yield %r : tensor<10x100xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A row for each block: its threads share the sum, then the elements.
// CHECK: memref.global "private" @[[SHARED:.*shared0]] : memref<256xf32, 3>
// CHECK-LABEL: func.func @normalize$0
// CHECK: %[[THREAD:.*]] = arith.index_castui %0
// CHECK: nvvm.barrier0
// CHECK: %[[OWN:.*]] = scf.for {{.*}} = %[[THREAD]] to %c1000 step %c256 iter_args
// CHECK: %[[SUMS:.*]] = memref.get_global @[[SHARED]]
// CHECK: memref.store %[[OWN]], %[[SUMS]][%[[THREAD]]]
// CHECK-COUNT-8: nvvm.barrier0
// CHECK: arith.cmpi eq, %[[THREAD]], %c0
// CHECK: memref.store {{.*}} : memref<16xf32>
// CHECK: nvvm.barrier0
// CHECK: scf.for {{.*}} = %[[THREAD]] to %c1000 step %c256
// CHECK: memref.load {{.*}} : memref<16xf32>
// CHECK: arith.divf
// CHECK: memref.store {{.*}} %arg1
// CHECK: func.func private @normalize({{.*}} lockstep.launches = array<i64: 16, 256>
device.kernel @normalize(%x: tensor<16x1000xf32>) -> tensor<16x1000xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x1000xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  %o = tensor.empty() : tensor<16x1000xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<16x1000xf32>, tensor<16xf32>) outs(%o : tensor<16x1000xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<16x1000xf32>
  device.yield %r : tensor<16x1000xf32>
}

// -----

// A product with its activation, by tiles of 16 x 16: slices of the factors are copied to shared memory, the sum is in a register, and only
// the activation is stored.
// CHECK-DAG: memref.global "private" @[[LEFT:.*shared0]] : memref<16x17xf32, 3>
// CHECK-DAG: memref.global "private" @[[RIGHT:.*shared1]] : memref<16x17xf32, 3>
// CHECK-LABEL: func.func @dense$0
// CHECK-DAG: %[[A:.*]] = memref.get_global @[[LEFT]]
// CHECK-DAG: %[[B:.*]] = memref.get_global @[[RIGHT]]
// CHECK: %[[SUM:.*]] = scf.for {{.*}} to %c64 step %c16 iter_args
// CHECK: memref.load %arg0
// CHECK: memref.store {{.*}}, %[[A]]
// CHECK: memref.load %arg1
// CHECK: memref.store {{.*}}, %[[B]]
// CHECK: nvvm.barrier0
// CHECK-COUNT-16: math.fma
// CHECK: nvvm.barrier0
// CHECK: %[[MAX:.*]] = arith.maximumf %[[SUM]]
// CHECK-NEXT: memref.store %[[MAX]], %arg2
// CHECK-NEXT: return
// CHECK: func.func private @dense({{.*}} lockstep.launches = array<i64: 8, 256>
#id = affine_map<(i, j) -> (i, j)>
device.kernel @dense(%x: tensor<64x64xf32>, %w: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %m = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x32xf32>) outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %a, %zero : f32
    linalg.yield %s : f32
  } -> tensor<64x32xf32>
  device.yield %r : tensor<64x32xf32>
}

// -----

// A product whose sizes are no multiples of those of tiles: 64 x 64 elements by 256 threads, of which each has 16. Rows beyond the last one
// are read as the last one, and not stored. The rest of the slices has 4 of 16 elements.
// CHECK-LABEL: func.func @large$0
// CHECK: %[[SUMS:.*]]:16 = scf.for {{.*}} to %c96 step %c16
// CHECK: arith.minui
// CHECK: memref.load %arg0
// CHECK-COUNT-256: math.fma
// CHECK-COUNT-64: math.fma
// CHECK-COUNT-16: memref.store {{.*}}, %arg2
// CHECK: func.func private @large({{.*}} lockstep.launches = array<i64: 192, 256>
device.kernel @large(%x: tensor<1000x100xf32>, %w: tensor<100x768xf32>) -> tensor<1000x768xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1000x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1000x768xf32>) -> tensor<1000x768xf32>
  %m = linalg.matmul ins(%x, %w : tensor<1000x100xf32>, tensor<100x768xf32>) outs(%f : tensor<1000x768xf32>) -> tensor<1000x768xf32>
  device.yield %m : tensor<1000x768xf32>
}

// -----

// The sum of columns: neighboring threads read neighboring elements.
// CHECK-LABEL: func.func @columns$0
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c128 step %c1
// CHECK: memref.load %arg0[%[[ROW]], %[[COLUMN:.*]]]
// CHECK: memref.store {{.*}}, %arg1[%[[COLUMN]]]
// CHECK: func.func private @columns({{.*}} lockstep.launches = array<i64: 20, 256>
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
device.kernel @columns(%x: tensor<128x5000xf32>) -> tensor<5000xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5000xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5000xf32>) -> tensor<5000xf32>
  %r = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<128x5000xf32>) outs(%f : tensor<5000xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<5000xf32>
  device.yield %r : tensor<5000xf32>
}

// -----

// Two operations that share no loop: two phases, with working memory between them. In the second, a loop whose iterations write different
// elements is called a reduction: they are executed in order, without an accumulator.
// CHECK-LABEL: func.func @phases$0
// CHECK: memref.view %arg3
// CHECK: math.exp
// CHECK-LABEL: func.func @phases$1
// CHECK-NOT: math.exp
// CHECK: scf.for %[[J:.*]] = %c0 to %c64 step %c1 {
// CHECK: memref.store {{.*}}, %arg2[%{{.*}}, %[[J]]]
// CHECK: func.func private @phases({{.*}} lockstep.launches = array<i64: 1, 64, 1, 256>
#id1 = affine_map<(i) -> (i)>
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
device.kernel @phases(%x: tensor<8x64xf32>, %y: tensor<64xf32>) -> tensor<8x64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %exp = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel"]} ins(%y : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %o = tensor.empty() : tensor<8x64xf32>
  %r = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "reduction"]} ins(%x, %exp : tensor<8x64xf32>, tensor<64xf32>) outs(%o : tensor<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32>
  device.yield %r : tensor<8x64xf32>
}

// -----

// A loop that carries a tensor: one block executes all, with barriers around each write.
// CHECK-LABEL: func.func @powers$1
// CHECK: scf.for %{{.*}} = %c0 to %c5
// CHECK: nvvm.barrier0
// CHECK: scf.for %{{.*}} = %1 to %c100 step %c256
// CHECK: memref.store
// CHECK: }
// CHECK: nvvm.barrier0
// CHECK-LABEL: func.func @powers$2
// CHECK: func.func private @powers({{.*}} lockstep.launches = array<i64: 1, 128, 1, 256, 1, 128>
#id1 = affine_map<(i) -> (i)>
device.kernel @powers(%x: tensor<100xf32>) -> tensor<100xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%p = %x) -> (tensor<100xf32>) {
    %e = tensor.empty() : tensor<100xf32>
    %next = linalg.generic {indexing_maps = [#id1, #id1, #id1], iterator_types = ["parallel"]} ins(%p, %x : tensor<100xf32>, tensor<100xf32>) outs(%e : tensor<100xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.mulf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<100xf32>
    scf.yield %next : tensor<100xf32>
  }
  device.yield %r : tensor<100xf32>
}

// -----

// A result that is an updated copy of the argument: the copy is a phase of many blocks, the element a phase of one.
// CHECK-LABEL: func.func @insert$0
// CHECK: %[[APART:.*]] = arith.cmpi ne
// CHECK: scf.if %[[APART]]
// CHECK: memref.store {{.*}}, %arg1
// CHECK-LABEL: func.func @insert$1
// CHECK: nvvm.barrier0
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %1, %c0
// CHECK: scf.if %[[FIRST]]
// CHECK: memref.store %cst, %arg1[%arg2]
// CHECK: nvvm.barrier0
// CHECK: func.func private @insert({{.*}} lockstep.launches = array<i64: 16, 256, 1, 256>
device.kernel @insert(%x: tensor<4096xf32>, %i: index) -> tensor<4096xf32> attributes {in_place = array<i64: 0>} {
  %one = arith.constant 1.0 : f32
  %r = tensor.insert %one into %x[%i] : tensor<4096xf32>
  device.yield %r : tensor<4096xf32>
}

// -----

// Nothing to compute: no blocks.
// CHECK: func.func private @same({{.*}} lockstep.launches = array<i64: 0, 32>
device.kernel @same(%x: tensor<0xf32>) -> tensor<0xf32> {
  device.yield %x : tensor<0xf32>
}
