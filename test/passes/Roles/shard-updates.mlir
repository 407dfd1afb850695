// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(shard-updates,canonicalize))' | FileCheck %s

#same = affine_map<(i, j) -> (i, j)>
collective.group @all

// Gradient descent is computed for each shard, with its own rows of the gradient.
// CHECK-LABEL: func.func @descend
// CHECK-SAME: (%[[A:.*]]: tensor<3x2xf32>, %[[B:.*]]: tensor<2x2xf32>, %[[G:.*]]: tensor<5x2xf32>)
func.func @descend(%a: tensor<3x2xf32>, %b: tensor<2x2xf32>, %g: tensor<5x2xf32>) -> (tensor<3x2xf32>, tensor<2x2xf32>) {
  // CHECK-NOT: tensor.concat
  // CHECK-DAG: %[[GA:.*]] = tensor.extract_slice %[[G]][0, 0] [3, 2] [1, 1]
  // CHECK-DAG: %[[HA:.*]] = collective.start all_reduce sum @all(%[[GA]] : tensor<3x2xf32>)
  // CHECK-DAG: %[[SA:.*]] = collective.wait %[[HA]]
  // CHECK-DAG: %[[GB:.*]] = tensor.extract_slice %[[G]][3, 0] [2, 2] [1, 1]
  // CHECK-DAG: %[[HB:.*]] = collective.start all_reduce sum @all(%[[GB]] : tensor<2x2xf32>)
  // CHECK-DAG: %[[SB:.*]] = collective.wait %[[HB]]
  // CHECK-NOT: tensor<5x2xf32>) ->
  // CHECK-DAG: %[[NA:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[SA]] : tensor<3x2xf32>, tensor<3x2xf32>)
  // CHECK-DAG: %[[NB:.*]] = linalg.generic {{.*}} ins(%[[B]], %[[SB]] : tensor<2x2xf32>, tensor<2x2xf32>)
  // CHECK: return %[[NA]], %[[NB]]
  %w = tensor.concat dim(0) %a, %b : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %h = collective.start all_reduce sum @all (%g : tensor<5x2xf32>) -> <tensor<5x2xf32>>
  %s = collective.wait %h (%g : tensor<5x2xf32>) : <tensor<5x2xf32>> -> tensor<5x2xf32>
  %e = tensor.empty() : tensor<5x2xf32>
  %n = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%w, %s : tensor<5x2xf32>, tensor<5x2xf32>) outs(%e : tensor<5x2xf32>) {
  ^bb0(%old: f32, %gradient: f32, %out: f32):
    %0 = arith.subf %old, %gradient : f32
    linalg.yield %0 : f32
  } -> tensor<5x2xf32>
  %na = tensor.extract_slice %n[0, 0] [3, 2] [1, 1] {replica.shard_of_value} : tensor<5x2xf32> to tensor<3x2xf32>
  %nb = tensor.extract_slice %n[3, 0] [2, 2] [1, 1] {replica.shard_of_value} : tensor<5x2xf32> to tensor<2x2xf32>
  return %na, %nb : tensor<3x2xf32>, tensor<2x2xf32>
}

// If the whole sum is needed anyway, it is exchanged once.
// CHECK-LABEL: func.func @needed
func.func @needed(%g: tensor<5x2xf32>) -> (tensor<3x2xf32>, tensor<5x2xf32>) {
  // CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<5x2xf32>)
  // CHECK: %[[S:.*]] = collective.wait
  // CHECK: %[[A:.*]] = tensor.extract_slice %[[S]]
  // CHECK: return %[[A]], %[[S]]
  %h = collective.start all_reduce sum @all (%g : tensor<5x2xf32>) -> <tensor<5x2xf32>>
  %s = collective.wait %h (%g : tensor<5x2xf32>) : <tensor<5x2xf32>> -> tensor<5x2xf32>
  %a = tensor.extract_slice %s[0, 0] [3, 2] [1, 1] {replica.shard_of_value} : tensor<5x2xf32> to tensor<3x2xf32>
  return %a, %s : tensor<3x2xf32>, tensor<5x2xf32>
}

// Slices in the user's program are left alone.
// CHECK-LABEL: func.func @other
func.func @other(%g: tensor<5x2xf32>) -> tensor<3x2xf32> {
  // CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<5x2xf32>)
  %h = collective.start all_reduce sum @all (%g : tensor<5x2xf32>) -> <tensor<5x2xf32>>
  %s = collective.wait %h (%g : tensor<5x2xf32>) : <tensor<5x2xf32>> -> tensor<5x2xf32>
  %a = tensor.extract_slice %s[0, 0] [3, 2] [1, 1] : tensor<5x2xf32> to tensor<3x2xf32>
  return %a : tensor<3x2xf32>
}
