// RUN: lockstep-opt %s --verify-uniformity --split-input-file --verify-diagnostics -o /dev/null

// Conditions that are nested in the two sides of a branch need not be one SSA value: the same computation on the results of the same
// collective is equal on all replicas.

// Both sides skip what is not finite: their sums are one all_reduce, so all replicas skip, or none.
replica.step @same_decision(%x: tensor<f32> {replica.batch = "x"}, %y: tensor<f32> {replica.batch = "y"}, %c: tensor<i1> {replica.batch = "c"}) {
  %b = tensor.extract %c[] : tensor<i1>
  scf.if %b {
    %limit = arith.constant 1.0e+09 : f32
    %sum = replica.all_reduce sum %x : tensor<f32>
    %loss = tensor.extract %sum[] : tensor<f32>
    %finite = arith.cmpf olt, %loss, %limit : f32
    scf.if %finite {
      %0 = replica.all_reduce mean %y : tensor<f32>
    }
  } else {
    %limit = arith.constant 1.0e+09 : f32
    %sum = replica.all_reduce sum %y : tensor<f32>
    %loss = tensor.extract %sum[] : tensor<f32>
    %finite = arith.cmpf olt, %loss, %limit : f32
    scf.if %finite {
      %0 = replica.all_reduce mean %x : tensor<f32>
    }
  }
  replica.return
}

// -----

// With another limit, the conditions may differ.
// expected-note@+1 {{batch argument 'c' is different on each replica}}
replica.step @other_limit(%x: tensor<f32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  %low = arith.constant 1.0e+03 : f32
  %high = arith.constant 1.0e+09 : f32
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %b = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %b {
    %sum = replica.all_reduce sum %x : tensor<f32>
    %loss = tensor.extract %sum[] : tensor<f32>
    %finite = arith.cmpf olt, %loss, %low : f32
    scf.if %finite {
      // expected-error@+2 {{[E_COLLECTIVE_DIVERGENCE]}}
      // expected-note@+1 {{some replicas issue}}
      %0 = replica.all_reduce mean %x : tensor<f32>
    }
  } else {
    %sum = replica.all_reduce sum %x : tensor<f32>
    %loss = tensor.extract %sum[] : tensor<f32>
    %finite = arith.cmpf olt, %loss, %high : f32
    scf.if %finite {
      // expected-note@+1 {{other replicas issue}}
      %0 = replica.all_reduce mean %x : tensor<f32>
    }
  }
  replica.return
}

// -----

// The same computation on replica.id is not equal on all replicas.
replica.step @same_id(%x: tensor<f32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  %b = tensor.extract %c[] : tensor<i1>
  scf.if %b {
    // expected-note@+1 {{'replica.id' is different on each replica}}
    %id = replica.id : tensor<i32>
    // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
    %i = tensor.extract %id[] : tensor<i32>
    // expected-note@+1 {{'arith.trunci' makes it from a value that may differ}}
    %odd = arith.trunci %i : i32 to i1
    // expected-note@+1 {{the condition of this branch may differ}}
    scf.if %odd {
      // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
      %0 = replica.all_reduce mean %x : tensor<f32>
    }
  } else {
    // expected-note@+1 {{'replica.id' is different on each replica}}
    %id = replica.id : tensor<i32>
    // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
    %i = tensor.extract %id[] : tensor<i32>
    // expected-note@+1 {{'arith.trunci' makes it from a value that may differ}}
    %odd = arith.trunci %i : i32 to i1
    // expected-note@+1 {{the condition of this branch may differ}}
    scf.if %odd {
      // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
      %0 = replica.all_reduce mean %x : tensor<f32>
    }
  }
  replica.return
}

// -----

// Equal bounds are different trip counts for signed and for unsigned comparisons.
// expected-note@+1 {{batch argument 'c' is different on each replica}}
replica.step @unsigned_turns(%x: tensor<f32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  %zero = arith.constant 0 : i32
  %minus = arith.constant -1 : i32
  %one = arith.constant 1 : i32
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %b = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %b {
    scf.for %i = %zero to %minus step %one : i32 {
      // expected-error@+2 {{[E_COLLECTIVE_DIVERGENCE]}}
      // expected-note@+1 {{some replicas issue}}
      %0 = replica.all_reduce sum %x : tensor<f32>
    }
  } else {
    scf.for unsigned %i = %zero to %minus step %one : i32 {
      // expected-note@+1 {{other replicas issue}}
      %0 = replica.all_reduce sum %x : tensor<f32>
    }
  }
  replica.return
}
