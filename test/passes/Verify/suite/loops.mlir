// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Loops that replicas leave at different times, and uneven batches. The format of these files is in ../programs/SuiteTest.cpp.

// wrong, blocks: the trip count is the replica's own number of rows
// Represents uneven inputs: the rank with one batch less ends its epoch while the others wait for its gradients (PyTorch issues 33148 and
// 38174, TensorFlow issues 26222 and 37112).
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @step(%x: tensor<?xf32> {replica.batch = "x", replica.bounds = array<i64: 4>}, %g: tensor<f32> {replica.batch = "g"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : tensor<?xf32>
  // expected-note@+1 {{the trip count of this loop may differ between replicas ('scf.for')}}
  scf.for %i = %c0 to %rows step %c1 {
    // expected-error@+1 {{'replica.all_reduce' is in a loop whose trip count may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %0 = replica.all_reduce sum %g : tensor<f32>
  }
  replica.return
}

// -----

// correct: the trip count is the number of rows of all replicas, and a replica without a row adds zero
replica.step @step(%x: tensor<?xf32> {replica.batch = "x", replica.bounds = array<i64: 4>}, %g: tensor<f32> {replica.batch = "g"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<f32>
  %rows = tensor.dim %x, %c0 : tensor<?xf32>
  %own = arith.index_cast %rows : index to i32
  %t = tensor.from_elements %own : tensor<i32>
  %sum = replica.all_reduce sum %t : tensor<i32>
  %n = tensor.extract %sum[] : tensor<i32>
  %rounds = arith.index_cast %n : i32 to index
  scf.for %i = %c0 to %rounds step %c1 {
    %has = arith.cmpi slt, %i, %rows : index
    %mine = arith.select %has, %g, %zero : tensor<f32>
    %0 = replica.all_reduce sum %mine : tensor<f32>
  }
  replica.return
}

// -----

// wrong, shapes differ: the last batch has fewer rows on some replicas, and the rows are reduced
// Represents the uneven last batch whose size is the size of the exchange: a crash, a hang or shifted values.
replica.step @step(%x: tensor<?x2xf32> {replica.batch = "x", replica.bounds = array<i64: 4>}) {
  // expected-error@+1 {{operand 0 of 'replica.all_reduce' has type 'tensor<?x2xf32>', and the size of its dimension 0 may differ between replicas [E_SHAPE_MISMATCH]}}
  %0 = replica.all_reduce sum %x : tensor<?x2xf32>
  replica.return
}

// -----

// correct: each replica adds up its own rows first
#row = affine_map<(i, j) -> (i, j)>
#sum = affine_map<(i, j) -> (j)>
replica.step @step(%x: tensor<?x2xf32> {replica.batch = "x", replica.bounds = array<i64: 4>}) -> (tensor<2xf32> {replica.metric = "sum"}) {
  %zeros = arith.constant dense<0.0> : tensor<2xf32>
  %own = linalg.generic {indexing_maps = [#row, #sum], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<?x2xf32>) outs(%zeros : tensor<2xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %a = arith.addf %in, %acc : f32
    linalg.yield %a : f32
  } -> tensor<2xf32>
  %0 = replica.all_reduce sum %own : tensor<2xf32>
  replica.return %0 : tensor<2xf32>
}

// -----

// wrong, blocks: the loop ends when the replica's own error is small
// Represents solvers and searches in a step that converge at different times on different data.
replica.step @step(%error: tensor<f32> {replica.batch = "error"}) {
  %small = arith.constant 1.0 : f32
  %quarter = arith.constant dense<0.25> : tensor<f32>
  // expected-note@+1 {{the trip count of this loop may differ between replicas ('scf.while')}}
  %r = scf.while (%e = %error) : (tensor<f32>) -> tensor<f32> {
    %v = tensor.extract %e[] : tensor<f32>
    %go = arith.cmpf ogt, %v, %small : f32
    scf.condition(%go) %e : tensor<f32>
  } do {
  ^bb0(%e: tensor<f32>):
    // expected-error@+1 {{'replica.all_reduce' is in a loop whose trip count may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %0 = replica.all_reduce sum %e : tensor<f32>
    %next = arith.mulf %e, %quarter : tensor<f32>
    scf.yield %next : tensor<f32>
  }
  replica.return
}

// -----

// correct: the loop ends when the error of all replicas together is small
replica.step @step(%error: tensor<f32> {replica.batch = "error"}) -> (tensor<f32> {replica.metric = "error"}) {
  %small = arith.constant 1.0 : f32
  %quarter = arith.constant dense<0.25> : tensor<f32>
  %start = replica.all_reduce mean %error : tensor<f32>
  %r = scf.while (%e = %start) : (tensor<f32>) -> tensor<f32> {
    %v = tensor.extract %e[] : tensor<f32>
    %go = arith.cmpf ogt, %v, %small : f32
    scf.condition(%go) %e : tensor<f32>
  } do {
  ^bb0(%e: tensor<f32>):
    %0 = replica.all_reduce mean %e : tensor<f32>
    %next = arith.mulf %0, %quarter : tensor<f32>
    scf.yield %next : tensor<f32>
  }
  replica.return %r : tensor<f32>
}

// -----

// wrong, blocks: a flag is uniform in the first iteration, and the replica's own from the second on
// Represents state that a loop carries to its own condition: the first iterations work.
replica.step @step(%stop: tensor<i1> {replica.batch = "stop"}, %g: tensor<f32> {replica.batch = "g"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = arith.constant dense<true> : tensor<i1>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%goes = %t) -> tensor<i1> {
    %c = tensor.extract %goes[] : tensor<i1>
    scf.if %c {
      // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
      %0 = replica.all_reduce sum %g : tensor<f32>
    }
    scf.yield %stop : tensor<i1>
  }
  replica.return
}

// -----

// correct: the carried flag is computed from those of all replicas
replica.step @step(%stop: tensor<i1> {replica.batch = "stop"}, %g: tensor<f32> {replica.batch = "g"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = arith.constant dense<true> : tensor<i1>
  %zero = arith.constant 0 : i32
  %s = tensor.extract %stop[] : tensor<i1>
  %n = arith.extui %s : i1 to i32
  %own = tensor.from_elements %n : tensor<i32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%goes = %t) -> tensor<i1> {
    %c = tensor.extract %goes[] : tensor<i1>
    scf.if %c {
      %0 = replica.all_reduce sum %g : tensor<f32>
    }
    %votes = replica.all_reduce sum %own : tensor<i32>
    %v = tensor.extract %votes[] : tensor<i32>
    %none = arith.cmpi eq, %v, %zero : i32
    %next = tensor.from_elements %none : tensor<i1>
    scf.yield %next : tensor<i1>
  }
  replica.return
}

// -----

// wrong, blocks: the trip count of the inner loop differs between replicas
// Represents micro-batches: all ranks have the same number of epochs, but each divides its data into its own number of pieces.
replica.step @step(%pieces: tensor<i32> {replica.batch = "pieces"}, %g: tensor<f32> {replica.batch = "g"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n_i32 = tensor.extract %pieces[] : tensor<i32>
  %n = arith.index_cast %n_i32 : i32 to index
  scf.for %i = %c0 to %c3 step %c1 {
    // expected-note@+1 {{the trip count of this loop may differ between replicas ('scf.for')}}
    scf.for %j = %c0 to %n step %c1 {
      // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW]}}
      %0 = replica.all_reduce sum %g : tensor<f32>
    }
  }
  replica.return
}

// -----

// correct: gradients of the pieces are added up first, and exchanged in the outer loop
replica.step @step(%pieces: tensor<i32> {replica.batch = "pieces"}, %g: tensor<f32> {replica.batch = "g"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant dense<0.0> : tensor<f32>
  %n_i32 = tensor.extract %pieces[] : tensor<i32>
  %n = arith.index_cast %n_i32 : i32 to index
  scf.for %i = %c0 to %c3 step %c1 {
    %own = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<f32> {
      %next = arith.addf %acc, %g : tensor<f32>
      scf.yield %next : tensor<f32>
    }
    %0 = replica.all_reduce sum %own : tensor<f32>
  }
  replica.return
}

// -----

// wrong, blocks: the loops on the two sides of a branch have different trip counts
// Represents per-rank settings of a count (gradient accumulation) on which all ranks have to agree.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %large: tensor<i1> {replica.batch = "large"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c = tensor.extract %large[] : tensor<i1>
  scf.if %c {
    scf.for %i = %c0 to %c8 step %c1 {
      // expected-error@+1 {{while others issue a different 'replica.all_reduce' in its place [E_COLLECTIVE_DIVERGENCE]}}
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    }
  } else {
    scf.for %i = %c0 to %c9 step %c1 {
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// correct: the trip count is a host scalar, and each replica's own settings only change the value
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %large: tensor<i1> {replica.batch = "large"}, %rounds: tensor<i32> {replica.scalar = "rounds"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n_i32 = tensor.extract %rounds[] : tensor<i32>
  %n = arith.index_cast %n_i32 : i32 to index
  %c = tensor.extract %large[] : tensor<i1>
  %double = arith.addf %x, %x : tensor<4xf32>
  %mine = arith.select %c, %double, %x : tensor<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    %0 = replica.all_reduce sum %mine : tensor<4xf32>
  }
  replica.return
}
