// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Metrics and parameters that only some replicas have. The format of these files is in ../programs/SuiteTest.cpp.

// wrong, blocks: a metric is reduced only by those replicas that have it
// Represents logging with different keys on different ranks (Lightning issue 19106).
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %recall: tensor<f32> {replica.batch = "recall"}, %positives: tensor<i32> {replica.batch = "positives"}) {
  %zero = arith.constant 0 : i32
  %n = tensor.extract %positives[] : tensor<i32>
  %any = arith.cmpi sgt, %n, %zero : i32
  %l = replica.all_reduce mean %loss : tensor<f32>
  scf.if %any {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %r = replica.all_reduce mean %recall : tensor<f32>
  }
  replica.return
}

// -----

// correct: sum and count of the metric are always reduced, as zeros where there is no metric
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %recall: tensor<f32> {replica.batch = "recall"}, %positives: tensor<i32> {replica.batch = "positives"}) {
  %zero = arith.constant 0 : i32
  %none = arith.constant dense<0.0> : tensor<f32>
  %n = tensor.extract %positives[] : tensor<i32>
  %any = arith.cmpi sgt, %n, %zero : i32
  %l = replica.all_reduce mean %loss : tensor<f32>
  %mine = arith.select %any, %recall, %none : tensor<f32>
  %r = replica.all_reduce sum %mine : tensor<f32>
  %counts = replica.all_reduce sum %positives : tensor<i32>
  replica.return
}

// -----

// wrong, blocks: the keys are the same, but one side logs them in another order
// Represents dictionaries of metrics that are visited in the order in which they were filled.
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %hits: tensor<i32> {replica.batch = "hits"}, %validates: tensor<i1> {replica.batch = "validates"}) {
  %c = tensor.extract %validates[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{while others issue a different 'replica.all_reduce' in its place [E_COLLECTIVE_DIVERGENCE]}}
    %0 = replica.all_reduce sum %loss : tensor<f32>
    %1 = replica.all_reduce sum %hits : tensor<i32>
  } else {
    %1 = replica.all_reduce sum %hits : tensor<i32>
    %0 = replica.all_reduce sum %loss : tensor<f32>
  }
  replica.return
}

// -----

// correct: metrics are sorted by key
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %hits: tensor<i32> {replica.batch = "hits"}, %validates: tensor<i1> {replica.batch = "validates"}) {
  %c = tensor.extract %validates[] : tensor<i1>
  scf.if %c {
    %1 = replica.all_reduce sum %hits : tensor<i32>
    %0 = replica.all_reduce sum %loss : tensor<f32>
  } else {
    %none = arith.constant dense<0> : tensor<i32>
    %1 = replica.all_reduce sum %none : tensor<i32>
    %0 = replica.all_reduce sum %loss : tensor<f32>
  }
  replica.return
}

// -----

// wrong, blocks: the gradient of a head is reduced only by those replicas that used it
// Represents unused parameters (the reason for find_unused_parameters): a rank whose batch did not reach a layer never reduces its
// gradient.
replica.step @step(%trunk: tensor<4xf32> {replica.batch = "trunk"}, %head: tensor<2xf32> {replica.batch = "head"}, %used: tensor<i1> {replica.batch = "used"}) {
  %u = tensor.extract %used[] : tensor<i1>
  scf.if %u {
    // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %h = replica.all_reduce mean %head : tensor<2xf32>
  }
  %t = replica.all_reduce mean %trunk : tensor<4xf32>
  replica.return
}

// -----

// correct: a head that was not used has a gradient of zeros
replica.step @step(%trunk: tensor<4xf32> {replica.batch = "trunk"}, %head: tensor<2xf32> {replica.batch = "head"}, %used: tensor<i1> {replica.batch = "used"}) {
  %u = tensor.extract %used[] : tensor<i1>
  %zeros = arith.constant dense<0.0> : tensor<2xf32>
  %gradient = scf.if %u -> tensor<2xf32> {
    scf.yield %head : tensor<2xf32>
  } else {
    scf.yield %zeros : tensor<2xf32>
  }
  %h = replica.all_reduce mean %gradient : tensor<2xf32>
  %t = replica.all_reduce mean %trunk : tensor<4xf32>
  replica.return
}

// -----

// wrong, blocks: each replica reduces the gradient of the expert that its own router chose
// Represents mixtures of experts whose layers differ between ranks (transformers issue 30277, DeepSpeed issue 7998).
replica.step @step(%small: tensor<2xf32> {replica.batch = "small"}, %large: tensor<8xf32> {replica.batch = "large"}, %scores: tensor<2xf32> {replica.batch = "scores"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.extract %scores[%c0] : tensor<2xf32>
  %b = tensor.extract %scores[%c1] : tensor<2xf32>
  %first = arith.cmpf ogt, %a, %b : f32
  scf.if %first {
    // expected-error@+1 {{while others issue a different 'replica.all_reduce' in its place [E_COLLECTIVE_DIVERGENCE]}}
    %0 = replica.all_reduce mean %small : tensor<2xf32>
  } else {
    %0 = replica.all_reduce mean %large : tensor<8xf32>
  }
  replica.return
}

// -----

// correct: the scores of all replicas choose one expert for all of them
replica.step @step(%small: tensor<2xf32> {replica.batch = "small"}, %large: tensor<8xf32> {replica.batch = "large"}, %scores: tensor<2xf32> {replica.batch = "scores"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %together = replica.all_reduce mean %scores : tensor<2xf32>
  %a = tensor.extract %together[%c0] : tensor<2xf32>
  %b = tensor.extract %together[%c1] : tensor<2xf32>
  %first = arith.cmpf ogt, %a, %b : f32
  scf.if %first {
    %0 = replica.all_reduce mean %small : tensor<2xf32>
  } else {
    %0 = replica.all_reduce mean %large : tensor<8xf32>
  }
  replica.return
}

// -----

// wrong, shapes differ: in a gather of rows, the number of columns differs too
// Represents gathers of ragged values in which more than the length differs.
replica.step @step(%x: tensor<?x?xf32> {replica.batch = "x", replica.bounds = array<i64: 3, 3>}) {
  // expected-error@+1 {{operand 0 of 'replica.all_gather' has type 'tensor<?x?xf32>', and the size of its dimension 1 may differ between replicas [E_SHAPE_MISMATCH]}}
  %0 = replica.all_gather %x axis 0 : tensor<?x?xf32> -> tensor<?x?xf32>
  replica.return
}

// -----

// correct: only the number of rows differs
replica.step @step(%x: tensor<?x2xf32> {replica.batch = "x", replica.bounds = array<i64: 3>}) {
  %0 = replica.all_gather %x axis 0 : tensor<?x2xf32> -> tensor<?x2xf32>
  replica.return
}

// -----

// wrong, cannot be executed: some replicas gather a matrix, others a vector
// Represents gathers of different ranks, such as a last batch of one example that has lost its first axis.
replica.step @step(%x: tensor<*xf32>) {
  // expected-error@+1 {{'replica.all_gather': expected equal ranks on all replicas, found different ones [E_RANK_MISMATCH]}}
  %0 = replica.all_gather %x axis 0 : tensor<*xf32> -> tensor<*xf32>
  replica.return
}

// -----

// correct: an axis of size one is added first
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) {
  %row = tensor.expand_shape %x [[0, 1]] output_shape [1, 2] : tensor<2xf32> into tensor<1x2xf32>
  %0 = replica.all_gather %row axis 0 : tensor<1x2xf32> -> tensor<?x2xf32>
  replica.return
}
