// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Programs of two roles: replicas compute, servers have the variables. The format of these files is in ../programs/SuiteTest.cpp.

// wrong, blocks: only some replicas send the server their gradient
// Represents a server that waits for as many gradients as there are workers.
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, servers = 1 : i64}
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
replica.step @step(%g: tensor<4xf32> {replica.batch = "g"}, %late: tensor<i1> {replica.batch = "late"}) {
  %c = tensor.extract %late[] : tensor<i1>
  scf.if %c {
  } else {
    // expected-error@+1 {{'replica.assign_sub' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    replica.assign_sub @w, %g : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: a late replica sends zeros
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, servers = 1 : i64}
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
replica.step @step(%g: tensor<4xf32> {replica.batch = "g"}, %late: tensor<i1> {replica.batch = "late"}) {
  %c = tensor.extract %late[] : tensor<i1>
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %mine = arith.select %c, %zeros, %g : tensor<4xf32>
  replica.assign_sub @w, %mine : tensor<4xf32>
  replica.return
}

// -----

// wrong, blocks: two variables on two servers, in opposite order
// Represents workers that send to two servers in different orders: each server waits for the gradient that is sent second.
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, servers = 2 : i64}
replica.variable @a : tensor<4xf32> {aggregation = #replica.aggregation<sum>}
replica.variable @b : tensor<4xf32> {aggregation = #replica.aggregation<sum>}
replica.step @step(%g: tensor<4xf32> {replica.batch = "g"}, %h: tensor<4xf32> {replica.batch = "h"}, %swapped: tensor<i1> {replica.batch = "swapped"}) {
  %c = tensor.extract %swapped[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{'replica.assign_add' is issued by some replicas, while others issue a different 'replica.assign_add' in its place [E_COLLECTIVE_DIVERGENCE]}}
    replica.assign_add @b, %h : tensor<4xf32>
    replica.assign_add @a, %g : tensor<4xf32>
  } else {
    replica.assign_add @a, %g : tensor<4xf32>
    replica.assign_add @b, %h : tensor<4xf32>
  }
  replica.return
}

// -----

// correct: one order, whatever the values are
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, servers = 2 : i64}
replica.variable @a : tensor<4xf32> {aggregation = #replica.aggregation<sum>}
replica.variable @b : tensor<4xf32> {aggregation = #replica.aggregation<sum>}
replica.step @step(%g: tensor<4xf32> {replica.batch = "g"}, %h: tensor<4xf32> {replica.batch = "h"}, %swapped: tensor<i1> {replica.batch = "swapped"}) {
  %c = tensor.extract %swapped[] : tensor<i1>
  %first = arith.select %c, %h, %g : tensor<4xf32>
  %second = arith.select %c, %g, %h : tensor<4xf32>
  replica.assign_add @a, %first : tensor<4xf32>
  replica.assign_add @b, %second : tensor<4xf32>
  replica.return
}

// -----

// wrong, blocks: the number of row updates on the server depends on the replica's data
// Represents embedding updates whose number depends on the data of each worker.
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, servers = 1 : i64}
replica.variable @table : tensor<8x2xf32> {aggregation = #replica.aggregation<sum>}
replica.step @step(%ids: tensor<3xi64> {replica.batch = "ids"}, %rows: tensor<3x2xf32> {replica.batch = "rows"}, %pieces: tensor<i32> {replica.batch = "pieces"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n_i32 = tensor.extract %pieces[] : tensor<i32>
  %n = arith.index_cast %n_i32 : i32 to index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error@+1 {{'replica.scatter' is in a loop whose trip count may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    replica.scatter add @table, %ids, %rows : tensor<3xi64>, tensor<3x2xf32>
  }
  replica.return
}

// -----

// correct: one update per step
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, servers = 1 : i64}
replica.variable @table : tensor<8x2xf32> {aggregation = #replica.aggregation<sum>}
replica.step @step(%ids: tensor<3xi64> {replica.batch = "ids"}, %rows: tensor<3x2xf32> {replica.batch = "rows"}, %pieces: tensor<i32> {replica.batch = "pieces"}) {
  %n_i32 = tensor.extract %pieces[] : tensor<i32>
  %n = arith.index_cast %n_i32 : i32 to index
  %c1 = arith.constant 1 : index
  %some = arith.cmpi sge, %n, %c1 : index
  %zeros = arith.constant dense<0.0> : tensor<3x2xf32>
  %mine = arith.select %some, %rows, %zeros : tensor<3x2xf32>
  replica.scatter add @table, %ids, %mine : tensor<3xi64>, tensor<3x2xf32>
  replica.return
}

// -----

// wrong, copies differ: a value of one replica becomes the variable of all
// Represents a worker that overwrites what the others have learnt.
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, servers = 1 : i64}
replica.variable @w : tensor<4xf32>
replica.step @step(%g: tensor<4xf32> {replica.batch = "g"}) {
  %w = replica.read @w : tensor<4xf32>
  %new = arith.subf %w, %g : tensor<4xf32>
  // expected-error@+1 {{variable 'w' is assigned a value that may differ between replicas, and has no aggregation: its copies would diverge [E_AGG_NONE]}}
  replica.assign @w, %new : tensor<4xf32>
  replica.return
}

// -----

// correct: the new value is computed from the mean of the gradients
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, servers = 1 : i64}
replica.variable @w : tensor<4xf32>
replica.step @step(%g: tensor<4xf32> {replica.batch = "g"}) {
  %w = replica.read @w : tensor<4xf32>
  %mean = replica.all_reduce mean %g : tensor<4xf32>
  %new = arith.subf %w, %mean : tensor<4xf32>
  replica.assign @w, %new : tensor<4xf32>
  replica.return
}
