// RUN: lockstep-opt %s --lower-variables --split-input-file -verify-diagnostics

// A variable cannot be carried through a loop with a condition.
replica.variable @n : tensor<i32>
replica.step @while(%x: tensor<i32> {replica.scalar = "x"}) {
  // expected-error@+1 {{assignments of variables inside 'scf.while' are not supported}}
  scf.while : () -> () {
    %c = tensor.extract %x[] : tensor<i32>
    %b = arith.trunci %c : i32 to i1
    scf.condition(%b)
  } do {
    replica.assign @n, %x : tensor<i32>
    scf.yield
  }
  replica.return
}

// -----

// An argument that is neither: it is counted as its author counts, without the variables that come in front.
replica.variable @w : tensor<f32>
// expected-error@+1 {{argument 1 has neither 'replica.batch' nor 'replica.scalar'}}
replica.step @argument(%x: tensor<f32> {replica.batch = "x"}, %y: tensor<f32>) {
  %w = replica.read @w : tensor<f32>
  replica.return
}
