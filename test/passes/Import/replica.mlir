// RUN: lockstep-opt %s --allow-unregistered-dialect --import-stablehlo --split-input-file --verify-each | FileCheck %s

// CHECK-LABEL: replica.step @all_reduce
// CHECK: replica.all_reduce mean %{{.*}}, %{{.*}} {bytes_per_pack = 1024 : i64} : tensor<4xf32>, tensor<f32>
// CHECK: replica.all_reduce sum %{{.*}} : tensor<4xf32>
replica.step @all_reduce(%x: tensor<4xf32>, %y: tensor<f32>) {
  %0:2 = "stablehlo.custom_call"(%x, %y) <{call_target_name = "replica.all_reduce", has_side_effect = true, backend_config = {reduction = "MEAN", bytes_per_pack = 1024 : i64}}> : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
  %1 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.all_reduce", has_side_effect = true, backend_config = {reduction = "SUM"}}> : (tensor<4xf32>) -> tensor<4xf32>
  replica.return
}

// -----

// CHECK-LABEL: replica.step @all_gather
// CHECK: replica.all_gather %{{.*}} axis 1 : tensor<2x3xf32> -> tensor<2x12xf32>
replica.step @all_gather(%x: tensor<2x3xf32>) {
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.all_gather", has_side_effect = true, backend_config = {axis = 1 : i64}}> : (tensor<2x3xf32>) -> tensor<2x12xf32>
  replica.return
}

// -----

// CHECK-LABEL: replica.step @numbers
// CHECK: replica.id : tensor<i32>
// CHECK: replica.num_in_sync : tensor<i32>
replica.step @numbers() {
  %0 = "stablehlo.custom_call"() <{call_target_name = "replica.id", has_side_effect = true, backend_config = {}}> : () -> tensor<i32>
  %1 = "stablehlo.custom_call"() <{call_target_name = "replica.num_in_sync", has_side_effect = true, backend_config = {}}> : () -> tensor<i32>
  replica.return
}

// -----

// A lookup in a variable becomes replica.lookup; in another table, a gather of its rows. The gradient becomes slices_to_dense.
// CHECK-LABEL: replica.step @rows
replica.variable @t : tensor<8x2xf32>
replica.step @rows(%ids: tensor<3xi32>) {
  %t = replica.read @t : tensor<8x2xf32>
  %u = arith.negf %t : tensor<8x2xf32>
  // CHECK: %[[ROWS:.*]] = replica.lookup @t, %{{.*}} : tensor<3xi32> -> tensor<3x2xf32>
  %0 = "stablehlo.custom_call"(%t, %ids) <{call_target_name = "replica.lookup", has_side_effect = false, backend_config = {}}> : (tensor<8x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  // CHECK: linalg.generic
  // CHECK: tensor.extract
  %1 = "stablehlo.custom_call"(%u, %ids) <{call_target_name = "replica.lookup", has_side_effect = false, backend_config = {}}> : (tensor<8x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  // CHECK: replica.slices_to_dense %[[ROWS]] at %{{.*}} : tensor<3x2xf32>, tensor<3xi32> -> tensor<8x2xf32>
  %2 = "stablehlo.custom_call"(%0, %ids) <{call_target_name = "replica.slices_to_dense", has_side_effect = false, backend_config = {}}> : (tensor<3x2xf32>, tensor<3xi32>) -> tensor<8x2xf32>
  replica.return
}

// -----

// CHECK-LABEL: replica.step @attention
// CHECK: %[[OUTPUT:.*]]:2 = device.attention causal scale 2.500000e-01 ins(%[[Q:.*]], %[[K:.*]], %[[K]] :
// CHECK: device.attention_gradient scale 2.500000e-01 ins(%[[Q]], %[[K]], %[[K]], %[[OUTPUT]]#0, %[[OUTPUT]]#1, %[[Q]] :
replica.step @attention(%q: tensor<2x4x3x8xf16>, %k: tensor<2x6x3x8xf16>) {
  %0:2 = "stablehlo.custom_call"(%q, %k, %k) <{call_target_name = "lockstep.attention", backend_config = {scale = 0.25 : f64, causal = true}}>
      : (tensor<2x4x3x8xf16>, tensor<2x6x3x8xf16>, tensor<2x6x3x8xf16>) -> (tensor<2x4x3x8xf16>, tensor<2x3x4xf32>)
  %1:3 = "stablehlo.custom_call"(%q, %k, %k, %0#0, %0#1, %q) <{call_target_name = "lockstep.attention_gradient", backend_config = {scale = 0.25 : f64, causal = false}}>
      : (tensor<2x4x3x8xf16>, tensor<2x6x3x8xf16>, tensor<2x6x3x8xf16>, tensor<2x4x3x8xf16>, tensor<2x3x4xf32>, tensor<2x4x3x8xf16>)
      -> (tensor<2x4x3x8xf16>, tensor<2x6x3x8xf16>, tensor<2x6x3x8xf16>)
  replica.return
}
