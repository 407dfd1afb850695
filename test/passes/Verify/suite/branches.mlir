// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Collectives that only some replicas reach. The format of these files is in ../programs/SuiteTest.cpp.

// wrong, blocks: only replica 0 reduces the loss, for the log
// Represents a call inside of "if rank == 0" that all ranks must make.
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}) -> (tensor<f32> {replica.metric = "zero"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %c0 = arith.constant 0 : i32
  // expected-note@+1 {{'replica.id' is different on each replica}}
  %id = replica.id : tensor<i32>
  %rank = tensor.extract %id[] : tensor<i32>
  %first = arith.cmpi eq, %rank, %c0 : i32
  // expected-note@+1 {{the condition of this branch may differ between replicas}}
  scf.if %first {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %mean = replica.all_reduce mean %loss : tensor<f32>
  }
  replica.return %zero : tensor<f32>
}

// -----

// correct: all replicas reduce the loss, and only replica 0 uses it
replica.variable @logged : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}) -> (tensor<f32> {replica.metric = "loss"}) {
  %c0 = arith.constant 0 : i32
  %id = replica.id : tensor<i32>
  %rank = tensor.extract %id[] : tensor<i32>
  %first = arith.cmpi eq, %rank, %c0 : i32
  %mean = replica.all_reduce mean %loss : tensor<f32>
  scf.if %first {
    replica.assign_add @logged, %mean : tensor<f32>
  }
  replica.return %mean : tensor<f32>
}

// -----

// wrong, blocks: a replica whose own loss is not finite skips the reduction of the gradients
// Represents the early return on a bad loss: the other ranks wait in the reduction of the gradients until it times out.
replica.variable @w : tensor<4xf32>
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %gradient: tensor<4xf32> {replica.batch = "gradient"}) {
  %limit = arith.constant 1.0e+09 : f32
  %own = tensor.extract %loss[] : tensor<f32>
  %finite = arith.cmpf olt, %own, %limit : f32
  scf.if %finite {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %g = replica.all_reduce mean %gradient : tensor<4xf32>
    // expected-error@+1 {{variable 'w' is assigned under control flow that may differ between replicas, and has no aggregation: its copies would diverge [E_AGG_NONE]}}
    replica.assign_sub @w, %g : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: the loss is reduced first, so that all replicas skip the step together
replica.variable @w : tensor<4xf32>
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %gradient: tensor<4xf32> {replica.batch = "gradient"}) {
  %limit = arith.constant 1.0e+09 : f32
  %all = replica.all_reduce mean %loss : tensor<f32>
  %common = tensor.extract %all[] : tensor<f32>
  %finite = arith.cmpf olt, %common, %limit : f32
  scf.if %finite {
    %g = replica.all_reduce mean %gradient : tensor<4xf32>
    replica.assign_sub @w, %g : tensor<4xf32>
  }
  replica.return
}

// -----

// wrong, blocks: each replica evaluates when its own loss is the best so far
// Represents evaluation in the training loop that each rank starts by its own decision (PyTorch issue 143647 hangs on such an order).
replica.variable @best : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<mean>}
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %hits: tensor<f32> {replica.batch = "hits"}) {
  %best = replica.read @best : tensor<f32>
  %b = tensor.extract %best[] : tensor<f32>
  %l = tensor.extract %loss[] : tensor<f32>
  %better = arith.cmpf olt, %l, %b : f32
  scf.if %better {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %accuracy = replica.all_reduce sum %hits : tensor<f32>
  }
  replica.return
}

// -----

// correct: the best loss is that of all replicas
replica.variable @best : tensor<f32>
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %hits: tensor<f32> {replica.batch = "hits"}) {
  %best = replica.read @best : tensor<f32>
  %b = tensor.extract %best[] : tensor<f32>
  %mean = replica.all_reduce mean %loss : tensor<f32>
  %l = tensor.extract %mean[] : tensor<f32>
  %better = arith.cmpf olt, %l, %b : f32
  scf.if %better {
    %accuracy = replica.all_reduce sum %hits : tensor<f32>
    replica.assign @best, %mean : tensor<f32>
  }
  replica.return
}

// -----

// wrong, blocks: both sides of a branch yield a constant, but which one depends on the replica
// Represents flags that are set in a branch: the value is a literal, but the path to it differs.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %true = arith.constant true
  %false = arith.constant false
  %one = arith.constant 1 : i32
  %id = replica.id : tensor<i32>
  %i = tensor.extract %id[] : tensor<i32>
  %odd = arith.andi %i, %one : i32
  %is_odd = arith.cmpi eq, %odd, %one : i32
  %flag = scf.if %is_odd -> tensor<i1> {
    // This assignment keeps the branch from being folded to a select.
    replica.assign_add @ways, %id : tensor<i32>
    %t = arith.constant dense<true> : tensor<i1>
    scf.yield %t : tensor<i1>
  } else {
    %f = arith.constant dense<false> : tensor<i1>
    scf.yield %f : tensor<i1>
  }
  %c = tensor.extract %flag[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}
replica.variable @ways : tensor<i32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}

// -----

// correct: the flag is set depending on a host scalar
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %log: tensor<i1> {replica.scalar = "log"}) {
  %id = replica.id : tensor<i32>
  %l = tensor.extract %log[] : tensor<i1>
  %flag = scf.if %l -> tensor<i1> {
    replica.assign_add @ways, %id : tensor<i32>
    %t = arith.constant dense<true> : tensor<i1>
    scf.yield %t : tensor<i1>
  } else {
    %f = arith.constant dense<false> : tensor<i1>
    scf.yield %f : tensor<i1>
  }
  %c = tensor.extract %flag[] : tensor<i1>
  scf.if %c {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}
replica.variable @ways : tensor<i32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}

// -----

// wrong, blocks: each replica has a counter of its own for every second step
// Represents periodic work (averaging, a checkpoint) that is started by a counter that ranks do not share.
replica.variable @steps : tensor<i32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %rows: tensor<i32> {replica.batch = "rows"}) {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  replica.assign_add @steps, %rows : tensor<i32>
  // expected-note@+1 {{variable 'steps' is synchronized on read}}
  %steps = replica.read @steps : tensor<i32>
  %n = tensor.extract %steps[] : tensor<i32>
  %odd = arith.andi %n, %one : i32
  %due = arith.cmpi eq, %odd, %zero : i32
  scf.if %due {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %0 = replica.all_reduce mean %x : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: the counter is one variable that is equal on all replicas
replica.variable @steps : tensor<i32> {aggregation = #replica.aggregation<only_first_replica>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %one = arith.constant 1 : i32
  %ones = arith.constant dense<1> : tensor<i32>
  %zero = arith.constant 0 : i32
  replica.assign_add @steps, %ones : tensor<i32>
  %steps = replica.read @steps : tensor<i32>
  %n = tensor.extract %steps[] : tensor<i32>
  %odd = arith.andi %n, %one : i32
  %due = arith.cmpi eq, %odd, %zero : i32
  scf.if %due {
    %0 = replica.all_reduce mean %x : tensor<4xf32>
  }
  replica.return
}

// -----

// wrong, blocks: a branch on a uniform condition is nested in a branch on a varying one
// Represents a helper that is safe by itself, and is called from a place that is not.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %skip: tensor<i1> {replica.batch = "skip"}, %on: tensor<i1> {replica.scalar = "on"}) {
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %s = tensor.extract %skip[] : tensor<i1>
  %o = tensor.extract %on[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ between replicas}}
  scf.if %s {
  } else {
    scf.if %o {
      // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW]}}
      %0 = replica.all_reduce sum %x : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// correct: the collective depends only on the uniform condition
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %skip: tensor<i1> {replica.batch = "skip"}, %on: tensor<i1> {replica.scalar = "on"})
    -> (tensor<4xf32> {replica.result = "y"}) {
  %s = tensor.extract %skip[] : tensor<i1>
  %o = tensor.extract %on[] : tensor<i1>
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %mine = scf.if %s -> tensor<4xf32> {
    scf.yield %zeros : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  %y = scf.if %o -> tensor<4xf32> {
    %0 = replica.all_reduce sum %mine : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  } else {
    scf.yield %mine : tensor<4xf32>
  }
  replica.return %y : tensor<4xf32>
}

// -----

// wrong, blocks: one of the three cases of a switch has no collective
// Represents modes of a step (warm-up, train, drain) that each worker chooses by itself.
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %mode: tensor<i32> {replica.batch = "mode"}) {
  %m_i32 = tensor.extract %mode[] : tensor<i32>
  %m = arith.index_cast %m_i32 : i32 to index
  // expected-note@+1 {{the condition of this branch may differ between replicas ('scf.index_switch')}}
  scf.index_switch %m
  case 0 {
    // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW]}}
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

// correct: all three cases have the collective
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %mode: tensor<i32> {replica.batch = "mode"}) {
  %m_i32 = tensor.extract %mode[] : tensor<i32>
  %m = arith.index_cast %m_i32 : i32 to index
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %twos = arith.constant dense<2.0> : tensor<4xf32>
  scf.index_switch %m
  case 0 {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    scf.yield
  }
  case 1 {
    %half = arith.divf %x, %twos : tensor<4xf32>
    %0 = replica.all_reduce sum %half : tensor<4xf32>
    scf.yield
  }
  default {
    %0 = replica.all_reduce sum %zeros : tensor<4xf32>
  }
  replica.return
}

// -----

// wrong, blocks: the rank is compared with a number that is smaller than that of the replicas
// Represents programs that were written for a fixed number of devices.
replica.step @below_one(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  %count = arith.constant 1 : i32
  %i = tensor.extract %id[] : tensor<i32>
  %below = arith.cmpi slt, %i, %count : i32
  scf.if %below {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: the rank is compared with a number that is larger
replica.step @below_eight(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32>
  %count = arith.constant 8 : i32
  %i = tensor.extract %id[] : tensor<i32>
  %below = arith.cmpi slt, %i, %count : i32
  scf.if %below {
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}
