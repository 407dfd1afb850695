// RUN: lockstep-opt %s --inline-runs --split-input-file | FileCheck %s

// A step that a program runs is inlined as a region. A step that only programs can run is erased; other steps stay. [3-run]
// CHECK-NOT: replica.step @unbound
// CHECK: replica.step @bound
// CHECK-LABEL: replica.program @main
// CHECK: %[[R:.*]] = replica.run(%arg0 : !replica.per_replica<tensor<f32>>) -> !replica.per_replica<tensor<f32>> {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<f32>):
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[X]], %[[X]]
// CHECK-NEXT: replica.yield %[[Y]] : tensor<f32>
// CHECK: replica.run(%[[R]] : !replica.per_replica<tensor<f32>>) {
// CHECK: replica.yield{{$}}
replica.step @unbound(%x: tensor<f32>) -> tensor<f32> {
  %0 = arith.addf %x, %x : tensor<f32>
  replica.return %0 : tensor<f32>
}
replica.step @bound(%x: tensor<f32> {replica.batch = "x"}) {
  replica.return
}
replica.program @main(%x: !replica.per_replica<tensor<f32>> {replica.batch = "x"}) {
  %0 = replica.run @unbound(%x : !replica.per_replica<tensor<f32>>) -> !replica.per_replica<tensor<f32>>
  replica.run @bound(%0 : !replica.per_replica<tensor<f32>>)
  replica.return
}

// -----

// run_steps becomes a loop that carries the results of the last step, which are zero at first. [7-loop, 7-last-output, 7-initial, 7-non-tensor]
// CHECK: device.constant_output "labels" = ["cat", "dog"] of "loop"
// CHECK-LABEL: replica.program @loop
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[EACH:.*]] = replica.run -> !replica.per_replica<tensor<f32>> {
// CHECK-NEXT: %[[OWN:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: replica.yield %[[OWN]]
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]], %{{.*}} = %[[EACH]]) -> (tensor<f32>, !replica.per_replica<tensor<f32>>) {
// CHECK: %[[X:.*]] = replica.next %arg0
// CHECK: %[[R:.*]]:2 = replica.run(%[[X]], %arg1 : !replica.per_replica<tensor<f32>>, tensor<f32>)
// CHECK: %[[SUM:.*]] = replica.reduce sum %[[R]]#0
// CHECK: scf.yield %[[SUM]], %[[R]]#1
// CHECK: replica.return %[[LOOP]]#0, %[[LOOP]]#1
replica.step @train(%x: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  replica.return %x, %k : tensor<f32>, tensor<f32>
}
replica.program @loop(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}, %k: tensor<f32> {replica.scalar = "k"})
    -> (tensor<f32>, !replica.per_replica<tensor<f32>>) {
  %s, %e = replica.run_steps 3 @train(%it, %k : !replica.iterator<tensor<f32>>, tensor<f32>) {reductions = ["sum", "none"], non_tensor_outputs = {labels = ["cat", "dog"]}}
      -> tensor<f32>, !replica.per_replica<tensor<f32>>
  replica.return %s, %e : tensor<f32>, !replica.per_replica<tensor<f32>>
}
