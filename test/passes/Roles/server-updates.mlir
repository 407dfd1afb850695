// RUN: lockstep-compile %s --stop-after=roles | FileCheck %s

// However an update is written, the server executes it: asynchronous workers would overwrite each other's updates otherwise.
replica.strategy @ps {kind = #replica.kind<parameter_server>, replicas = 1 : i64, servers = 1 : i64}
replica.variable @w : tensor<4xf32> {initial = dense<0.0> : tensor<4xf32>}
// CHECK-LABEL: func.func @step(
// CHECK-NOT: arith.subf
// CHECK: collective.start broadcast none @replicas_and_server0 root 0 channel 0(%{{.*}} : tensor<4xf32>) -> <>
// CHECK-NOT: arith.subf
// CHECK: return
// CHECK-LABEL: func.func @step.server0(
// CHECK: arith.subf
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %w = replica.read @w : tensor<4xf32>
  %n = arith.subf %w, %x : tensor<4xf32>
  replica.assign @w, %n : tensor<4xf32>
  replica.return
}
