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

// A row for each block, whose elements its threads do not share evenly: they share the sum, then the elements, each one every 256th. The sum is
// in shared memory. A warp adds its values by exchanging them, and then the sums of all warps.
// CHECK-DAG: memref.global "private" @[[ROW:.*shared0]] : memref<1xf32, 3>
// CHECK-DAG: memref.global "private" @[[SHARED:.*shared1]] : memref<256xf32, 3>
// CHECK-LABEL: func.func @normalize$0
// CHECK: %[[THREAD:.*]] = arith.index_castui %0
// CHECK: %[[SUM:.*]] = memref.get_global @[[ROW]]
// CHECK: nvvm.barrier0
// CHECK: %[[FIRST:.*]] = arith.addf %cst
// CHECK: %[[SECOND:.*]] = arith.addf %[[FIRST]]
// CHECK: %[[MOST:.*]] = arith.addf %[[SECOND]]
// CHECK: %[[OWN:.*]] = scf.if
// CHECK: arith.addf %[[MOST]]
// CHECK: scf.yield %[[MOST]]
// CHECK: %[[SUMS:.*]] = memref.get_global @[[SHARED]]
// CHECK: arith.bitcast %[[OWN]]
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK: %[[WARP:.*]] = arith.divui %[[THREAD]], %c32
// CHECK: scf.if
// CHECK: memref.store {{.*}}, %[[SUMS]]
// CHECK: nvvm.barrier0
// CHECK: memref.load %[[SUMS]]
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK: arith.cmpi eq, %[[THREAD]], %c0
// CHECK: memref.store {{.*}}, %[[SUM]]
// CHECK: nvvm.barrier0
// CHECK: memref.load %[[SUM]]
// CHECK-COUNT-3: arith.divf
// CHECK-COUNT-3: memref.store {{.*}} %arg1
// CHECK: scf.if
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

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A row of 512 elements, of which each of 256 threads has two in registers: nothing but the sums of the warps is in shared memory, and none of
// the threads waits for another one but for them.
// CHECK-LABEL: func.func @softmax$0
// CHECK: %[[THREAD:.*]] = arith.index_castui %0
// CHECK: %[[X0:.*]] = memref.load %arg0
// CHECK: %[[E0:.*]] = math.exp %[[X0]]
// CHECK: %[[X1:.*]] = memref.load %arg0
// CHECK: %[[E1:.*]] = math.exp %[[X1]]
// CHECK: %[[S0:.*]] = arith.addf {{.*}}, %[[E0]]
// CHECK: %[[S1:.*]] = arith.addf %[[S0]], %[[E1]]
// CHECK: memref.get_global @softmax$part0$shared0 : memref<256xf32, 3>
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier0
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.barrier0
// CHECK: %[[Q0:.*]] = arith.divf %[[E0]], %[[TOTAL:.*]]
// CHECK: %[[Q1:.*]] = arith.divf %[[E1]], %[[TOTAL]]
// CHECK: memref.store %[[Q0]], %arg1
// CHECK: memref.store %[[Q1]], %arg1
// CHECK-NEXT: return
// CHECK: func.func private @softmax({{.*}} lockstep.launches = array<i64: 16, 256>, lockstep.scratch = 0
device.kernel @softmax(%x: tensor<16x512xf32>) -> tensor<16x512xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<16x512xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x512xf32>) outs(%o : tensor<16x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<16x512xf32>
  %e = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<16x512xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<16x512xf32>, tensor<16xf32>) outs(%o : tensor<16x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<16x512xf32>
  device.yield %r : tensor<16x512xf32>
}

// -----

// A row whose sum is added to one that is already there: a thread would store it before others have read the old one, so that the row is not in
// registers.
// CHECK-LABEL: func.func @accumulate$0
// CHECK-COUNT-3: nvvm.barrier0
// CHECK: func.func private @accumulate(
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
device.kernel @accumulate(%x: tensor<16x512xf32>, %old: tensor<16xf32>) -> (tensor<16xf32>, tensor<16x512xf32>) attributes {in_place = array<i64: 1, -1>} {
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x512xf32>) outs(%old : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  %o = tensor.empty() : tensor<16x512xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<16x512xf32>, tensor<16xf32>) outs(%o : tensor<16x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<16x512xf32>
  device.yield %sum, %r : tensor<16xf32>, tensor<16x512xf32>
}

// -----

// A product with its activation, by tiles of 16 x 16: slices of the factors are copied to shared memory, the sum is in a register, and only
// the activation is stored. While a slice is multiplied, the next one is loaded, and then stored to the other half of the memory.
// CHECK-DAG: memref.global "private" @[[LEFT:.*shared0]] : memref<2x16x20xf32, 3>
// CHECK-DAG: memref.global "private" @[[RIGHT:.*shared1]] : memref<2x16x20xf32, 3>
// CHECK-LABEL: func.func @dense$0
// CHECK-DAG: %[[A:.*]] = memref.get_global @[[LEFT]]
// CHECK-DAG: %[[B:.*]] = memref.get_global @[[RIGHT]]
// CHECK: memref.load %arg0
// CHECK: memref.load %arg1
// CHECK: memref.store {{.*}}, %[[A]]
// CHECK: memref.store {{.*}}, %[[B]]
// CHECK: nvvm.barrier0
// CHECK: %[[SUM:.*]] = scf.for %[[I:.*]] = %c0{{.*}} to %c3{{.*}} step %c1{{.*}} iter_args
// CHECK: memref.load %arg0
// CHECK: memref.load %arg1
// CHECK: %[[CURRENT:.*]] = arith.andi %[[I]], %c1
// CHECK: vector.load %[[A]][%[[CURRENT]]
// CHECK: vector.load %[[B]][%[[CURRENT]]
// CHECK-COUNT-16: math.fma
// CHECK: %[[NEXT:.*]] = arith.andi
// CHECK: memref.store {{.*}}, %[[A]][%[[NEXT]]
// CHECK: memref.store {{.*}}, %[[B]][%[[NEXT]]
// CHECK: nvvm.barrier0
// CHECK: scf.yield
// CHECK-COUNT-15: math.fma
// CHECK: %[[LAST:.*]] = math.fma
// CHECK: %[[MAX:.*]] = arith.maximumf %[[LAST]]
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

// A product whose sizes are no multiples of those of tiles: 128 x 64 elements by 128 threads, of which each has 64, four neighbors at a time.
// Rows beyond the last one are read as the last one, and not stored. The rest of the slices has 4 of 8 elements.
// CHECK-LABEL: func.func @large$0
// CHECK-SAME: lockstep.blocks = 96
// CHECK: arith.minui
// CHECK: memref.load %arg0
// CHECK: %[[SUMS:.*]]:64 = scf.for {{.*}} to %c11
// CHECK-COUNT-2: vector.load {{.*}} {alignment = 16 : i64} : memref<2x8x132xf32, 3>, vector<4xf32>
// CHECK-COUNT-2: vector.load {{.*}} {alignment = 16 : i64} : memref<2x8x68xf32, 3>, vector<4xf32>
// CHECK-COUNT-512: math.fma
// CHECK: nvvm.barrier0
// CHECK: scf.yield
// CHECK-COUNT-512: math.fma
// CHECK: nvvm.barrier0
// CHECK-COUNT-256: math.fma
// CHECK-COUNT-64: memref.store {{.*}}, %arg2
// CHECK: func.func private @large({{.*}} lockstep.launches = array<i64: 96, 128>
device.kernel @large(%x: tensor<1000x100xf32>, %w: tensor<100x768xf32>) -> tensor<1000x768xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1000x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1000x768xf32>) -> tensor<1000x768xf32>
  %m = linalg.matmul ins(%x, %w : tensor<1000x100xf32>, tensor<100x768xf32>) outs(%f : tensor<1000x768xf32>) -> tensor<1000x768xf32>
  device.yield %m : tensor<1000x768xf32>
}

// -----

// The sum of columns: eight neighboring threads read neighboring elements, others those of other rows. Of the last block, some compute what the
// last column needs, and store nothing.
// CHECK-LABEL: func.func @columns$0
// CHECK: %[[THREAD:.*]] = arith.index_castui %0
// CHECK: %[[PLACE:.*]] = arith.remui %[[THREAD]], %c8
// CHECK: %[[ROW:.*]] = arith.divui %[[THREAD]], %c8
// CHECK: %[[NUMBER:.*]] = arith.addi {{.*}}, %[[PLACE]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[NUMBER]], %c5001
// CHECK: %[[STORES:.*]] = arith.andi %[[INSIDE]]
// CHECK: arith.minui %[[NUMBER]], %c5000
// CHECK: %[[OWN:.*]] = scf.for {{.*}} = %c0 to %c8 step %c4 iter_args
// CHECK-COUNT-3: memref.load %arg0
// CHECK: memref.load %arg0[%{{.*}}, %[[COLUMN:.*]]]
// CHECK: %[[SUMS:.*]] = memref.get_global
// CHECK: arith.bitcast %[[OWN]]
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK: memref.store {{.*}}, %[[SUMS]]
// CHECK: nvvm.barrier0
// CHECK: memref.load %[[SUMS]]
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK: scf.if %[[STORES]]
// CHECK: %[[ALL:.*]] = arith.addf {{.*}}
// CHECK: memref.store %[[ALL]], %arg1[%[[COLUMN]]]
// CHECK: nvvm.barrier0
// CHECK: func.func private @columns({{.*}} lockstep.launches = array<i64: 626, 128>
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
device.kernel @columns(%x: tensor<128x5001xf32>) -> tensor<5001xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5001xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5001xf32>) -> tensor<5001xf32>
  %r = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<128x5001xf32>) outs(%f : tensor<5001xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<5001xf32>
  device.yield %r : tensor<5001xf32>
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

// -----

// The gradient of a lookup: a thread adds a column of all updates to the rows that belong to its part, in order. No thread waits for another.
// CHECK-LABEL: func.func @lookup$0
// CHECK-SAME: lockstep.threads = 256
// CHECK-NOT: nvvm.barrier0
// CHECK: scf.for %[[N:.*]] = %c0{{.*}} to %c20
// CHECK: %[[ROW:.*]] = arith.index_cast
// CHECK: %[[OWNER:.*]] = arith.remui %[[ROW]], %c32
// CHECK: %[[OWN:.*]] = arith.cmpi eq, %[[OWNER]], %
// CHECK: scf.if %[[OWN]]
// CHECK-NOT: scf.for
// CHECK: memref.store {{.*}}, %arg3[%[[ROW]], %
// CHECK: func.func private @lookup({{.*}} lockstep.launches = array<i64: {{.*}}2, 256>
device.kernel @lookup(%p: tensor<50x16xf32>, %i: tensor<20xi32>, %v: tensor<20x16xf32>) -> tensor<50x16xf32>
    attributes {in_place = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %r = scf.for %n = %c0 to %c20 step %c1 iter_args(%t = %p) -> tensor<50x16xf32> {
    %i32 = tensor.extract %i[%n] : tensor<20xi32>
    %row = arith.index_cast %i32 : i32 to index
    %u = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %t) -> tensor<50x16xf32> {
      %old = tensor.extract %s[%row, %j] : tensor<50x16xf32>
      %add = tensor.extract %v[%n, %j] : tensor<20x16xf32>
      %new = arith.addf %old, %add : f32
      %w = tensor.insert %new into %s[%row, %j] : tensor<50x16xf32>
      scf.yield %w : tensor<50x16xf32>
    }
    scf.yield %u : tensor<50x16xf32>
  }
  device.yield %r : tensor<50x16xf32>
}

// -----

// A running sum of columns: a thread for each column. The rows depend on each other, and remain a loop.
// CHECK-LABEL: func.func @running$1
// CHECK-NOT: nvvm.barrier0
// CHECK: scf.for %[[I:.*]] = %c1{{.*}} to %c9
// CHECK-NOT: scf.for
// CHECK: memref.store {{.*}}[%[[I]], %
// CHECK: func.func private @running({{.*}} lockstep.launches = array<i64: 25, 256, 3, 256, 25, 256>
device.kernel @running(%x: tensor<9x700xf32>) -> tensor<9x700xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c700 = arith.constant 700 : index
  %r = scf.for %i = %c1 to %c9 step %c1 iter_args(%t = %x) -> tensor<9x700xf32> {
    %before = arith.subi %i, %c1 : index
    %u = scf.for %j = %c0 to %c700 step %c1 iter_args(%s = %t) -> tensor<9x700xf32> {
      %a = tensor.extract %s[%before, %j] : tensor<9x700xf32>
      %b = tensor.extract %s[%i, %j] : tensor<9x700xf32>
      %new = arith.addf %a, %b : f32
      %w = tensor.insert %new into %s[%i, %j] : tensor<9x700xf32>
      scf.yield %w : tensor<9x700xf32>
    }
    scf.yield %u : tensor<9x700xf32>
  }
  device.yield %r : tensor<9x700xf32>
}

// -----

// Iterations that read what others write have no owner: one block executes them in order.
// CHECK-LABEL: func.func @chained$1
// CHECK: nvvm.barrier0
// CHECK: func.func private @chained({{.*}} lockstep.launches = array<i64: 3, 256, 1, 256, 3, 256>
device.kernel @chained(%x: tensor<700xf32>) -> tensor<700xf32> {
  %c1 = arith.constant 1 : index
  %c700 = arith.constant 700 : index
  %r = scf.for %i = %c1 to %c700 step %c1 iter_args(%t = %x) -> tensor<700xf32> {
    %before = arith.subi %i, %c1 : index
    %a = tensor.extract %t[%before] : tensor<700xf32>
    %b = tensor.extract %t[%i] : tensor<700xf32>
    %new = arith.addf %a, %b : f32
    %w = tensor.insert %new into %t[%i] : tensor<700xf32>
    scf.yield %w : tensor<700xf32>
  }
  device.yield %r : tensor<700xf32>
}

// -----

// What a part computes is used after its accesses, by all threads: the accesses cannot be left out.
// CHECK-LABEL: func.func @counted$1
// CHECK: nvvm.barrier0
// CHECK: func.func private @counted({{.*}} lockstep.launches = array<i64: 1, 64, 1, 256, 1, 64>
device.kernel @counted(%x: tensor<50xf32>, %i: tensor<20xi32>) -> tensor<50xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %one = arith.constant 1.0 : f32
  %r:2 = scf.for %n = %c0 to %c20 step %c1 iter_args(%t = %x, %last = %one) -> (tensor<50xf32>, f32) {
    %i32 = tensor.extract %i[%n] : tensor<20xi32>
    %row = arith.index_cast %i32 : i32 to index
    %old = tensor.extract %t[%row] : tensor<50xf32>
    %new = arith.addf %old, %last : f32
    %w = tensor.insert %new into %t[%row] : tensor<50xf32>
    scf.yield %w, %old : tensor<50xf32>, f32
  }
  device.yield %r#0 : tensor<50xf32>
}

// -----

// The bounds of the inner loop depend on the outer one: iterations of one number update different elements, so that the loop is not
// distributed by number. A thread executes all of it, and updates one element.
// CHECK-LABEL: func.func @windows$1
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c100
// CHECK: scf.for %[[J:.*]] = %[[I]] to
// CHECK: arith.remui %[[J]], %c128
// CHECK: memref.store {{.*}}[%[[J]]]
// CHECK: func.func private @windows({{.*}} lockstep.launches = array<i64: 1, 128, 1, 128, 1, 128>
device.kernel @windows(%x: tensor<128xf32>, %v: tensor<100xf32>) -> tensor<128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c100 = arith.constant 100 : index
  %r = scf.for %i = %c0 to %c100 step %c1 iter_args(%t = %x) -> (tensor<128xf32>) {
    %end = arith.addi %i, %c16 overflow<nsw> : index
    %u = scf.for %j = %i to %end step %c1 iter_args(%s = %t) -> (tensor<128xf32>) {
      %old = tensor.extract %s[%j] : tensor<128xf32>
      %add = tensor.extract %v[%i] : tensor<100xf32>
      %new = arith.addf %old, %add : f32
      %w = tensor.insert %new into %s[%j] : tensor<128xf32>
      scf.yield %w : tensor<128xf32>
    }
    scf.yield %u : tensor<128xf32>
  }
  device.yield %r : tensor<128xf32>
}

// -----

// Of two indices that data decide about, the one along the larger dimension has more parts. Every third update, from the second on, is one.
// CHECK-LABEL: func.func @pairs$1
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = arith.index_cast
// CHECK: %[[COLUMN:.*]] = arith.index_cast
// CHECK: arith.remui %[[COLUMN]], %c512
// CHECK: func.func private @pairs({{.*}} 2, 256>
device.kernel @pairs(%p: tensor<2x700xf32>, %i: tensor<20x2xi32>) -> tensor<2x700xf32> attributes {in_place = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c20 = arith.constant 20 : index
  %one = arith.constant 1.0 : f32
  %r = scf.for %n = %c1 to %c20 step %c3 iter_args(%t = %p) -> tensor<2x700xf32> {
    %i0 = tensor.extract %i[%n, %c0] : tensor<20x2xi32>
    %row = arith.index_cast %i0 : i32 to index
    %i1 = tensor.extract %i[%n, %c1] : tensor<20x2xi32>
    %column = arith.index_cast %i1 : i32 to index
    %old = tensor.extract %t[%row, %column] : tensor<2x700xf32>
    %new = arith.addf %old, %one : f32
    %w = tensor.insert %new into %t[%row, %column] : tensor<2x700xf32>
    scf.yield %w : tensor<2x700xf32>
  }
  device.yield %r : tensor<2x700xf32>
}

// -----

#id = affine_map<(i, j, k) -> (i, j, k)>
#row = affine_map<(i, j, k) -> (i, j)>

// Element-wise operations on long rows: a block for each row. A thread has an exponential, which is no result, in a register only, and stores
// what it multiplies, but does not load it. Its first three iterations load before they store.
// CHECK-LABEL: func.func @chain$0
// CHECK: %[[X:.*]] = memref.load %arg0[
// CHECK: %[[EXP:.*]] = math.exp %[[X]]
// CHECK: memref.load %arg0[
// CHECK: math.exp
// CHECK-NOT: memref.store %[[EXP]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[EXP]]
// CHECK: arith.mulf
// CHECK: memref.store %[[SCALED]], %arg2
// CHECK-NOT: memref.load
// CHECK: %[[LEFT:.*]] = arith.subf %[[EXP]], %[[SCALED]]
// CHECK: memref.store %[[LEFT]], %arg3
// CHECK: func.func private @chain({{.*}} lockstep.launches = array<i64: 2048, 256>{{.*}} lockstep.scratch = 0
device.kernel @chain(%x: tensor<32x64x769xf32>, %y: tensor<32x64xf32>) -> (tensor<32x64x769xf32>, tensor<32x64x769xf32>) {
  %e = tensor.empty() : tensor<32x64x769xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<32x64x769xf32>) outs(%e : tensor<32x64x769xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<32x64x769xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%exp, %y : tensor<32x64x769xf32>, tensor<32x64xf32>) outs(%e : tensor<32x64x769xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<32x64x769xf32>
  %left = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%exp, %scaled : tensor<32x64x769xf32>, tensor<32x64x769xf32>) outs(%e : tensor<32x64x769xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<32x64x769xf32>
  device.yield %scaled, %left : tensor<32x64x769xf32>, tensor<32x64x769xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

// A thread executes eight neighboring iterations: 16 bytes of bf16 at once, if all buffers are aligned. The element of a row is loaded once.
// CHECK-LABEL: func.func @vectors$0
// CHECK: memref.extract_aligned_pointer_as_index %arg0
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq
// CHECK: %[[SCALE:.*]] = memref.load %arg1[
// CHECK: %[[LOADED:.*]]:16 = scf.if %[[ALIGNED]]
// CHECK: vector.load %arg0[{{.*}}] {alignment = 16 : i64} : memref<1024x768xbf16>, vector<8xbf16>
// CHECK: vector.load %arg2[{{.*}}] {alignment = 16 : i64} : memref<768xf32>, vector<4xf32>
// CHECK: vector.load %arg2[{{.*}}] {alignment = 16 : i64} : memref<768xf32>, vector<4xf32>
// CHECK: else
// CHECK-COUNT-16: memref.load
// CHECK: scf.yield
// CHECK-NOT: memref.load
// CHECK: arith.extf %[[LOADED]]#7
// CHECK: scf.if %[[ALIGNED]]
// CHECK: vector.store {{.*}}, %arg3[{{.*}}] {alignment = 16 : i64} : memref<1024x768xbf16>, vector<8xbf16>
// CHECK: else
// CHECK-COUNT-8: memref.store
// CHECK: func.func private @vectors({{.*}} lockstep.launches = array<i64: 384, 256>
device.kernel @vectors(%x: tensor<1024x768xbf16>, %s: tensor<1024xf32>, %b: tensor<768xf32>) -> tensor<1024x768xbf16> {
  %e = tensor.empty() : tensor<1024x768xbf16>
  %r = linalg.generic {indexing_maps = [#id, #row, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %s, %b : tensor<1024x768xbf16>, tensor<1024xf32>, tensor<768xf32>) outs(%e : tensor<1024x768xbf16>) {
  ^bb0(%a: bf16, %c: f32, %d: f32, %o: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.mulf %f, %c : f32
    %h = arith.addf %g, %d : f32
    %i = arith.truncf %h : f32 to bf16
    linalg.yield %i : bf16
  } -> tensor<1024x768xbf16>
  device.yield %r : tensor<1024x768xbf16>
}

// -----

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// Phases that access nothing another one writes are one launch, of which each has some of the blocks: the zero of the sum, and the first and the
// third operation. The sum has blocks of 64 threads, and the last operation reads what another one has written.
// CHECK-LABEL: func.func @shared$0(
// CHECK-SAME: lockstep.blocks = 6 : i64
// CHECK-NEXT: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[BEFORE1:.*]] = arith.cmpi ult, %[[BLOCK]], %c1_i32
// CHECK: scf.if %[[BEFORE1]] {
// CHECK: arith.index_castui %[[BLOCK]]
// CHECK: memref.store %cst, %arg4[]
// CHECK: } else {
// CHECK: %[[BEFORE2:.*]] = arith.cmpi ult, %[[BLOCK]], %c2_i32
// CHECK: scf.if %[[BEFORE2]] {
// CHECK: %[[OWN1:.*]] = arith.subi %[[BLOCK]], %c1_i32
// CHECK: arith.index_castui %[[OWN1]]
// CHECK: math.exp
// CHECK: } else {
// CHECK: %[[OWN2:.*]] = arith.subi %[[BLOCK]], %c2_i32
// CHECK: arith.index_castui %[[OWN2]]
// CHECK: math.sqrt
// CHECK: return
// CHECK-LABEL: func.func @shared$1(
// CHECK-SAME: lockstep.threads = 64
// CHECK: arith.addf
// CHECK-LABEL: func.func @shared$2(
// CHECK: arith.mulf
// CHECK: func.func private @shared({{.*}} lockstep.launches = array<i64: 6, 256, 1, 64, 1, 128>
device.kernel @shared(%x: tensor<100xf32>, %y: tensor<1000xf32>, %z: tensor<64xf32>) -> (tensor<1000xf32>, tensor<f32>, tensor<100xf32>) {
  %ex = tensor.empty() : tensor<100xf32>
  %ey = tensor.empty() : tensor<1000xf32>
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<100xf32>) outs(%ex : tensor<100xf32>) {
  ^bb0(%a: f32, %b: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<100xf32>
  %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%z : tensor<64xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %e = arith.addf %b, %a : f32
    linalg.yield %e : f32
  } -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<1000xf32>) outs(%ey : tensor<1000xf32>) {
  ^bb0(%a: f32, %b: f32):
    %e = math.sqrt %a : f32
    linalg.yield %e : f32
  } -> tensor<1000xf32>
  %back = linalg.generic {indexing_maps = [affine_map<(i) -> (99 - i)>, #id], iterator_types = ["parallel"]} ins(%exp : tensor<100xf32>) outs(%ex : tensor<100xf32>) {
  ^bb0(%a: f32, %b: f32):
    %e = arith.mulf %a, %a : f32
    linalg.yield %e : f32
  } -> tensor<100xf32>
  device.yield %r, %sum, %back : tensor<1000xf32>, tensor<f32>, tensor<100xf32>
}
