// RUN: lockstep-opt %s --allow-unregistered-dialect --import-stablehlo --canonicalize --cse --split-input-file --verify-each | FileCheck %s

#scalar = affine_map<() -> ()>

// The gradient of rows taken by index: each update is added to the row that its index names, in order, and one whose
// index is out of range is dropped. The computation of the region is done on scalars.
// CHECK-LABEL: func @rows
// CHECK-SAME: (%[[X:.*]]: tensor<8x3xf32>, %[[I:.*]]: tensor<5x1xi32>, %[[U:.*]]: tensor<5x3xf32>)
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C5:.*]] = arith.constant 5 : index
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
// CHECK: %[[R:.*]] = scf.for %[[N:.*]] = %[[C0]] to %[[C5]] {{.*}} iter_args(%[[A:.*]] = %[[X]])
// CHECK: %[[E:.*]] = tensor.extract %[[I]][%[[N]], %[[C0]]]
// CHECK: %[[ROW:.*]] = arith.index_cast %[[E]] : i32 to index
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[ROW]], %[[C8]] : index
// CHECK: %[[NEXT:.*]] = scf.if %[[INSIDE]]
// CHECK: scf.for %[[D:.*]] = {{.*}} iter_args(%[[B:.*]] = %[[A]])
// CHECK: %[[OLD:.*]] = tensor.extract %[[B]][%[[ROW]], %[[D]]]
// CHECK: %[[UPDATE:.*]] = tensor.extract %[[U]][%[[N]], %[[D]]]
// CHECK: %[[SUM:.*]] = arith.addf %[[OLD]], %[[UPDATE]] : f32
// CHECK: %[[NEW:.*]] = tensor.insert %[[SUM]] into %[[B]][%[[ROW]], %[[D]]]
// CHECK: scf.yield %[[NEW]]
// CHECK: } else {
// CHECK: scf.yield %[[A]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: return %[[R]]
func.func @rows(%x: tensor<8x3xf32>, %i: tensor<5x1xi32>, %u: tensor<5x3xf32>) -> tensor<8x3xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %e = tensor.empty() : tensor<f32>
    %s = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%a, %b : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %1 = arith.addf %in, %in2 : f32
      linalg.yield %1 : f32
    } -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<8x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// -----

// The gradient of take_along_axis: along a batching dimension, the index is that of the update. A region that returns its
// second argument overwrites, so the old value is not read.
// CHECK-LABEL: func @batched
// CHECK-SAME: (%[[X:.*]]: tensor<4x10xf32>, %[[I:.*]]: tensor<4x1x1xi32>, %[[U:.*]]: tensor<4x1xf32>)
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C10:.*]] = arith.constant 10 : index
// CHECK: scf.for %[[N:.*]] = {{.*}} iter_args(%[[A:.*]] = %[[X]])
// CHECK: %[[E:.*]] = tensor.extract %[[I]][%[[N]], %[[C0]], %[[C0]]]
// CHECK: %[[COLUMN:.*]] = arith.index_cast %[[E]]
// CHECK: arith.cmpi ult, %[[COLUMN]], %[[C10]]
// CHECK-NOT: tensor.extract %[[A]]
// CHECK: %[[UPDATE:.*]] = tensor.extract %[[U]][%[[N]], %[[C0]]]
// CHECK: tensor.insert %[[UPDATE]] into %[[A]][%[[N]], %[[COLUMN]]]
func.func @batched(%x: tensor<4x10xf32>, %i: tensor<4x1x1xi32>, %u: tensor<4x1xf32>) -> tensor<4x10xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<4x10xf32>, tensor<4x1x1xi32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// -----

// A window of several rows is dropped unless all of it is inside: it may start at 0, 1 or 2 of 4. The indices are
// scalars here (no index vector) and unsigned. Several inputs are updated together.
// CHECK-LABEL: func @windows
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xi32>, %[[I:.*]]: tensor<5xi32> {replica.unsigned}
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK: scf.for %[[N:.*]] = {{.*}} iter_args(%{{.*}} = %[[X]], %{{.*}} = %[[Y]]) -> (tensor<4xf32>, tensor<4xi32>)
// CHECK: %[[E:.*]] = tensor.extract %[[I]][%[[N]]]
// CHECK: %[[START:.*]] = arith.index_castui %[[E]]
// CHECK: arith.cmpi ult, %[[START]], %[[C3]]
// CHECK: scf.for %[[D:[a-z0-9]+]] = %{{.*}}
// CHECK: %[[ROW:.*]] = arith.addi %[[START]], %[[D]]
// CHECK: tensor.insert %{{.*}} into %{{.*}}[%[[ROW]]] : tensor<4xf32>
// CHECK: tensor.insert %{{.*}} into %{{.*}}[%[[ROW]]] : tensor<4xi32>
func.func @windows(%x: tensor<4xf32>, %y: tensor<4xi32>, %i: tensor<5xui32>, %u: tensor<5x2xf32>, %v: tensor<5x2xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    "stablehlo.return"(%c, %d) : (tensor<f32>, tensor<i32>) -> ()
  }) : (tensor<4xf32>, tensor<4xi32>, tensor<5xui32>, tensor<5x2xf32>, tensor<5x2xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
}

// -----

// The same into zeros: an element is the update where its number is the index of its batch, without a loop over the updates.
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[INDEX:.*]] = affine_map<(d0, d1) -> (d0, 0, 0)>
// CHECK-DAG: #[[UPDATE:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-LABEL: func @into_zeros
// CHECK-SAME: (%[[I:.*]]: tensor<4x1x1xi32>, %[[U:.*]]: tensor<4x1xf32>)
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[SUMS:.*]] = linalg.generic {{.*}} ins(%[[U]] : tensor<4x1xf32>)
// CHECK: arith.addf %{{.*}}, %[[ZERO]]
// CHECK: linalg.generic {indexing_maps = [#[[INDEX]], #[[UPDATE]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[I]], %[[SUMS]] :
// CHECK: ^bb0(%[[INDEX_OF:.*]]: i32, %[[SUM:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[NUMBER:.*]] = linalg.index 1
// CHECK: %[[CAST:.*]] = arith.index_cast %[[NUMBER]] : index to i32
// CHECK: %[[HERE:.*]] = arith.cmpi eq, %[[INDEX_OF]], %[[CAST]] : i32
// CHECK: arith.select %[[HERE]], %[[SUM]], %[[ZERO]]
// CHECK-NOT: scf.for
#scalar = affine_map<() -> ()>
func.func @into_zeros(%i: tensor<4x1x1xi32>, %u: tensor<4x1xf32>) -> tensor<4x10xf32> {
  %x = arith.constant dense<0.0> : tensor<4x10xf32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %e = tensor.empty() : tensor<f32>
    %s = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%b, %a : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %1 = arith.addf %in, %in2 : f32
      linalg.yield %1 : f32
    } -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x10xf32>, tensor<4x1x1xi32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// -----

// Indices of 8 bits of 200 elements: compared in 8 bits, the negative index -56, which is out of range, would be 200.
// CHECK-LABEL: func @small_indices
// CHECK: ^bb0(%[[INDEX:.*]]: i8, %{{.*}}: f32, %{{.*}}: f32):
// CHECK: %[[NUMBER:.*]] = linalg.index 1
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[INDEX]] : i8 to index
// CHECK: arith.cmpi eq, %[[WIDE]], %[[NUMBER]] : index
func.func @small_indices(%i: tensor<4x1xi8>, %u: tensor<4xf32>) -> tensor<4x200xf32> {
  %x = arith.constant dense<0.0> : tensor<4x200xf32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<4x200xf32>, tensor<4x1xi8>, tensor<4xf32>) -> tensor<4x200xf32>
  return %0 : tensor<4x200xf32>
}

// -----

// Several updates of a batch: the same element may have more than one of them.
// CHECK-LABEL: func @several
// CHECK: scf.for
// CHECK: scf.for
func.func @several(%i: tensor<4x3x1xi32>, %u: tensor<4x3xf32>) -> tensor<4x10xf32> {
  %x = arith.constant dense<0.0> : tensor<4x10xf32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<4x10xf32>, tensor<4x3x1xi32>, tensor<4x3xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}
