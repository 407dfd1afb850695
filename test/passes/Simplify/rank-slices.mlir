// RUN: lockstep-opt %s --pass-pipeline='builtin.module(func.func(simplify-collectives))' --split-input-file | FileCheck %s
// Each of three ranks uses only its own two rows of the sum, so it receives only these.
// CHECK-LABEL: func.func @own_rows(
// CHECK: collective.start reduce_scatter sum @all axis 0(%{{.*}} : tensor<6x4xf32>) -> <tensor<2x4xf32>>
// CHECK: %[[P:.*]] = collective.wait
// CHECK-NOT: tensor.extract_slice
// CHECK: return %[[P]]
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3}
collective.group @all
func.func @own_rows(%x: tensor<6x4xf32> {device.binding = #device.binding<batch "x">}, %rank: tensor<i32> {device.binding = #device.binding<rank "">}) -> tensor<2x4xf32> {
  %r = tensor.extract %rank[] : tensor<i32>
  %i = arith.index_cast %r : i32 to index
  %two = arith.constant 2 : index
  %row = arith.muli %i, %two : index
  %h = collective.start all_reduce sum @all (%x : tensor<6x4xf32>) -> !collective.pending<tensor<6x4xf32>>
  %s = collective.wait %h (%x : tensor<6x4xf32>) : !collective.pending<tensor<6x4xf32>> -> tensor<6x4xf32>
  %p = tensor.extract_slice %s[%row, 0] [2, 4] [1, 1] : tensor<6x4xf32> to tensor<2x4xf32>
  return %p : tensor<2x4xf32>
}

// A slice of other rows, and another use of the sum, need the whole sum.
// CHECK-LABEL: func.func @other_rows(
// CHECK-COUNT-2: collective.start all_reduce
// CHECK-NOT: reduce_scatter
func.func @other_rows(%x: tensor<6x4xf32> {device.binding = #device.binding<batch "x">}, %rank: tensor<i32> {device.binding = #device.binding<rank "">})
    -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<6x4xf32>) {
  %r = tensor.extract %rank[] : tensor<i32>
  %i = arith.index_cast %r : i32 to index
  %two = arith.constant 2 : index
  %row = arith.muli %i, %two : index
  %h = collective.start all_reduce sum @all (%x : tensor<6x4xf32>) -> !collective.pending<tensor<6x4xf32>>
  %s = collective.wait %h (%x : tensor<6x4xf32>) : !collective.pending<tensor<6x4xf32>> -> tensor<6x4xf32>
  %p = tensor.extract_slice %s[%i, 0] [2, 4] [1, 1] : tensor<6x4xf32> to tensor<2x4xf32>
  %k = collective.start all_reduce max @all (%x : tensor<6x4xf32>) -> !collective.pending<tensor<6x4xf32>>
  %m = collective.wait %k (%x : tensor<6x4xf32>) : !collective.pending<tensor<6x4xf32>> -> tensor<6x4xf32>
  %q = tensor.extract_slice %m[%row, 0] [2, 4] [1, 1] : tensor<6x4xf32> to tensor<2x4xf32>
  return %p, %q, %m : tensor<2x4xf32>, tensor<2x4xf32>, tensor<6x4xf32>
}

// An all_gather of the result of a reduce_scatter is an all_reduce, unless that result has another use.
// CHECK-LABEL: func.func @gathered_parts(
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<6xf32>)
// CHECK: collective.start reduce_scatter max
// CHECK: collective.start all_gather
func.func @gathered_parts(%x: tensor<6xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<6xf32>, tensor<6xf32>, tensor<2xf32>) {
  %h0 = collective.start reduce_scatter sum @all axis 0 (%x : tensor<6xf32>) -> !collective.pending<tensor<2xf32>>
  %p0 = collective.wait %h0 (%x : tensor<6xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  %h1 = collective.start all_gather none @all axis 0 (%p0 : tensor<2xf32>) -> !collective.pending<tensor<6xf32>>
  %s1 = collective.wait %h1 (%p0 : tensor<2xf32>) : !collective.pending<tensor<6xf32>> -> tensor<6xf32>
  %h2 = collective.start reduce_scatter max @all axis 0 (%x : tensor<6xf32>) -> !collective.pending<tensor<2xf32>>
  %p2 = collective.wait %h2 (%x : tensor<6xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  %h3 = collective.start all_gather none @all axis 0 (%p2 : tensor<2xf32>) -> !collective.pending<tensor<6xf32>>
  %s3 = collective.wait %h3 (%p2 : tensor<2xf32>) : !collective.pending<tensor<6xf32>> -> tensor<6xf32>
  return %s1, %s3, %p2 : tensor<6xf32>, tensor<6xf32>, tensor<2xf32>
}

// An all_gather of the slices that ranks take of a uniform value is that value.
// CHECK-LABEL: func.func @parts_of_a_uniform_value(
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<6xf32>
// CHECK-NOT: collective.start
// CHECK: return %[[W]]
func.func @parts_of_a_uniform_value(%w: tensor<6xf32> {device.binding = #device.binding<scalar "w">}, %rank: tensor<i32> {device.binding = #device.binding<rank "">})
    -> tensor<6xf32> {
  %r = tensor.extract %rank[] : tensor<i32>
  %i = arith.index_cast %r : i32 to index
  %two = arith.constant 2 : index
  %row = arith.muli %i, %two : index
  %p = tensor.extract_slice %w[%row] [2] [1] : tensor<6xf32> to tensor<2xf32>
  %h = collective.start all_gather none @all axis 0 (%p : tensor<2xf32>) -> !collective.pending<tensor<6xf32>>
  %s = collective.wait %h (%p : tensor<2xf32>) : !collective.pending<tensor<6xf32>> -> tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

// The division and the rounding of a mean are computed on each rank's own rows.
// CHECK-LABEL: func.func @own_rows_of_a_mean(
// CHECK: collective.start reduce_scatter sum @all axis 0(%{{.*}} : tensor<6x4xf32>) -> <tensor<2x4xf32>>
// CHECK: %[[P:.*]] = collective.wait
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<2x4xf32>) outs(%{{.*}} : tensor<2x4xf32>)
// CHECK: arith.mulf
// CHECK: %[[C:.*]] = arith.constant dense<3.000000e+00> : tensor<2x4xf32>
// CHECK: %[[D:.*]] = arith.divf %[[M]], %[[C]] : tensor<2x4xf32>
// CHECK: %[[T:.*]] = arith.truncf %[[D]] : tensor<2x4xf32> to tensor<2x4xbf16>
// CHECK-NOT: tensor.extract_slice
// CHECK: return %[[T]], %[[T]]
#id = affine_map<(d0, d1) -> (d0, d1)>
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 3}
collective.group @all
func.func @own_rows_of_a_mean(%x: tensor<6x4xf32> {device.binding = #device.binding<batch "x">}, %rank: tensor<i32> {device.binding = #device.binding<rank "">})
    -> (tensor<2x4xbf16>, tensor<2x4xbf16>) {
  %r = tensor.extract %rank[] : tensor<i32>
  %i = arith.index_cast %r : i32 to index
  %two = arith.constant 2 : index
  %row = arith.muli %i, %two : index
  %third = arith.constant 0.3333 : f32
  %three = arith.constant dense<3.0> : tensor<6x4xf32>
  %h = collective.start all_reduce sum @all (%x : tensor<6x4xf32>) -> !collective.pending<tensor<6x4xf32>>
  %s = collective.wait %h (%x : tensor<6x4xf32>) : !collective.pending<tensor<6x4xf32>> -> tensor<6x4xf32>
  %e = tensor.empty() : tensor<6x4xf32>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %scaled = arith.mulf %in, %third : f32
    linalg.yield %scaled : f32
  } -> tensor<6x4xf32>
  %d = arith.divf %m, %three : tensor<6x4xf32>
  %t = arith.truncf %d : tensor<6x4xf32> to tensor<6x4xbf16>
  %p = tensor.extract_slice %t[%row, 0] [2, 4] [1, 1] : tensor<6x4xbf16> to tensor<2x4xbf16>
  %q = tensor.extract_slice %t[%row, 0] [2, 4] [1, 1] : tensor<6x4xbf16> to tensor<2x4xbf16>
  return %p, %q : tensor<2x4xbf16>, tensor<2x4xbf16>
}

// The whole sum is needed by an operation that depends on the position of an element or on other rows, and by one that has another user.
// CHECK-LABEL: func.func @all_rows_of_a_mean(
// CHECK-COUNT-3: collective.start all_reduce
// CHECK-NOT: reduce_scatter
// CHECK: return
func.func @all_rows_of_a_mean(%x: tensor<6x4xf32> {device.binding = #device.binding<batch "x">}, %rank: tensor<i32> {device.binding = #device.binding<rank "">})
    -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<6x4xf32>) {
  %r = tensor.extract %rank[] : tensor<i32>
  %i = arith.index_cast %r : i32 to index
  %two = arith.constant 2 : index
  %row = arith.muli %i, %two : index
  %three = arith.constant dense<3.0> : tensor<6x4xf32>
  %weights = arith.constant dense<[[1., 2., 3., 4.], [1., 2., 3., 4.], [1., 2., 3., 4.], [1., 2., 3., 4.], [1., 2., 3., 4.], [1., 2., 3., 4.]]> : tensor<6x4xf32>
  %h0 = collective.start all_reduce sum @all (%x : tensor<6x4xf32>) -> !collective.pending<tensor<6x4xf32>>
  %s0 = collective.wait %h0 (%x : tensor<6x4xf32>) : !collective.pending<tensor<6x4xf32>> -> tensor<6x4xf32>
  %e = tensor.empty() : tensor<6x4xf32>
  %m0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s0 : tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = linalg.index 0 : index
    %k = arith.index_cast %n : index to i32
    %f = arith.sitofp %k : i32 to f32
    %scaled = arith.mulf %in, %f : f32
    linalg.yield %scaled : f32
  } -> tensor<6x4xf32>
  %p0 = tensor.extract_slice %m0[%row, 0] [2, 4] [1, 1] : tensor<6x4xf32> to tensor<2x4xf32>
  %h1 = collective.start all_reduce max @all (%x : tensor<6x4xf32>) -> !collective.pending<tensor<6x4xf32>>
  %s1 = collective.wait %h1 (%x : tensor<6x4xf32>) : !collective.pending<tensor<6x4xf32>> -> tensor<6x4xf32>
  %m1 = arith.mulf %s1, %weights : tensor<6x4xf32>
  %p1 = tensor.extract_slice %m1[%row, 0] [2, 4] [1, 1] : tensor<6x4xf32> to tensor<2x4xf32>
  %h2 = collective.start all_reduce min @all (%x : tensor<6x4xf32>) -> !collective.pending<tensor<6x4xf32>>
  %s2 = collective.wait %h2 (%x : tensor<6x4xf32>) : !collective.pending<tensor<6x4xf32>> -> tensor<6x4xf32>
  %m2 = arith.divf %s2, %three : tensor<6x4xf32>
  %p2 = tensor.extract_slice %m2[%row, 0] [2, 4] [1, 1] : tensor<6x4xf32> to tensor<2x4xf32>
  return %p0, %p1, %p2, %m2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<6x4xf32>
}
