// RUN: lockstep-opt %s --allow-unregistered-dialect --import-stablehlo --canonicalize --cse --split-input-file --verify-each | FileCheck %s

// A merge sort of each row: passes of runs of 1, 2, 4, 8 elements, from the row to the scratch space and back; the right element goes first only if it is less, so
// that equal ones keep their order. The second operand follows the first.
// CHECK-LABEL: func @sort
// CHECK-SAME: (%[[X:.*]]: tensor<3x6xf32>, %[[Y:.*]]: tensor<3x6xi32>)
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[C6:.*]] = arith.constant 6 : index
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %[[C3]]
// CHECK: %[[A:.*]] = tensor.extract_slice %{{.*}}[%[[ROW]], 0] [1, 6] [1, 1] : tensor<3x6xf32> to tensor<6xf32>
// CHECK: %[[B:.*]] = tensor.extract_slice %{{.*}}[%[[ROW]], 0] [1, 6] [1, 1] : tensor<3x6xi32> to tensor<6xi32>
// CHECK: scf.for %[[PASS:.*]] = %{{.*}} to %[[C3]] step %c2 iter_args(%[[KEYS:.*]] = %[[A]], %[[VALUES:.*]] = %[[B]], %[[KEYS2:.*]] = %[[A]], %[[VALUES2:.*]] = %[[B]])
// CHECK: %[[WIDTH:.*]] = arith.shli %[[C1]], %[[PASS]]
// CHECK: %[[TWICE:.*]] = arith.addi %[[WIDTH]], %[[WIDTH]]
// CHECK: %[[MERGED:.*]]:2 = scf.for %[[LOW:.*]] = %{{.*}} to %[[C6]] step %[[TWICE]] iter_args(%{{.*}} = %[[KEYS2]], %{{.*}} = %[[VALUES2]])
// CHECK: scf.for %[[K:.*]] = %[[LOW]] to
// CHECK: %[[L:.*]] = tensor.extract %[[KEYS]]
// CHECK: %[[R:.*]] = tensor.extract %[[KEYS]]
// CHECK: tensor.extract %[[VALUES]]
// CHECK: tensor.extract %[[VALUES]]
// CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[R]], %[[L]] : f32
// CHECK: tensor.insert %{{.*}}[%[[K]]] : tensor<6xf32>
// CHECK: tensor.insert %{{.*}}[%[[K]]] : tensor<6xi32>
// CHECK: %[[BACK:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[KEYS]], %{{.*}} = %[[VALUES]])
// CHECK: tensor.extract %[[MERGED]]#0
// CHECK: tensor.insert %
// CHECK: scf.yield %[[BACK]]#0, %[[BACK]]#1, %[[MERGED]]#0, %[[MERGED]]#1
// CHECK: tensor.insert_slice
// CHECK: tensor.insert_slice
#scalar = affine_map<() -> ()>
func.func @sort(%x: tensor<3x6xf32>, %y: tensor<3x6xi32>) -> (tensor<3x6xf32>, tensor<3x6xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %e = tensor.empty() : tensor<i1>
    %s = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%a, %b : tensor<f32>, tensor<f32>) outs(%e : tensor<i1>) {
    ^bb0(%in: f32, %in2: f32, %out: i1):
      %1 = arith.cmpf olt, %in, %in2 : f32
      linalg.yield %1 : i1
    } -> tensor<i1>
    "stablehlo.return"(%s) : (tensor<i1>) -> ()
  }) : (tensor<3x6xf32>, tensor<3x6xi32>) -> (tensor<3x6xf32>, tensor<3x6xi32>)
  return %0#0, %0#1 : tensor<3x6xf32>, tensor<3x6xi32>
}
