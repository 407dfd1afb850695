// RUN: lockstep-opt %s --inline-runs --split-input-file --verify-diagnostics -o /dev/null

// A step must not run itself.
replica.step @again(%x: tensor<f32>) {
  replica.merge_call (%x : tensor<f32>) {
  ^bb0(%p: !replica.per_replica<tensor<f32>>):
    // expected-error@+1 {{step 'again' runs itself}}
    replica.run @again(%p : !replica.per_replica<tensor<f32>>)
  }
  replica.return
}

// -----

// A step must not run itself through another step.
replica.step @first(%x: tensor<f32>) {
  replica.merge_call (%x : tensor<f32>) {
  ^bb0(%p: !replica.per_replica<tensor<f32>>):
    replica.run @second(%p : !replica.per_replica<tensor<f32>>)
  }
  replica.return
}
replica.step @second(%x: tensor<f32>) {
  replica.merge_call (%x : tensor<f32>) {
  ^bb0(%p: !replica.per_replica<tensor<f32>>):
    // expected-error@+1 {{step 'first' runs itself}}
    replica.run @first(%p : !replica.per_replica<tensor<f32>>)
  }
  replica.return
}

// -----

// What is summed over several steps is made of numbers.
replica.step @train(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  replica.return %x : tensor<4xcomplex<f32>>
}
replica.program @loop(%it: !replica.iterator<tensor<4xcomplex<f32>>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{expected elements that are numbers, found 'complex<f32>' [E_DTYPE_UNSUPPORTED]}}
  %last = replica.run_steps 5 @train(%it : !replica.iterator<tensor<4xcomplex<f32>>>) {reductions = ["sum"]} -> tensor<4xcomplex<f32>>
  replica.return
}

// -----

// A result of the last of several steps has a static shape. [7-static-shape]
replica.step @train(%x: tensor<?xf32>) -> tensor<?xf32> {
  replica.return %x : tensor<?xf32>
}
replica.program @loop(%it: !replica.iterator<tensor<?xf32>> {replica.batches = ["x"], replica.bounds = array<i64: 4>}) {
  // expected-error@+1 {{expected results of a static shape from the last step, found '!replica.per_replica<tensor<?xf32>>'}}
  %e = replica.run_steps 3 @train(%it : !replica.iterator<tensor<?xf32>>) {reductions = ["none"]} -> !replica.per_replica<tensor<?xf32>>
  replica.return
}

// -----

// A non-tensor output of a program has the same value everywhere. [7-non-tensor]
replica.step @train(%x: tensor<f32>) {
  replica.return
}
replica.program @loop(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}) {
  // expected-note@+1 {{the other steps that give it}}
  replica.run_steps 3 @train(%it : !replica.iterator<tensor<f32>>) {reductions = [], non_tensor_outputs = {phase = "warm"}}
  replica.run_steps 3 @train(%it : !replica.iterator<tensor<f32>>) {reductions = [], non_tensor_outputs = {rate = 0.5}}
  // expected-error@+1 {{output 'phase' of program 'loop' is "main" here and "warm" elsewhere}}
  replica.run_steps 3 @train(%it : !replica.iterator<tensor<f32>>) {reductions = [], non_tensor_outputs = {phase = "main", rate = 0.5}}
  replica.return
}
