// RUN: lockstep-opt %s --prepare-kernels --bufferize-kernels --split-input-file | FileCheck %s

// Each element is read before it is written, so the result may be in the argument's memory.
// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME: lockstep.in_place = array<i64: 0>
#id = affine_map<(i) -> (i)>
device.kernel @elementwise(%a: tensor<8xf32>) -> tensor<8xf32> attributes {in_place = array<i64: 0>} {
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  device.yield %r : tensor<8xf32>
}

// -----

// A transpose in place would overwrite elements that are not read yet: in_place is withdrawn.
// CHECK-LABEL: func.func @transpose(
// CHECK-SAME: lockstep.in_place = array<i64: -1>
device.kernel @transpose(%a: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {in_place = array<i64: 0>} {
  %e = tensor.empty() : tensor<8x8xf32>
  %r = linalg.transpose ins(%a : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) permutation = [1, 0]
  device.yield %r : tensor<8x8xf32>
}

// -----

// The second result reads the argument after the first result has been written: in_place is withdrawn.
// CHECK-LABEL: func.func @two_readers(
// CHECK-SAME: lockstep.in_place = array<i64: -1, -1>
#id = affine_map<(i) -> (i)>
#reversed = affine_map<(i) -> (7 - i)>
device.kernel @two_readers(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {in_place = array<i64: 0, -1>} {
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %q = linalg.generic {indexing_maps = [#reversed, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<8xf32>
  device.yield %r, %q : tensor<8xf32>, tensor<8xf32>
}

// -----

// An element is inserted into a copy: the copy is made only if source and destination are different memory, and one element is stored.
// CHECK-LABEL: func.func @update(
// CHECK: %[[APART:.*]] = arith.cmpi ne
// CHECK: scf.if %[[APART]]
// CHECK: memref.store {{.*}}, %arg2[
device.kernel @update(%a: tensor<8xf32>, %v: tensor<f32>) -> tensor<8xf32> attributes {in_place = array<i64: 0>} {
  %i = arith.constant 3 : index
  %x = tensor.extract %v[] : tensor<f32>
  %r = tensor.insert %x into %a[%i] : tensor<8xf32>
  device.yield %r : tensor<8xf32>
}

// -----

// Booleans are bytes in memory.
// CHECK-LABEL: func.func @positive(%arg0: memref<8xf32>, %arg1: memref<8xi8>
#id = affine_map<(i) -> (i)>
device.kernel @positive(%a: tensor<8xf32>) -> tensor<8xi1> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xi1>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xi1>) {
  ^bb0(%x: f32, %y: i1):
    %s = arith.cmpf ogt, %x, %zero : f32
    linalg.yield %s : i1
  } -> tensor<8xi1>
  device.yield %r : tensor<8xi1>
}

// -----

// A loop that yields its iteration arguments in another order copies both before it writes either.
// CHECK-LABEL: func.func @swap(
// CHECK: scf.for
// CHECK-DAG: linalg.generic {{.*}} ins(%[[A:.*]] : memref<8xf32>) outs(%[[COPY_OF_A:.*]] : memref<8xf32>)
// CHECK-DAG: linalg.generic {{.*}} ins(%[[B:.*]] : memref<8xf32>) outs(%[[COPY_OF_B:.*]] : memref<8xf32>)
// CHECK-DAG: linalg.generic {{.*}} ins(%[[COPY_OF_B]] : memref<8xf32>) outs(%[[A]] : memref<8xf32>)
// CHECK-DAG: linalg.generic {{.*}} ins(%[[COPY_OF_A]] : memref<8xf32>) outs(%[[B]] : memref<8xf32>)
device.kernel @swap(%a: tensor<8xf32>, %b: tensor<8xf32>, %n: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %number = tensor.extract %n[] : tensor<i32>
  %turns = arith.index_cast %number : i32 to index
  %r:2 = scf.for %i = %c0 to %turns step %c1 iter_args(%x = %a, %y = %b) -> (tensor<8xf32>, tensor<8xf32>) {
    scf.yield %y, %x : tensor<8xf32>, tensor<8xf32>
  }
  device.yield %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// A while loop that forwards its values in another order than it carries them, and carries one that it does not forward, copies no buffer.
// CHECK-LABEL: func.func @while(
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (i32, i1) -> i32
// CHECK-NOT: memref.copy
device.kernel @while(%a: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
  %true = arith.constant true
  %most = arith.constant 100 : i32
  %number = tensor.extract %n[] : tensor<i32>
  %r:2 = scf.while (%k = %number, %first = %true, %x = %a) : (i32, i1, tensor<8xf32>) -> (tensor<8xf32>, i32) {
    %more = arith.cmpi slt, %k, %most : i32
    %go = arith.andi %more, %first : i1
    scf.condition(%go) %x, %k : tensor<8xf32>, i32
  } do {
  ^bb0(%x: tensor<8xf32>, %k: i32):
    %next = arith.addi %k, %k : i32
    %even = arith.cmpi slt, %next, %k : i32
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.add ins(%x, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %next, %even, %y : i32, i1, tensor<8xf32>
  }
  device.yield %r#0 : tensor<8xf32>
}

// -----

// Two results are sums with the same fill as initial value: each is filled and computed in its own memory, without a copy.
// CHECK-LABEL: func.func @two_sums(
// CHECK-SAME: %[[X:.*]]: memref<4x6xf32>, %[[A:.*]]: memref<6xf32>, %[[B:.*]]: memref<6xf32>
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.*}}["parallel"]} outs(%[[A]] : memref<6xf32>)
// CHECK: %[[UPPER:.*]] = memref.subview %[[X]][0, 0]
// CHECK: linalg.generic {{.*}} ins(%[[UPPER]] : {{.*}}) outs(%[[A]] : memref<6xf32>)
// CHECK: %[[LOWER:.*]] = memref.subview %[[X]][2, 0]
// CHECK: linalg.generic {{.*}}["parallel"]} outs(%[[B]] : memref<6xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[LOWER]] : {{.*}}) outs(%[[B]] : memref<6xf32>)
// CHECK-NOT: linalg.generic
#read = affine_map<(i, j) -> (j, i)>
#kept = affine_map<(i, j) -> (i)>
device.kernel @two_sums(%x: tensor<4x6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %upper = tensor.extract_slice %x[0, 0] [2, 6] [1, 1] : tensor<4x6xf32> to tensor<2x6xf32>
  %a = linalg.generic {indexing_maps = [#read, #kept], iterator_types = ["parallel", "reduction"]}
      ins(%upper : tensor<2x6xf32>) outs(%f : tensor<6xf32>) {
  ^bb0(%in: f32, %sum: f32):
    %s = arith.addf %sum, %in : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  %lower = tensor.extract_slice %x[2, 0] [2, 6] [1, 1] : tensor<4x6xf32> to tensor<2x6xf32>
  %b = linalg.generic {indexing_maps = [#read, #kept], iterator_types = ["parallel", "reduction"]}
      ins(%lower : tensor<2x6xf32>) outs(%f : tensor<6xf32>) {
  ^bb0(%in: f32, %sum: f32):
    %s = arith.addf %sum, %in : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  device.yield %a, %b : tensor<6xf32>, tensor<6xf32>
}

// -----

// A strided view keeps all its dimensions, and a collapse_shape drops those of size one.
// CHECK-LABEL: func.func @strided_view(
// CHECK: %[[VIEW:.*]] = memref.subview %{{.*}}[0, 0, 0, 0] [1, 4, 2, 1] [1, 1, 3, 1] : memref<1x4x4x1xi32> to memref<1x4x2x1xi32
// CHECK: memref.collapse_shape %[[VIEW]] {{\[}}[0, 1], [2], [3]]
device.kernel @strided_view(%a: tensor<1x4x4x1xi32>) -> tensor<4x2x1xi32> {
  %0 = tensor.extract_slice %a[0, 0, 0, 0] [1, 4, 2, 1] [1, 1, 3, 1] : tensor<1x4x4x1xi32> to tensor<4x2x1xi32>
  device.yield %0 : tensor<4x2x1xi32>
}

// -----

// A view without elements may begin at any offset, here at 0.
// CHECK-LABEL: func.func @empty_view(
// CHECK: memref.reinterpret_cast %arg0 to offset: [0], sizes: [0], strides: [2] : memref<1x4xi32> to memref<0xi32, strided<[2], offset: ?>>
device.kernel @empty_view(%a: tensor<1x4xi32>, %i: index) -> tensor<0xi32> {
  %0 = tensor.extract_slice %a[0, %i] [1, 0] [1, 2] : tensor<1x4xi32> to tensor<0xi32>
  device.yield %0 : tensor<0xi32>
}

// -----

// An argument that may be read through a buffer selected at run time is not overwritten: in_place is withdrawn.
// CHECK-LABEL: func.func @chosen(
// CHECK-SAME: lockstep.in_place = array<i64: -1, -1>
#id = affine_map<(i) -> (i)>
device.kernel @chosen(%a: tensor<8xf32>, %b: tensor<8xf32>, %flag: tensor<i1>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {in_place = array<i64: 0, -1>} {
  %c = tensor.extract %flag[] : tensor<i1>
  %either = scf.if %c -> tensor<8xf32> {
    scf.yield %a : tensor<8xf32>
  } else {
    scf.yield %b : tensor<8xf32>
  }
  %e = tensor.empty() : tensor<8xf32>
  %doubled = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %negated = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%either : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.negf %x : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  device.yield %doubled, %negated : tensor<8xf32>, tensor<8xf32>
}

// -----

// A loop writes to one of two tensors from the other, and back: it copies neither.
// CHECK-LABEL: func.func @back_and_forth(
// CHECK: scf.for
// CHECK-NOT: linalg.copy
// CHECK: memref.store
// CHECK-NOT: linalg.copy
// CHECK: memref.store
// CHECK-NOT: linalg.copy
// CHECK: }
device.kernel @back_and_forth(%a: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a, %y = %a) -> (tensor<8xf32>, tensor<8xf32>) {
    %there = scf.for %j = %c0 to %c8 step %c1 iter_args(%to = %y) -> (tensor<8xf32>) {
      %k = arith.subi %c8, %j : index
      %l = arith.subi %k, %c1 : index
      %e = tensor.extract %x[%l] : tensor<8xf32>
      %n = tensor.insert %e into %to[%j] : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    %back = scf.for %j = %c0 to %c8 step %c1 iter_args(%to = %x) -> (tensor<8xf32>) {
      %e = tensor.extract %there[%j] : tensor<8xf32>
      %s = arith.addf %e, %e : f32
      %n = tensor.insert %s into %to[%j] : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    scf.yield %back, %there : tensor<8xf32>, tensor<8xf32>
  }
  device.yield %r#0 : tensor<8xf32>
}
