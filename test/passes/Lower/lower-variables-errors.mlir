// RUN: lockstep-opt %s --lower-variables --split-input-file -verify-diagnostics

// The error for an argument without a binding counts the step's own arguments, without the variables that are inserted before them.
replica.variable @w : tensor<f32>
// expected-error@+1 {{argument 1 has neither 'replica.batch' nor 'replica.scalar'}}
replica.step @argument(%x: tensor<f32> {replica.batch = "x"}, %y: tensor<f32>) {
  %w = replica.read @w : tensor<f32>
  replica.return
}
