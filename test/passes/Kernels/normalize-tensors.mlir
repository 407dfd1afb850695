// RUN: lockstep-opt %s --normalize-tensors --split-input-file | FileCheck %s

// A tensor without elements becomes a tensor.empty, and a loop that computes one is erased.
// CHECK-LABEL: @empty(
// CHECK-NEXT: %[[A:.*]] = tensor.empty() : tensor<0xf32>
// CHECK-NEXT: %[[B:.*]] = tensor.empty() : tensor<0xf32>
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @empty(%a: tensor<4x0xf32>, %lb: index, %ub: index, %step: index) -> (tensor<0xf32>, tensor<0xf32>) {
  %0 = tensor.collapse_shape %a [[0, 1]] : tensor<4x0xf32> into tensor<0xf32>
  %1 = scf.for %i = %lb to %ub step %step iter_args(%t = %0) -> tensor<0xf32> {
    %2 = arith.addf %t, %t : tensor<0xf32>
    scf.yield %2 : tensor<0xf32>
  }
  return %0, %1 : tensor<0xf32>, tensor<0xf32>
}

// -----

// A collective is never erased, whatever its operands are.
// CHECK-LABEL: @exchange(
// CHECK: collective.start all_gather
collective.group @all
func.func @exchange(%a: tensor<0xf32>) -> tensor<0xf32> {
  %h = collective.start all_gather none @all axis 0 (%a : tensor<0xf32>) -> !collective.pending<tensor<0xf32>>
  %g = collective.wait %h (%a : tensor<0xf32>) : !collective.pending<tensor<0xf32>> -> tensor<0xf32>
  return %g : tensor<0xf32>
}

// -----

// A reduction over no elements becomes its initial value, whatever its combiner is.
// CHECK-LABEL: @no_elements(
// CHECK-SAME: %{{.*}}: tensor<3x0xi64>, %[[INIT:.*]]: tensor<3xi64>)
// CHECK-NEXT: return %[[INIT]]
func.func @no_elements(%a: tensor<3x0xi64>, %init: tensor<3xi64>) -> tensor<3xi64> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<3x0xi64>) outs(%init : tensor<3xi64>) {
  ^bb0(%x: i64, %sum: i64):
    %zero = arith.constant 0 : i64
    %1 = arith.minui %sum, %zero : i64
    linalg.yield %1 : i64
  } -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// -----

// Strides of dimensions of size one become one; other strides stay.
// CHECK-LABEL: @strides(
// CHECK: tensor.extract_slice %{{.*}}[7, 1] [1, 2] [1, 2] : tensor<8x4xf32> to tensor<2xf32>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[7, 0] [1, 2] [1, 3]
func.func @strides(%b: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = tensor.extract_slice %b[7, 1] [1, 2] [3, 2] : tensor<8x4xf32> to tensor<2xf32>
  %1 = tensor.insert_slice %0 into %b[7, 0] [1, 2] [2, 3] : tensor<2xf32> into tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// An operation that may not write all elements of its result becomes a loop of insertions into the initial value: a diagonal, and the
// last element of each row, which does not exist if there are no columns.
// CHECK-LABEL: func.func @diagonal
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[HELD:.*]] = %arg1) -> (tensor<3x3xf32>) {
// CHECK:   tensor.insert_slice %{{.*}} into %[[HELD]][%[[I]], %[[I]]] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<3x3xf32>
func.func @diagonal(%x: tensor<3xf32>, %into: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i, i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<3xf32>) outs(%into : tensor<3x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// CHECK-LABEL: func.func @last_of_each_row
// CHECK: scf.for
// CHECK: scf.for
func.func @last_of_each_row(%x: tensor<3x?xf32>, %into: tensor<3xf32>) -> tensor<3xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x?xf32>) outs(%into : tensor<3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
