// RUN: lockstep-opt %s --fill-unwritten --split-input-file -verify-diagnostics | FileCheck %s

// A tensor.empty that is overwritten as a whole stays: the operations have a loop for each dimension; broadcasts and transposes are among them.
// CHECK-LABEL: func.func @overwritten
// CHECK-NOT: linalg.fill
// CHECK: return
#id = affine_map<(i, j) -> (i, j)>
#transposed = affine_map<(i, j) -> (j, i)>
#row = affine_map<(i, j) -> (j)>
func.func @overwritten(%x: tensor<4x3xf32>, %v: tensor<3xf32>) -> (tensor<3x4xf32>, tensor<4x3xf32>) {
  %a = tensor.empty() : tensor<3x4xf32>
  %b = tensor.empty() : tensor<4x3xf32>
  %0 = linalg.generic {indexing_maps = [#id, #transposed], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x3xf32>) outs(%a : tensor<3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x4xf32>
  %1 = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<3xf32>) outs(%b : tensor<4x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x3xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<4x3xf32>
}

// A tensor.empty that is covered by insertions stays.
// CHECK-LABEL: func.func @inserted
// CHECK-NOT: linalg.fill
// CHECK: return
func.func @inserted(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>, %n: f32) -> (tensor<3x3xf32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.empty() : tensor<3x3xf32>
  %0 = tensor.insert_slice %x into %a[1, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<3x3xf32>
  %1 = tensor.insert_slice %y into %0[0, 0] [1, 3] [1, 1] : tensor<1x3xf32> into tensor<3x3xf32>
  %b = tensor.empty() : tensor<2xf32>
  %2 = tensor.insert %n into %b[%c1] : tensor<2xf32>
  %3 = tensor.insert %n into %2[%c0] : tensor<2xf32>
  return %1, %3 : tensor<3x3xf32>, tensor<2xf32>
}

// A tensor.empty stays if only its size is used, as that of a pooling window is.
// CHECK-LABEL: func.func @sizes
// CHECK-NOT: linalg.fill
// CHECK: return
func.func @sizes(%x: tensor<1x1x8xf32>, %init: tensor<1x1x7xf32>) -> (tensor<1x1x7xf32>, index) {
  %c0 = arith.constant 0 : index
  %window = tensor.empty() : tensor<2xf32>
  %0 = linalg.pooling_ncw_max {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>}
      ins(%x, %window : tensor<1x1x8xf32>, tensor<2xf32>) outs(%init : tensor<1x1x7xf32>) -> tensor<1x1x7xf32>
  %d = tensor.dim %window, %c0 : tensor<2xf32>
  return %0, %d : tensor<1x1x7xf32>, index
}

// A tensor.empty of dynamic size stays if it has the size of the input that overwrites it.
// CHECK-LABEL: func.func @dynamic
// CHECK: %[[E:.*]] = tensor.empty(%{{.*}}) : tensor<?xf32>
// CHECK-NEXT: linalg.generic {{.*}} ins(%{{.*}} : tensor<?xf32>) outs(%[[E]] : tensor<?xf32>)
// CHECK: %[[F:.*]] = tensor.empty(%arg1) : tensor<?xf32>
// CHECK: %[[Z:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[F]] : tensor<?xf32>)
// CHECK-NEXT: linalg.generic {{.*}} ins(%{{.*}} : tensor<?xf32>) outs(%[[Z]] : tensor<?xf32>)
#map = affine_map<(i) -> (i)>
func.func @dynamic(%x: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%d) : tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?xf32>
  // %f may be larger than its input, so it is filled.
  %f = tensor.empty(%n) : tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

// Only the users that may read unwritten elements get zeros.
// CHECK-LABEL: func.func @one_of_two
// CHECK: %[[E:.*]] = tensor.empty() : tensor<4xi32>
// CHECK: %[[Z:.*]] = linalg.fill ins(%{{.*}} : i32) outs(%[[E]] : tensor<4xi32>)
// CHECK: linalg.fill ins(%{{.*}} : i32) outs(%[[E]] : tensor<4xi32>)
// CHECK: tensor.insert %{{.*}} into %[[Z]][%{{.*}}] : tensor<4xi32>
func.func @one_of_two(%i: index, %n: i32) -> (tensor<4xi32>, tensor<4xi32>) {
  %e = tensor.empty() : tensor<4xi32>
  %0 = linalg.fill ins(%n : i32) outs(%e : tensor<4xi32>) -> tensor<4xi32>
  %1 = tensor.insert %n into %e[%i] : tensor<4xi32>
  return %0, %1 : tensor<4xi32>, tensor<4xi32>
}

// Unwritten elements may be read: those of a half that is not written, between strides, beside a diagonal, of an accumulator, of insertions
// that overlap, of a tensor that a branch or a loop yields, and of a maximum over no elements.
// CHECK-LABEL: func.func @seen
// CHECK-COUNT-8: linalg.fill
// CHECK-NOT: linalg.fill
// CHECK: return
#column = affine_map<(i, j) -> (i)>
#matrix = affine_map<(i, j) -> (i, j)>
#diagonal = affine_map<(i) -> (i, i)>
func.func @seen(%x: tensor<2xf32>, %none: tensor<2x0xf32>, %c: i1, %n: index)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %four = tensor.empty() : tensor<4xf32>
  %0 = tensor.insert_slice %x into %four[1] [2] [1] : tensor<2xf32> into tensor<4xf32>
  %four1 = tensor.empty() : tensor<4xf32>
  %1 = tensor.insert_slice %x into %four1[0] [2] [2] : tensor<2xf32> into tensor<4xf32>
  %square = tensor.empty() : tensor<2x2xf32>
  %2 = linalg.generic {indexing_maps = [#map, #diagonal], iterator_types = ["parallel"]} ins(%x : tensor<2xf32>) outs(%square : tensor<2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2xf32>
  %two = tensor.empty() : tensor<2xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<2xf32>) outs(%two : tensor<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %in, %out : f32
    linalg.yield %sum : f32
  } -> tensor<2xf32>
  %three = tensor.empty() : tensor<3xf32>
  %upper = tensor.insert_slice %x into %three[0] [2] [1] : tensor<2xf32> into tensor<3xf32>
  %4 = tensor.insert_slice %x into %upper[1] [2] [1] : tensor<2xf32> into tensor<3xf32>
  %two1 = tensor.empty() : tensor<2xf32>
  %5 = scf.if %c -> tensor<2xf32> {
    scf.yield %x : tensor<2xf32>
  } else {
    scf.yield %two1 : tensor<2xf32>
  }
  %two2 = tensor.empty() : tensor<2xf32>
  %6 = scf.for %i = %c0 to %n step %c1 iter_args(%held = %two2) -> tensor<2xf32> {
    scf.yield %x : tensor<2xf32>
  }
  %two3 = tensor.empty() : tensor<2xf32>
  %7 = linalg.generic {indexing_maps = [#matrix, #column], iterator_types = ["parallel", "reduction"]}
      ins(%none : tensor<2x0xf32>) outs(%two3 : tensor<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7
      : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// An alloc_tensor becomes the tensor that it copies, or zeros.
// CHECK-LABEL: func.func @allocated
// CHECK-NOT: bufferization.alloc_tensor
// CHECK: %[[E:.*]] = tensor.empty(%arg1) : tensor<?xf32>
// CHECK: %[[Z:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[E]] : tensor<?xf32>)
// CHECK: return %arg0, %[[Z]]
func.func @allocated(%x: tensor<2xf32>, %n: index) -> (tensor<2xf32>, tensor<?xf32>) {
  %0 = bufferization.alloc_tensor() copy(%x) : tensor<2xf32>
  %1 = bufferization.alloc_tensor(%n) : tensor<?xf32>
  return %0, %1 : tensor<2xf32>, tensor<?xf32>
}
