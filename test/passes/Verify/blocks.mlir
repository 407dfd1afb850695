// RUN: lockstep-opt %s --verify-uniformity --split-input-file --verify-diagnostics -o /dev/null

// Unstructured control flow: blocks between a branch and its immediate post-dominator, which all replicas reach again, are executed
// depending on the branch's condition.

// Replicas return early if their own loss is not finite, and the others wait in the all_reduce. [10-varying-condition]
// expected-note@+1 {{batch argument 'ok' is different on each replica}}
replica.step @early_return(%ok: tensor<i1> {replica.batch = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %c = tensor.extract %ok[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ between replicas ('cf.cond_br')}}
  cf.cond_br %c, ^go, ^stop
^stop:
  replica.return
^go:
  // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  replica.return
}

// -----

// All replicas reach the join.
replica.step @join(%ok: tensor<i1> {replica.batch = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %c = tensor.extract %ok[] : tensor<i1>
  cf.cond_br %c, ^left, ^right
^left:
  cf.br ^join
^right:
  cf.br ^join
^join:
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  replica.return
}

// -----

// The argument of the join depends on the path, though both values are constants.
// expected-note@+1 {{batch argument 'ok' is different on each replica}}
replica.step @argument_of_join(%ok: tensor<i1> {replica.batch = "ok"}) -> (tensor<f32> {replica.metric = "m"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %one = arith.constant dense<1.0> : tensor<f32>
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %c = tensor.extract %ok[] : tensor<i1>
  // expected-note@+1 {{it depends on the path through this 'cf.cond_br', whose condition may differ}}
  cf.cond_br %c, ^join(%zero : tensor<f32>), ^join(%one : tensor<f32>)
// expected-error@+1 {{metric 'm' may differ between replicas}}
^join(%v: tensor<f32>):
  replica.return %v : tensor<f32>
}

// -----

// Each replica leaves the loop on its own condition, so the number of counted iterations differs.
// expected-note@+1 {{batch argument 'ok' is different on each replica}}
replica.step @count_rounds(%ok: tensor<4xi1> {replica.batch = "ok"}) -> (tensor<f32> {replica.metric = "m"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %c0 = arith.constant 0 : index
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %c = tensor.extract %ok[%c0] : tensor<4xi1>
  cf.br ^loop(%zero : tensor<f32>)
^loop(%n: tensor<f32>):
  // expected-error@+1 {{metric 'm' may differ between replicas}}
  %next = arith.addf %n, %one : tensor<f32>
  // expected-note@+1 {{it depends on the path through this 'cf.cond_br', whose condition may differ}}
  cf.cond_br %c, ^loop(%next : tensor<f32>), ^done
^done:
  replica.return %next : tensor<f32>
}

// -----

// The same with a condition that is equal on all replicas.
replica.step @common_rounds(%ok: tensor<4xi1> {replica.scalar = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "m"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %c0 = arith.constant 0 : index
  %c = tensor.extract %ok[%c0] : tensor<4xi1>
  cf.br ^loop(%zero : tensor<f32>)
^loop(%n: tensor<f32>):
  %next = arith.addf %n, %one : tensor<f32>
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  cf.cond_br %c, ^loop(%next : tensor<f32>), ^done
^done:
  replica.return %next : tensor<f32>
}

// -----

// Both paths to a return issue the same collective, so the early return is correct.
replica.step @equal_ends(%ok: tensor<i1> {replica.batch = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %c = tensor.extract %ok[] : tensor<i1>
  cf.cond_br %c, ^go, ^stop
^stop:
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  replica.return
^go:
  %1 = arith.negf %x : tensor<4xf32>
  %2 = replica.all_reduce sum %1 : tensor<4xf32>
  replica.return
}

// -----

// The same with more branches: all paths issue the same sequence.
replica.step @equal_ways(%ok: tensor<2xi1> {replica.batch = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = tensor.extract %ok[%c0] : tensor<2xi1>
  %d = tensor.extract %ok[%c1] : tensor<2xi1>
  cf.cond_br %c, ^left, ^right
^left:
  cf.cond_br %d, ^a, ^b
^a:
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b:
  %1 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^right:
  %2 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^join:
  %3 = replica.all_reduce mean %x : tensor<4xf32>
  replica.return
}

// -----

// One path issues a sum, the other one a mean.
// expected-note@+1 {{batch argument 'ok' is different on each replica}}
replica.step @unequal_ways(%ok: tensor<i1> {replica.batch = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %c = tensor.extract %ok[] : tensor<i1>
  // expected-note@+1 {{all_reduce mean of tensor<4xf32>}}
  cf.cond_br %c, ^left, ^right
^left:
  // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
  %1 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^right:
  %2 = replica.all_reduce mean %x : tensor<4xf32>
  cf.br ^join
^join:
  replica.return
}

// -----

// A loop in a block that some replicas do not reach: they do not reach the collective in the loop either.
// expected-note@+1 {{batch argument 'ok' is different on each replica}}
replica.step @loop_behind_exit(%ok: tensor<i1> {replica.batch = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %c = tensor.extract %ok[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ between replicas ('cf.cond_br')}}
  cf.cond_br %c, ^go, ^stop
^stop:
  replica.return
^go:
  scf.for %i = %c0 to %c4 step %c1 {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
    %0 = replica.all_reduce sum %x : tensor<4xf32>
  }
  replica.return
}

// -----

// The sides of the inner branch issue the same collective, but the path from the outer branch to the join issues none.
// expected-note@+1 {{batch argument 'ok' is different on each replica}}
replica.step @outer_exit(%ok: tensor<2xi1> {replica.batch = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %c = tensor.extract %ok[%c0] : tensor<2xi1>
  %d = tensor.extract %ok[%c1] : tensor<2xi1>
  // expected-note@+1 {{the condition of this branch may differ}}
  cf.cond_br %c, ^in, ^join
^in:
  cf.cond_br %d, ^a, ^b
^a:
  // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^b:
  %1 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^join:
  replica.return
}

// -----

// The same where two branches share a block: the sides of one branch issue the same collective, those of the other do not.
// expected-note@+1 {{batch argument 'ok' is different on each replica}}
replica.step @shared_block(%ok: tensor<2xi1> {replica.batch = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}, %on: tensor<i1> {replica.scalar = "on"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %c = tensor.extract %ok[%c0] : tensor<2xi1>
  %d = tensor.extract %ok[%c1] : tensor<2xi1>
  %e = tensor.extract %on[] : tensor<i1>
  cf.cond_br %e, ^p, ^q
^p:
  // expected-note@+1 {{the condition of this branch may differ}}
  cf.cond_br %c, ^shared, ^join
^q:
  cf.cond_br %d, ^shared, ^other
^shared:
  // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ}}
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^other:
  %1 = replica.all_reduce sum %x : tensor<4xf32>
  cf.br ^join
^join:
  replica.return
}
