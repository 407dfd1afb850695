// Passes that analyze the bodies of steps report an error where a program only names a step.

// RUN: lockstep-opt %s --verify-uniformity --split-input-file -verify-diagnostics
// RUN: lockstep-opt %s --fold-rank-constants --split-input-file -verify-diagnostics
// RUN: lockstep-opt %s --splice-contexts --split-input-file -verify-diagnostics
// RUN: lockstep-opt %s --split-uniform-results --split-input-file -verify-diagnostics

replica.strategy @strategy {kind = #replica.kind<mirrored>, replicas = 3}
replica.step @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = replica.all_reduce sum %x : tensor<4xf32>
  replica.return %s : tensor<4xf32>
}
replica.program @main(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{'replica.run' op expected the body of a step, found only its name; run 'inline-runs' first}}
  %y = replica.run @double(%x : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<4xf32>>
  replica.return
}

// -----

replica.strategy @strategy {kind = #replica.kind<mirrored>, replicas = 3}
replica.step @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  replica.return %x : tensor<4xf32>
}
replica.program @main(%it: !replica.iterator<tensor<4xf32>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{'replica.run_steps' op expected the body of a step, found only its name; run 'inline-runs' first}}
  %last = replica.run_steps 5 @double(%it : !replica.iterator<tensor<4xf32>>) {reductions = ["sum"]} -> tensor<4xf32>
  replica.return
}
