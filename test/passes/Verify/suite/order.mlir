// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Replicas issue equally many collectives, but different ones, or in another order. The format of these files is in ../programs/SuiteTest.cpp.

// wrong, blocks: some replicas gather before they reduce
// Represents ranks that issue two calls in opposite order: one is in the reduction while the other is in the gather, as in
// PyTorch issue 22834 one rank broadcasts while two reduce.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %odd: tensor<i1> {replica.batch = "odd"}) {
  %c = tensor.extract %odd[] : tensor<i1>
  scf.if %c {
    // expected-error@+2 {{'replica.all_reduce' is issued by some replicas, while others issue 'replica.all_gather' in its place [E_COLLECTIVE_DIVERGENCE]}}
    // expected-note@+1 {{some replicas issue 'replica.all_reduce' sum of 'tensor<4xf32>'}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    %1 = replica.all_gather %x axis 0 : tensor<4xf32> -> tensor<?xf32>
  } else {
    // expected-note@+1 {{other replicas issue 'replica.all_gather' of 'tensor<4xf32>'}}
    %0 = replica.all_gather %x axis 0 : tensor<4xf32> -> tensor<?xf32>
    %1 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: both sides in one order, with different operations in between
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %odd: tensor<i1> {replica.batch = "odd"}) -> (tensor<4xf32> {replica.result = "y"}) {
  %c = tensor.extract %odd[] : tensor<i1>
  %y = scf.if %c -> tensor<4xf32> {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    %twice = arith.addf %x, %x : tensor<4xf32>
    %1 = replica.all_gather %twice axis 0 : tensor<4xf32> -> tensor<?xf32>
    scf.yield %0 : tensor<4xf32>
  } else {
    %twice = arith.addf %x, %x : tensor<4xf32>
    %0 = replica.all_reduce sum %twice : tensor<4xf32>
    %1 = replica.all_gather %x axis 0 : tensor<4xf32> -> tensor<?xf32>
    scf.yield %x : tensor<4xf32>
  }
  replica.return %y : tensor<4xf32>
}

// -----

// wrong, blocks: gradients in the order of a dictionary that each process fills by itself
// Represents parameters that ranks visit in different orders: bucket 0 of one rank is bucket 1 of the other.
replica.step @step(%weight: tensor<8xf32> {replica.batch = "weight"}, %bias: tensor<2xf32> {replica.batch = "bias"}, %swapped: tensor<i1> {replica.batch = "swapped"}) {
  %c = tensor.extract %swapped[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{'replica.all_reduce' is issued by some replicas, while others issue a different 'replica.all_reduce' in its place [E_COLLECTIVE_DIVERGENCE]}}
    %b = replica.all_reduce mean %bias : tensor<2xf32>
    %w = replica.all_reduce mean %weight : tensor<8xf32>
  } else {
    %w = replica.all_reduce mean %weight : tensor<8xf32>
    %b = replica.all_reduce mean %bias : tensor<2xf32>
  }
  replica.return
}

// -----

// correct: all replicas use the order of the program
replica.step @step(%weight: tensor<8xf32> {replica.batch = "weight"}, %bias: tensor<2xf32> {replica.batch = "bias"}, %swapped: tensor<i1> {replica.batch = "swapped"}) {
  %c = tensor.extract %swapped[] : tensor<i1>
  scf.if %c {
    %b = replica.all_reduce mean %bias : tensor<2xf32>
    %w = replica.all_reduce mean %weight : tensor<8xf32>
  } else {
    %zeros = arith.constant dense<0.0> : tensor<2xf32>
    %b = replica.all_reduce mean %zeros : tensor<2xf32>
    %w = replica.all_reduce mean %weight : tensor<8xf32>
  }
  replica.return
}

// -----

// wrong, blocks: one side reduces once more
// Represents a retry by a single rank (from there on, the sequence numbers of the ranks differ).
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %again: tensor<i1> {replica.batch = "again"}) {
  %c = tensor.extract %again[] : tensor<i1>
  scf.if %c {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %1 = replica.all_reduce sum %0 : tensor<4xf32>
  } else {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: the other side reduces zeros the second time
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %again: tensor<i1> {replica.batch = "again"}) {
  %c = tensor.extract %again[] : tensor<i1>
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  scf.if %c {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    %1 = replica.all_reduce sum %0 : tensor<4xf32>
  } else {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    %1 = replica.all_reduce sum %zeros : tensor<4xf32>
  }
  replica.return
}

// -----

// wrong, blocks: some replicas sum where others take the mean
// Represents mismatched reductions: libraries that only compare shapes do not notice, and each rank gets a wrong number.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %scaled: tensor<i1> {replica.batch = "scaled"}) {
  %c = tensor.extract %scaled[] : tensor<i1>
  scf.if %c {
    // expected-error@+2 {{'replica.all_reduce' is issued by some replicas, while others issue a different 'replica.all_reduce' in its place [E_COLLECTIVE_DIVERGENCE]}}
    // expected-note@+1 {{some replicas issue 'replica.all_reduce' sum of 'tensor<4xf32>'}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  } else {
    // expected-note@+1 {{other replicas issue 'replica.all_reduce' mean of 'tensor<4xf32>'}}
    %0 = replica.all_reduce mean %x : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: all replicas sum, and some divide the result
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %scaled: tensor<i1> {replica.batch = "scaled"}) -> (tensor<4xf32> {replica.result = "y"}) {
  %c = tensor.extract %scaled[] : tensor<i1>
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %y = scf.if %c -> tensor<4xf32> {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  } else {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    %half = arith.divf %0, %two : tensor<4xf32>
    scf.yield %half : tensor<4xf32>
  }
  replica.return %y : tensor<4xf32>
}

// -----

// wrong, blocks: half precision on some replicas, single precision on others
// Represents mismatched element types (one rank fell back to another precision): a message of another size, or garbage.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %half: tensor<i1> {replica.batch = "half"}) {
  %c = tensor.extract %half[] : tensor<i1>
  scf.if %c {
    %h = arith.truncf %x : tensor<4xf32> to tensor<4xf16>
    // expected-error@+2 {{while others issue a different 'replica.all_reduce' in its place [E_COLLECTIVE_DIVERGENCE]}}
    // expected-note@+1 {{some replicas issue 'replica.all_reduce' sum of 'tensor<4xf16>'}}
    %0 = replica.all_reduce sum %h : tensor<4xf16>
  } else {
    // expected-note@+1 {{other replicas issue 'replica.all_reduce' sum of 'tensor<4xf32>'}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: some replicas round to half precision, and all of them send single precision
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %half: tensor<i1> {replica.batch = "half"}) {
  %c = tensor.extract %half[] : tensor<i1>
  scf.if %c {
    %h = arith.truncf %x : tensor<4xf32> to tensor<4xf16>
    %f = arith.extf %h : tensor<4xf16> to tensor<4xf32>
    %0 = replica.all_reduce sum %f : tensor<4xf32>
  } else {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// wrong, blocks: replicas gather along different axes
// Represents gathers whose pieces do not fit (batch first on one rank, time first on another).
replica.step @step(%x: tensor<2x2xf32> {replica.batch = "x"}, %transposed: tensor<i1> {replica.batch = "transposed"}) {
  %c = tensor.extract %transposed[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{while others issue a different 'replica.all_gather' in its place [E_COLLECTIVE_DIVERGENCE]}}
    %0 = replica.all_gather %x axis 0 : tensor<2x2xf32> -> tensor<?x2xf32>
  } else {
    %0 = replica.all_gather %x axis 1 : tensor<2x2xf32> -> tensor<2x?xf32>
  }
  replica.return
}

// -----

// correct: replicas gather different contents along one axis
replica.step @step(%x: tensor<2x2xf32> {replica.batch = "x"}, %doubled: tensor<i1> {replica.batch = "doubled"}) {
  %c = tensor.extract %doubled[] : tensor<i1>
  scf.if %c {
    %d = arith.addf %x, %x : tensor<2x2xf32>
    %0 = replica.all_gather %d axis 0 : tensor<2x2xf32> -> tensor<?x2xf32>
  } else {
    %0 = replica.all_gather %x axis 0 : tensor<2x2xf32> -> tensor<?x2xf32>
  }
  replica.return
}

// -----

// wrong, blocks: some ranks have merged two gradients into one bucket
// Represents fusion that is decided at run time: a rank that saw a gradient late sends two messages where others send one.
replica.step @step(%a: tensor<4xf32> {replica.batch = "a"}, %b: tensor<4xf32> {replica.batch = "b"}, %late: tensor<i1> {replica.batch = "late"}) {
  %c = tensor.extract %late[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{while others issue a different 'replica.all_reduce' in its place [E_COLLECTIVE_DIVERGENCE]}}
    %0 = replica.all_reduce sum %a : tensor<4xf32>
    %1 = replica.all_reduce sum %b : tensor<4xf32>
  } else {
    %0:2 = replica.all_reduce sum %a, %b : tensor<4xf32>, tensor<4xf32>
  }
  replica.return
}

// -----

// correct: one bucket of two gradients on both sides
replica.step @step(%a: tensor<4xf32> {replica.batch = "a"}, %b: tensor<4xf32> {replica.batch = "b"}, %late: tensor<i1> {replica.batch = "late"}) {
  %c = tensor.extract %late[] : tensor<i1>
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  scf.if %c {
    %0:2 = replica.all_reduce sum %a, %zeros : tensor<4xf32>, tensor<4xf32>
  } else {
    %0:2 = replica.all_reduce sum %a, %b : tensor<4xf32>, tensor<4xf32>
  }
  replica.return
}
