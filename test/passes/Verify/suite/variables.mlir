// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Variables whose copies have to stay equal. The format of these files is in ../programs/SuiteTest.cpp.

// wrong, copies differ: only replica 0 updates the variable
// Represents variables that one replica updates (an average of weights, a running best): from then on the models differ, and there is
// no error.
replica.variable @w : tensor<2xf32>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : i32
  %id = replica.id : tensor<i32>
  %rank = tensor.extract %id[] : tensor<i32>
  %first = arith.cmpi eq, %rank, %c0 : i32
  %g = replica.all_reduce mean %x : tensor<2xf32>
  // expected-note@+1 {{the condition of this branch may differ between replicas}}
  scf.if %first {
    // expected-error@+1 {{variable 'w' is assigned under control flow that may differ between replicas, and has no aggregation: its copies would diverge [E_AGG_NONE]}}
    replica.assign_sub @w, %g : tensor<2xf32>
  }
  replica.return
}

// -----

// correct: all replicas update the variable
replica.variable @w : tensor<2xf32>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) {
  %g = replica.all_reduce mean %x : tensor<2xf32>
  replica.assign_sub @w, %g : tensor<2xf32>
  replica.return
}

// -----

// wrong, copies differ: the gradients are not reduced
// Represents a forgotten reduction: the loss goes down on every rank, for N models.
replica.variable @w : tensor<2xf32>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) {
  %rate = arith.constant dense<0.5> : tensor<2xf32>
  // expected-note@+1 {{'arith.mulf' makes it from a value that may differ}}
  %step = arith.mulf %x, %rate : tensor<2xf32>
  // expected-error@+1 {{variable 'w' is assigned a value that may differ between replicas, and has no aggregation: its copies would diverge [E_AGG_NONE]}}
  replica.assign_sub @w, %step : tensor<2xf32>
  replica.return
}

// -----

// correct: the variable's aggregation combines the gradients
replica.variable @w : tensor<2xf32> {aggregation = #replica.aggregation<mean>}
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) {
  %rate = arith.constant dense<0.5> : tensor<2xf32>
  %step = arith.mulf %x, %rate : tensor<2xf32>
  replica.assign_sub @w, %step : tensor<2xf32>
  replica.return
}

// -----

// wrong, copies differ: the statistics of each replica's batch in a variable whose copies should be equal
// Represents moving averages of batch normalization, which ranks compute for themselves and then save as if they were common.
replica.variable @mean : tensor<2xf32>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) {
  %keep = arith.constant dense<0.5> : tensor<2xf32>
  %old = replica.read @mean : tensor<2xf32>
  %delta = arith.subf %x, %old : tensor<2xf32>
  %part = arith.mulf %delta, %keep : tensor<2xf32>
  // expected-error@+1 {{variable 'mean' is assigned a value that may differ between replicas, and has no aggregation: its copies would diverge [E_AGG_NONE]}}
  replica.assign_add @mean, %part : tensor<2xf32>
  replica.return
}

// -----

// correct: each replica has its own statistics, and they are combined when they are read
replica.variable @mean : tensor<2xf32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<mean>}
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}) {
  %keep = arith.constant dense<0.5> : tensor<2xf32>
  %old = replica.read @mean : tensor<2xf32>
  %delta = arith.subf %x, %old : tensor<2xf32>
  %part = arith.mulf %delta, %keep : tensor<2xf32>
  replica.assign_add @mean, %part : tensor<2xf32>
  replica.return
}

// -----

// wrong, copies differ: a step counter does not count on replicas whose gradients are not finite
// Represents loss scaling that every rank decides from its own gradients: counters and scales diverge.
replica.variable @steps : tensor<i32>
replica.step @step(%norm: tensor<f32> {replica.batch = "norm"}) {
  %limit = arith.constant 1.0e+09 : f32
  %one = arith.constant dense<1> : tensor<i32>
  %n = tensor.extract %norm[] : tensor<f32>
  %finite = arith.cmpf olt, %n, %limit : f32
  scf.if %finite {
    // expected-error@+1 {{variable 'steps' is assigned under control flow that may differ between replicas, and has no aggregation: its copies would diverge [E_AGG_NONE]}}
    replica.assign_add @steps, %one : tensor<i32>
  }
  replica.return
}

// -----

// correct: if the gradients of one replica are not finite, no replica counts
replica.variable @steps : tensor<i32>
replica.step @step(%norm: tensor<f32> {replica.batch = "norm"}) {
  %limit = arith.constant 1.0e+09 : f32
  %one = arith.constant dense<1> : tensor<i32>
  %all = replica.all_reduce sum %norm : tensor<f32>
  %n = tensor.extract %all[] : tensor<f32>
  %finite = arith.cmpf olt, %n, %limit : f32
  scf.if %finite {
    replica.assign_add @steps, %one : tensor<i32>
  }
  replica.return
}

// -----

// wrong, blocks: only some replicas issue an assignment that adds up the values of all
// Represents aggregating assignments, which look local and are collectives.
replica.variable @seen : tensor<i32> {aggregation = #replica.aggregation<sum>}
replica.step @step(%rows: tensor<i32> {replica.batch = "rows"}) {
  %zero = arith.constant 0 : i32
  %n = tensor.extract %rows[] : tensor<i32>
  %some = arith.cmpi sgt, %n, %zero : i32
  scf.if %some {
    // expected-error@+1 {{'replica.assign_add' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    replica.assign_add @seen, %rows : tensor<i32>
  }
  replica.return
}

// -----

// correct: a replica without rows adds zero
replica.variable @seen : tensor<i32> {aggregation = #replica.aggregation<sum>}
replica.step @step(%rows: tensor<i32> {replica.batch = "rows"}) {
  replica.assign_add @seen, %rows : tensor<i32>
  replica.return
}

// -----

// wrong, blocks: a variable that is assigned under a varying condition decides about a collective
// Represents a state machine in variables whose state each rank changes by itself, steps before the one that hangs.
replica.variable @phase : tensor<i32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %small = arith.constant 1.0 : f32
  %one = arith.constant 1 : i32
  %next = arith.constant dense<1> : tensor<i32>
  %l = tensor.extract %loss[] : tensor<f32>
  %done = arith.cmpf olt, %l, %small : f32
  scf.if %done {
    replica.assign @phase, %next : tensor<i32>
  }
  // expected-note@+1 {{variable 'phase' is synchronized on read: each replica has its own value}}
  %phase = replica.read @phase : tensor<i32>
  %p = tensor.extract %phase[] : tensor<i32>
  %second = arith.cmpi eq, %p, %one : i32
  scf.if %second {
    // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: the state is that of all replicas, and changes when all of them are done
replica.variable @phase : tensor<i32>
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %small = arith.constant 1.0 : f32
  %one = arith.constant 1 : i32
  %next = arith.constant dense<1> : tensor<i32>
  %mean = replica.all_reduce mean %loss : tensor<f32>
  %l = tensor.extract %mean[] : tensor<f32>
  %done = arith.cmpf olt, %l, %small : f32
  scf.if %done {
    replica.assign @phase, %next : tensor<i32>
  }
  %phase = replica.read @phase : tensor<i32>
  %p = tensor.extract %phase[] : tensor<i32>
  %second = arith.cmpi eq, %p, %one : i32
  scf.if %second {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// wrong, copies differ: a number of each replica is assigned in a loop with a uniform trip count
// Represents seeds that ranks have to share (dropout masks, the order of the data) and do not.
replica.variable @state : tensor<i32>
replica.step @step(%rounds: tensor<i32> {replica.scalar = "rounds"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n_i32 = tensor.extract %rounds[] : tensor<i32>
  %n = arith.index_cast %n_i32 : i32 to index
  // expected-note@+1 {{'replica.id' is different on each replica}}
  %id = replica.id : tensor<i32>
  scf.for %i = %c0 to %n step %c1 {
    // expected-error@+1 {{variable 'state' is assigned a value that may differ between replicas}}
    replica.assign_add @state, %id : tensor<i32>
  }
  replica.return
}

// -----

// correct: the number of replicas is the same everywhere
replica.variable @state : tensor<i32>
replica.step @step(%rounds: tensor<i32> {replica.scalar = "rounds"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n_i32 = tensor.extract %rounds[] : tensor<i32>
  %n = arith.index_cast %n_i32 : i32 to index
  %count = replica.num_in_sync : tensor<i32>
  scf.for %i = %c0 to %n step %c1 {
    replica.assign_add @state, %count : tensor<i32>
  }
  replica.return
}

// -----

// wrong, results differ: each replica returns its own loss as the metric of the step
// Represents logs that show the loss of rank 0 as that of the step, and early stopping that depends on it.
// expected-error@+1 {{metric 'loss' may differ between replicas, expected a value that is equal on all of them; all_reduce it first}}
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}) -> (tensor<f32> {replica.metric = "loss"}) {
  replica.return %loss : tensor<f32>
}

// -----

// correct: the loss is reduced first
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}) -> (tensor<f32> {replica.metric = "loss"}) {
  %mean = replica.all_reduce mean %loss : tensor<f32>
  replica.return %mean : tensor<f32>
}

// -----

// wrong, copies differ: a variable is assigned a local value, and decides about a collective in the next line
// Represents one mistake with two effects: the copies differ first, and a later step hangs.
replica.variable @seen : tensor<i32>
replica.step @step(%rows: tensor<i32> {replica.batch = "rows"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %one = arith.constant 1 : i32
  // expected-error@+1 {{variable 'seen' is assigned a value that may differ between replicas, and has no aggregation: its copies would diverge [E_AGG_NONE]}}
  replica.assign_add @seen, %rows : tensor<i32>
  // expected-note@-1 {{the variable that it is read from gets a value here that may differ}}
  %seen = replica.read @seen : tensor<i32>
  %n = tensor.extract %seen[] : tensor<i32>
  %some = arith.cmpi sgt, %n, %one : i32
  scf.if %some {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: the rows of all replicas are added up first
replica.variable @seen : tensor<i32>
replica.step @step(%rows: tensor<i32> {replica.batch = "rows"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %one = arith.constant 1 : i32
  %all = replica.all_reduce sum %rows : tensor<i32>
  replica.assign_add @seen, %all : tensor<i32>
  %seen = replica.read @seen : tensor<i32>
  %n = tensor.extract %seen[] : tensor<i32>
  %some = arith.cmpi sgt, %n, %one : i32
  scf.if %some {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// wrong, blocks: only one replica reads the sum of all copies
// Represents metrics that only the first rank logs, from a value that is combined when it is read.
replica.variable @seen : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "seen"}) {
  replica.assign_add @seen, %x : tensor<f32>
  %c0 = arith.constant 0 : i32
  %id = replica.id : tensor<i32>
  %rank = tensor.extract %id[] : tensor<i32>
  %first = arith.cmpi eq, %rank, %c0 : i32
  %seen = scf.if %first -> tensor<f32> {
    %all = replica.read @seen {aggregated} : tensor<f32>
    scf.yield %all : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  replica.return %seen : tensor<f32>
}

// -----

// correct: it reads its own copy
replica.variable @seen : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "seen"}) {
  replica.assign_add @seen, %x : tensor<f32>
  %c0 = arith.constant 0 : i32
  %id = replica.id : tensor<i32>
  %rank = tensor.extract %id[] : tensor<i32>
  %first = arith.cmpi eq, %rank, %c0 : i32
  %seen = scf.if %first -> tensor<f32> {
    %own = replica.read @seen : tensor<f32>
    scf.yield %own : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  replica.return %seen : tensor<f32>
}
