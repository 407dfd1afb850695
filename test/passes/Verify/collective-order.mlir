// RUN: lockstep-opt %s --verify-uniformity --split-input-file --verify-diagnostics -o /dev/null

// Collectives that replicas may not issue in the same sequence, each with the most similar correct step.

// A collective in straight-line code is issued by all replicas.
replica.step @straight(%x: tensor<4xf32> {replica.batch = "x"}) {
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  replica.return
}

// -----

// Only replica 0 issues the all_reduce, and waits for the others forever. Notes trace the condition back to replica.id. [10-varying-condition]
replica.step @only_replica_0(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{'replica.id' is different on each replica}}
  %id = replica.id : tensor<i32>
  %c0 = arith.constant 0 : i32
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %id[] : tensor<i32>
  // expected-note@+1 {{'arith.cmpi' makes it from a value that may differ}}
  %first = arith.cmpi eq, %i, %c0 : i32
  // expected-note@+1 {{the condition of this branch may differ between replicas ('scf.if')}}
  scf.if %first {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The correct step has a condition that is a host scalar, hence equal on all replicas. [2.3-control-flow]
replica.step @host_decides(%x: tensor<4xf32> {replica.batch = "x"}, %on: tensor<i1> {replica.scalar = "on"}) {
  %c = tensor.extract %on[] : tensor<i1>
  scf.if %c {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The condition is computed from the data of each replica, by a reduction: it skips the step if its own loss is not finite.
#map = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @own_loss(%x: tensor<4xf32> {replica.batch = "x"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %limit = arith.constant 1.0e+09 : f32
  // expected-note@+1 {{'linalg.generic' makes it from a value that may differ}}
  %sum = linalg.generic {indexing_maps = [#map, #scalar], iterator_types = ["reduction"]}
      ins(%x : tensor<4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<f32>
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %loss = tensor.extract %sum[] : tensor<f32>
  // expected-note@+1 {{'arith.cmpf' makes it from a value that may differ}}
  %finite = arith.cmpf olt, %loss, %limit : f32
  // expected-note@+1 {{the condition of this branch may differ between replicas ('scf.if')}}
  scf.if %finite {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
    %g = replica.all_reduce mean %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The correct step reduces the loss first, so that all replicas skip together.
replica.step @reduced_loss(%x: tensor<4xf32> {replica.batch = "x"}, %own: tensor<f32> {replica.batch = "loss"}) {
  %limit = arith.constant 1.0e+09 : f32
  %all = replica.all_reduce mean %own : tensor<f32>
  %loss = tensor.extract %all[] : tensor<f32>
  %finite = arith.cmpf olt, %loss, %limit : f32
  scf.if %finite {
    %g = replica.all_reduce mean %x : tensor<4xf32>
  }
  replica.return
}

// -----

// A captured value counts as an operand: the generic has no varying operand, but its body reads a varying value.
#map = affine_map<(d0) -> (d0)>
// expected-note@+1 {{batch argument 'n' is different on each replica}}
replica.step @captured(%x: tensor<4xf32> {replica.batch = "x"}, %n: tensor<i1> {replica.batch = "n"}) {
  %init = arith.constant dense<false> : tensor<1xi1>
  %c0 = arith.constant 0 : index
  // expected-note@+1 {{'linalg.generic' makes it from a value that may differ}}
  %t = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%init : tensor<1xi1>) {
  ^bb0(%out: i1):
    %v = tensor.extract %n[] : tensor<i1>
    linalg.yield %v : i1
  } -> tensor<1xi1>
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %c = tensor.extract %t[%c0] : tensor<1xi1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %c {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
    %g = replica.all_reduce mean %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The trip count is the replica's number of rows, which may be smaller in the last batch. [10-loops]
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @own_trip_count(%x: tensor<?xf32> {replica.batch = "x"}, %y: tensor<f32> {replica.batch = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note@+1 {{'tensor.dim' makes it from a value that may differ}}
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  // expected-note@+1 {{the trip count of this loop may differ between replicas ('scf.for')}}
  scf.for %i = %c0 to %n step %c1 {
    // expected-error@+1 {{'replica.all_reduce' is in a loop whose trip count may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %0 = replica.all_reduce sum %y : tensor<f32>
  }
  replica.return
}

// -----

// A static size does not depend on the contents of the tensor, so the trip count is uniform. [10-loops]
replica.step @static_trip_count(%x: tensor<8xf32> {replica.batch = "x"}, %y: tensor<f32> {replica.batch = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    %0 = replica.all_reduce sum %y : tensor<f32>
  }
  replica.return
}

// -----

// The loop ends when the replica's own error is small.
// expected-note@+1 {{batch argument 'e' is different on each replica}}
replica.step @own_convergence(%e: tensor<f32> {replica.batch = "e"}) {
  %small = arith.constant 1.0e-03 : f32
  // expected-note@+2 {{the trip count of this loop may differ between replicas ('scf.while')}}
  // expected-note@+1 {{'scf.while' carries it from a value that may differ}}
  %r = scf.while (%arg = %e) : (tensor<f32>) -> tensor<f32> {
    // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
    %v = tensor.extract %arg[] : tensor<f32>
    // expected-note@+1 {{'arith.cmpf' makes it from a value that may differ}}
    %go = arith.cmpf ogt, %v, %small : f32
    scf.condition(%go) %arg : tensor<f32>
  } do {
  ^bb0(%arg: tensor<f32>):
    // expected-error@+1 {{'replica.all_reduce' is in a loop whose trip count may differ}}
    %0 = replica.all_reduce sum %arg : tensor<f32>
    scf.yield %0 : tensor<f32>
  }
  replica.return
}

// -----

// The loop ends when the error of all replicas together is small.
replica.step @common_convergence(%e: tensor<f32> {replica.batch = "e"}) {
  %small = arith.constant 1.0e-03 : f32
  %start = replica.all_reduce sum %e : tensor<f32>
  %r = scf.while (%arg = %start) : (tensor<f32>) -> tensor<f32> {
    %v = tensor.extract %arg[] : tensor<f32>
    %go = arith.cmpf ogt, %v, %small : f32
    scf.condition(%go) %arg : tensor<f32>
  } do {
  ^bb0(%arg: tensor<f32>):
    %0 = replica.all_reduce sum %arg : tensor<f32>
    scf.yield %0 : tensor<f32>
  }
  replica.return
}

// -----

// A loop-carried value that varies from the second iteration on is the condition of a branch in the loop.
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @carried(%x: tensor<i1> {replica.batch = "x"}, %y: tensor<f32> {replica.batch = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = arith.constant dense<true> : tensor<i1>
  // expected-note@+1 {{'scf.for' carries it from a value that may differ}}
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%arg = %t) -> tensor<i1> {
    // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
    %c = tensor.extract %arg[] : tensor<i1>
    // expected-note@+1 {{the condition of this branch may differ}}
    scf.if %c {
      // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
      %0 = replica.all_reduce sum %y : tensor<f32>
    }
    scf.yield %x : tensor<i1>
  }
  replica.return
}

// -----

// Both yielded values are uniform, but which of them is yielded depends on the replica: control dependence, not data dependence.
replica.step @control_dependence(%x: tensor<4xf32> {replica.batch = "x"}) {
  %true = arith.constant true
  %false = arith.constant false
  // expected-note@+1 {{'replica.id' is different on each replica}}
  %id = replica.id : tensor<i32>
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %id[] : tensor<i32>
  // expected-note@+1 {{'arith.trunci' makes it from a value that may differ}}
  %odd = arith.trunci %i : i32 to i1
  // expected-note@+1 {{it depends on the path through this 'scf.if', whose condition may differ}}
  %c = scf.if %odd -> i1 {
    scf.yield %true : i1
  } else {
    scf.yield %false : i1
  }
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %c {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// Both sides provably issue the same sequence, so replicas may take either.
replica.step @same_sequence(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  %b = tensor.extract %c[] : tensor<i1>
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %r = scf.if %b -> tensor<4xf32> {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  } else {
    %double = arith.mulf %x, %two : tensor<4xf32>
    %0 = replica.all_reduce sum %double : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  replica.return
}

// -----

// One side issues a sum, the other one a mean. [10-reduction]
// expected-note@+1 {{batch argument 'c' is different on each replica}}
replica.step @other_reduction(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %b = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %b {
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

// The same collectives in another order: with equal shapes, values would be mixed up silently. [10-order]
// expected-note@+1 {{batch argument 'c' is different on each replica}}
replica.step @other_order(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %b = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %b {
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

// One side issues one collective more: the error is at the first one without a counterpart. [2.3-count, 10-nest]
// expected-note@+1 {{batch argument 'c' is different on each replica}}
replica.step @one_more(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %b = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %b {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  } else {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
    %1 = replica.all_reduce sum %0 : tensor<4xf32>
  }
  replica.return
}

// -----

// Uniform control flow on both sides is compared by its structure: same bounds, same body.
replica.step @same_loops(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}, %n_of: tensor<index> {replica.scalar = "n"}) {
  %n = tensor.extract %n_of[] : tensor<index>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.extract %c[] : tensor<i1>
  scf.if %b {
    scf.for %i = %c0 to %n step %c1 {
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    }
  } else {
    %zero = arith.constant 0 : index
    scf.for %i = %zero to %n step %c1 {
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// The same, but one side has one iteration more.
// expected-note@+1 {{batch argument 'c' is different on each replica}}
replica.step @other_loops(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %b = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %b {
    scf.for %i = %c0 to %c2 step %c1 {
      // expected-error@+2 {{'replica.all_reduce' is issued by some replicas, while others issue a different 'replica.all_reduce' in its place [E_COLLECTIVE_DIVERGENCE]}}
      // expected-note@+1 {{some replicas issue 'replica.all_reduce' sum}}
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    }
  } else {
    scf.for %i = %c0 to %c3 step %c1 {
      // expected-note@+1 {{other replicas issue 'replica.all_reduce' sum}}
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// An inner branch that issues the same sequence on both sides counts as that sequence, whatever its condition is.
replica.step @inner_branch(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<2xi1> {replica.batch = "c"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.extract %c[%c0] : tensor<2xi1>
  %d = tensor.extract %c[%c1] : tensor<2xi1>
  scf.if %b {
    scf.if %d {
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    } else {
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    }
  } else {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// Dynamic shapes cannot be proven equal: values of the same type may have different sizes.
// expected-note@+1 {{batch argument 'c' is different on each replica}}
replica.step @dynamic(%s_of: tensor<index> {replica.scalar = "s"}, %c: tensor<i1> {replica.batch = "c"}) {
  %s = tensor.extract %s_of[] : tensor<index>
  %e = tensor.empty(%s) : tensor<?xf32>
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %b = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %b {
    // expected-error@+2 {{while others issue a different 'replica.all_reduce' in its place}}
    // expected-note@+1 {{some replicas issue}}
    %0 = replica.all_reduce sum %e : tensor<?xf32>
  } else {
    // expected-note@+1 {{other replicas issue}}
    %0 = replica.all_reduce sum %e : tensor<?xf32>
  }
  replica.return
}

// -----

// All three cases of a switch have to issue the same sequence.
// expected-note@+1 {{batch argument 'k' is different on each replica}}
replica.step @switch(%x: tensor<4xf32> {replica.batch = "x"}, %k: tensor<index> {replica.batch = "k"}) {
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %k[] : tensor<index>
  // expected-note@+1 {{the condition of this branch may differ between replicas ('scf.index_switch')}}
  scf.index_switch %i
  case 0 {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield
  }
  case 1 {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield
  }
  default {
  }
  replica.return
}

// -----

// The correct switch issues it in each case.
replica.step @full_switch(%x: tensor<4xf32> {replica.batch = "x"}, %k: tensor<index> {replica.batch = "k"}) {
  %i = tensor.extract %k[] : tensor<index>
  scf.index_switch %i
  case 0 {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield
  }
  default {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// A parallel loop does not define the order of its iterations.
replica.step @parallel(%x: tensor<4xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-note@+1 {{'scf.parallel' is here}}
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    // expected-error@+1 {{'replica.all_reduce' is inside of 'scf.parallel', which does not say in which order or how often it is issued [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// Only odd replicas assign the variable, but the assignment adds up the values of all replicas, and waits for them.
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<sum>}
replica.step @aggregating(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{'replica.id' is different on each replica}}
  %id = replica.id : tensor<i32>
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %id[] : tensor<i32>
  // expected-note@+1 {{'arith.trunci' makes it from a value that may differ}}
  %odd = arith.trunci %i : i32 to i1
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %odd {
    // expected-error@+1 {{'replica.assign' is under a condition that may differ}}
    replica.assign @w, %x : tensor<4xf32>
  }
  replica.return
}

// -----

// An assignment to a variable that is synchronized on read does not wait for other replicas.
replica.variable @seen : tensor<4xf32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
replica.step @on_read(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  %b = tensor.extract %c[] : tensor<i1>
  scf.if %b {
    replica.assign_add @seen, %x : tensor<4xf32>
  }
  replica.return
}

// -----

// Calls have to be inlined first, so that the whole sequence is known. [10-calls]
func.func private @f()
replica.step @call() {
  // expected-error@+1 {{'func.call' is not inlined, so the order of collectives cannot be proven}}
  func.call @f() : () -> ()
  replica.return
}

// -----

// With one replica, all sequences agree, whatever its conditions are.
replica.strategy @one {kind = #replica.kind<one_device>}
replica.step @one_replica(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) -> (tensor<4xf32> {replica.metric = "x"}) {
  %b = tensor.extract %c[] : tensor<i1>
  scf.if %b {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return %x : tensor<4xf32>
}

// -----

// The front end has taken a branch for each replica separately: their programs differ [E_COLLECTIVE_DIVERGENCE]. [2.3-different, 10-varying-condition]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @static() {
  replica.run {
    // expected-note@+1 {{'replica.id' is different on each replica}}
    %i = replica.id : tensor<i32>
    // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
    %0 = tensor.extract %i[] : tensor<i32>
    %zero = arith.constant 0 : i32
    // expected-note@+1 {{'arith.cmpi' makes it from a value that may differ}}
    %first = arith.cmpi eq, %0, %zero : i32
    // expected-note@+1 {{the condition of this branch may differ between replicas ('scf.if')}}
    scf.if %first {
      // expected-error@+1 {{'replica.merge_call' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_DIVERGENCE]}}
      replica.merge_call {
      }
    } {replica.static}
    replica.yield
  }
  replica.return
}
