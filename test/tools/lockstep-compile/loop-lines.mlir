// A kernel of a loop, and of operations before it, has the line of the loop, in which a replica may stay forever.

// RUN: lockstep-compile %s --replicas=2 -o %t.lockstep
// RUN: lockstep-inspect %t.lockstep --show=schedule | FileCheck %s
// CHECK: launch step_{{[0-9]+}}_while {{.*}}loop-lines.mlir:[[@LINE+5]]

replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "loss"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %m = replica.all_reduce mean %x : tensor<f32>
  %r = scf.while (%a = %m) : (tensor<f32>) -> tensor<f32> {
    %p = arith.cmpf ogt, %a, %zero : tensor<f32>
    %c = tensor.extract %p[] : tensor<i1>
    scf.condition(%c) %a : tensor<f32>
  } do {
  ^bb0(%a: tensor<f32>):
    %b = arith.addf %a, %a : tensor<f32>
    scf.yield %b : tensor<f32>
  }
  replica.return %r : tensor<f32>
}
