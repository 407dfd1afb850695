// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Two sides of a branch that look alike and are different. The format of these files is in ../programs/SuiteTest.cpp.

// wrong, blocks: the condition depends on a value of each replica that the body of a generic captures
// Represents local values that come in through a closure, and are not arguments of the function that is called.
#map = affine_map<(d0) -> (d0)>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %n: tensor<i1> {replica.batch = "n"}) {
  %init = arith.constant dense<false> : tensor<1xi1>
  %c0 = arith.constant 0 : index
  // expected-note@+1 {{'linalg.generic' makes it from a value that may differ}}
  %t = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%init : tensor<1xi1>) {
  ^bb0(%out: i1):
    %v = tensor.extract %n[] : tensor<i1>
    linalg.yield %v : i1
  } -> tensor<1xi1>
  %c = tensor.extract %t[%c0] : tensor<1xi1>
  scf.if %c {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %g = replica.all_reduce mean %x : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: the captured value is a host scalar
#map = affine_map<(d0) -> (d0)>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %n: tensor<i1> {replica.scalar = "n"}) {
  %init = arith.constant dense<false> : tensor<1xi1>
  %c0 = arith.constant 0 : index
  %t = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%init : tensor<1xi1>) {
  ^bb0(%out: i1):
    %v = tensor.extract %n[] : tensor<i1>
    linalg.yield %v : i1
  } -> tensor<1xi1>
  %c = tensor.extract %t[%c0] : tensor<1xi1>
  scf.if %c {
    %g = replica.all_reduce mean %x : tensor<4xf32>
  }
  replica.return
}

// -----

// wrong, blocks: each replica chooses one of two uniform settings
// Represents values that are equal on all replicas while the choice between them is not.
replica.variable @warm : tensor<i32>
replica.variable @cold : tensor<i32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %late: tensor<i1> {replica.batch = "late"}) {
  %one = arith.constant 1 : i32
  %l = tensor.extract %late[] : tensor<i1>
  // expected-note@+1 {{it depends on the path through this 'scf.if', whose condition may differ}}
  %setting = scf.if %l -> tensor<i32> {
    %0 = replica.read @cold : tensor<i32>
    scf.yield %0 : tensor<i32>
  } else {
    %0 = replica.read @warm : tensor<i32>
    scf.yield %0 : tensor<i32>
  }
  %s = tensor.extract %setting[] : tensor<i32>
  %on = arith.cmpi sgt, %s, %one : i32
  scf.if %on {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %g = replica.all_reduce mean %x : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: a host scalar chooses
replica.variable @warm : tensor<i32>
replica.variable @cold : tensor<i32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %late: tensor<i1> {replica.scalar = "late"}) {
  %one = arith.constant 1 : i32
  %l = tensor.extract %late[] : tensor<i1>
  %setting = scf.if %l -> tensor<i32> {
    %0 = replica.read @cold : tensor<i32>
    scf.yield %0 : tensor<i32>
  } else {
    %0 = replica.read @warm : tensor<i32>
    scf.yield %0 : tensor<i32>
  }
  %s = tensor.extract %setting[] : tensor<i32>
  %on = arith.cmpi sgt, %s, %one : i32
  scf.if %on {
    %g = replica.all_reduce mean %x : tensor<4xf32>
  }
  replica.return
}

// -----

// wrong, shapes differ: the two sides reduce prefixes of different lengths
// Represents sequences that are cut at one of two lengths: the types are equal, the sizes are not.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %short: tensor<i32> {replica.scalar = "short"}, %long: tensor<i32> {replica.scalar = "long"},
                   %cut: tensor<i1> {replica.batch = "cut"}) {
  %three = arith.constant 3 : i32
  %s = tensor.extract %short[] : tensor<i32>
  %sm = arith.andi %s, %three : i32
  %si = arith.index_cast %sm : i32 to index
  %l = tensor.extract %long[] : tensor<i32>
  %lm = arith.andi %l, %three : i32
  %li = arith.index_cast %lm : i32 to index
  %c = tensor.extract %cut[] : tensor<i1>
  scf.if %c {
    %a = tensor.extract_slice %x[0] [%si] [1] : tensor<4xf32> to tensor<?xf32>
    // expected-error@+1 {{while others issue a different 'replica.all_reduce' in its place}}
    %0 = replica.all_reduce sum %a : tensor<?xf32>
  } else {
    %b = tensor.extract_slice %x[0] [%li] [1] : tensor<4xf32> to tensor<?xf32>
    %0 = replica.all_reduce sum %b : tensor<?xf32>
  }
  replica.return
}

// -----

// correct: prefixes of one static length
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %cut: tensor<i1> {replica.batch = "cut"}) {
  %c = tensor.extract %cut[] : tensor<i1>
  scf.if %c {
    %a = tensor.extract_slice %x[0] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %0 = replica.all_reduce sum %a : tensor<2xf32>
  } else {
    %b = tensor.extract_slice %x[1] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %0 = replica.all_reduce sum %b : tensor<2xf32>
  }
  replica.return
}

// -----

// wrong, blocks: the two sides test different host scalars
// Represents feature flags that are the same everywhere, in code that is not.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %odd: tensor<i1> {replica.batch = "odd"},
                   %s: tensor<i1> {replica.scalar = "s"}, %t: tensor<i1> {replica.scalar = "t"}) {
  %c = tensor.extract %odd[] : tensor<i1>
  %first = tensor.extract %s[] : tensor<i1>
  %second = tensor.extract %t[] : tensor<i1>
  scf.if %c {
    scf.if %first {
      // expected-error@+1 {{while others issue a different 'replica.all_reduce' in its place [E_COLLECTIVE_DIVERGENCE]}}
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    }
  } else {
    scf.if %second {
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// correct: one host scalar is tested around both sides
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %odd: tensor<i1> {replica.batch = "odd"}, %s: tensor<i1> {replica.scalar = "s"}) {
  %c = tensor.extract %odd[] : tensor<i1>
  %on = tensor.extract %s[] : tensor<i1>
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  scf.if %on {
    scf.if %c {
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    } else {
      %0 = replica.all_reduce sum %zeros : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// wrong, blocks: both sides have a loop with a uniform trip count, but not with the same one
// Represents two algorithms that both converge on all ranks together, after different numbers of iterations.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %odd: tensor<i1> {replica.batch = "odd"},
                   %s: tensor<i32> {replica.scalar = "s"}, %t: tensor<i32> {replica.scalar = "t"}) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c = tensor.extract %odd[] : tensor<i1>
  %first = tensor.extract %s[] : tensor<i32>
  %second = tensor.extract %t[] : tensor<i32>
  scf.if %c {
    %n = scf.while (%i = %zero) : (i32) -> i32 {
      %go = arith.cmpi slt, %i, %first : i32
      scf.condition(%go) %i : i32
    } do {
    ^bb0(%i: i32):
      // expected-error@+1 {{while others issue a different 'replica.all_reduce' in its place [E_COLLECTIVE_DIVERGENCE]}}
      %0 = replica.all_reduce sum %x : tensor<4xf32>
      %next = arith.addi %i, %one : i32
      scf.yield %next : i32
    }
  } else {
    %n = scf.while (%i = %zero) : (i32) -> i32 {
      %go = arith.cmpi slt, %i, %second : i32
      scf.condition(%go) %i : i32
    } do {
    ^bb0(%i: i32):
      %0 = replica.all_reduce sum %x : tensor<4xf32>
      %next = arith.addi %i, %one : i32
      scf.yield %next : i32
    }
  }
  replica.return
}

// -----

// correct: one loop, with both sides in it
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %odd: tensor<i1> {replica.batch = "odd"}, %s: tensor<i32> {replica.scalar = "s"}) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %c = tensor.extract %odd[] : tensor<i1>
  %rounds = tensor.extract %s[] : tensor<i32>
  %n = scf.while (%i = %zero) : (i32) -> i32 {
    %go = arith.cmpi slt, %i, %rounds : i32
    scf.condition(%go) %i : i32
  } do {
  ^bb0(%i: i32):
    scf.if %c {
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    } else {
      %0 = replica.all_reduce sum %zeros : tensor<4xf32>
    }
    %next = arith.addi %i, %one : i32
    scf.yield %next : i32
  }
  replica.return
}

// -----

// wrong, copies differ: the merge_calls of the two sides have uniform arguments, but not the same ones
// Represents a learning rate that is one of two, each of which is the same everywhere.
replica.variable @rate : tensor<f32>
replica.step @step(%odd: tensor<i1> {replica.batch = "odd"}, %s: tensor<f32> {replica.scalar = "s"}, %t: tensor<f32> {replica.scalar = "t"}) {
  %c = tensor.extract %odd[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{while others issue a different 'replica.merge_call' in its place [E_COLLECTIVE_DIVERGENCE]}}
    replica.merge_call (%s : tensor<f32>) {
    ^bb0(%r: tensor<f32>):
      replica.assign @rate, %r : tensor<f32>
    }
  } else {
    replica.merge_call (%t : tensor<f32>) {
    ^bb0(%r: tensor<f32>):
      replica.assign @rate, %r : tensor<f32>
    }
  }
  replica.return
}

// -----

// correct: the same value on both sides
replica.variable @rate : tensor<f32>
replica.step @step(%odd: tensor<i1> {replica.batch = "odd"}, %s: tensor<f32> {replica.scalar = "s"}, %t: tensor<f32> {replica.scalar = "t"}) {
  %c = tensor.extract %odd[] : tensor<i1>
  scf.if %c {
    replica.merge_call (%s : tensor<f32>) {
    ^bb0(%r: tensor<f32>):
      replica.assign @rate, %r : tensor<f32>
    }
  } else {
    replica.merge_call (%s : tensor<f32>) {
    ^bb0(%r: tensor<f32>):
      replica.assign @rate, %r : tensor<f32>
    }
  }
  replica.return
}

// -----

// wrong, copies differ: a per-replica value is the plain argument of a merge_call, which only returns it
// Represents an interface that is misused long before the misuse has an effect.
replica.step @step(%g: tensor<2xf32> {replica.batch = "g"}) -> (tensor<2xf32> {replica.result = "g"}) {
  // expected-error@+1 {{argument 0 of 'replica.merge_call' may differ between replicas, but its region takes one value of type 'tensor<2xf32>'}}
  %0 = replica.merge_call (%g : tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%one: tensor<2xf32>):
    replica.yield %one : tensor<2xf32>
  }
  replica.return %0 : tensor<2xf32>
}

// -----

// correct: the argument is per replica
replica.step @step(%g: tensor<2xf32> {replica.batch = "g"}) -> (tensor<2xf32> {replica.result = "g"}) {
  %0 = replica.merge_call (%g : tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%each: !replica.per_replica<tensor<2xf32>>):
    replica.yield %each : !replica.per_replica<tensor<2xf32>>
  }
  replica.return %0 : tensor<2xf32>
}

// -----

// wrong, blocks: collectives in a loop whose iterations have no order
// Represents gradients that are sent by hooks, in the order in which threads happen to finish.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // expected-note@+1 {{'scf.parallel' is here}}
  scf.parallel (%i) = (%c0) to (%c3) step (%c1) {
    %first = arith.cmpi eq, %i, %c0 : index
    scf.if %first {
      // expected-error@+1 {{'replica.all_reduce' is inside of 'scf.parallel', which does not say in which order or how often it is issued [E_COLLECTIVE_IN_CONTROL_FLOW]}}
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    } else {
      %0 = replica.all_reduce mean %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// correct: collectives in a sequential loop
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    %first = arith.cmpi eq, %i, %c0 : index
    scf.if %first {
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    } else {
      %0 = replica.all_reduce mean %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// wrong, copies differ: a program takes a per-replica result as one value
// Represents host code that reads "the" loss of a step of many replicas.
replica.program @step(%x: !replica.per_replica<tensor<f32>> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "loss"}) {
  // expected-error@+1 {{result 0 of 'replica.run' may differ between replicas}}
  %0 = replica.run (%x : !replica.per_replica<tensor<f32>>) -> tensor<f32> {
  ^bb0(%mine: tensor<f32>):
    replica.yield %mine : tensor<f32>
  }
  replica.return %0 : tensor<f32>
}

// -----

// correct: the result is reduced in the run
replica.program @step(%x: !replica.per_replica<tensor<f32>> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "loss"}) {
  %0 = replica.run (%x : !replica.per_replica<tensor<f32>>) -> tensor<f32> {
  ^bb0(%mine: tensor<f32>):
    %mean = replica.all_reduce mean %mine : tensor<f32>
    replica.yield %mean : tensor<f32>
  }
  replica.return %0 : tensor<f32>
}
