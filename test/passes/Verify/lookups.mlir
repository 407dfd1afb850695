// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// A lookup in a table on servers is a collective: each server waits for the ids of all replicas.
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, servers = 1 : i64}
replica.variable @table : tensor<8x2xf32> {aggregation = #replica.aggregation<sum>}
replica.step @some_look_up(%ids: tensor<3xi64> {replica.batch = "ids"}, %c: tensor<i1> {replica.batch = "c"}) {
  %b = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ between replicas}}
  scf.if %b {
    // expected-error@+1 {{'replica.lookup' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %rows = replica.lookup @table, %ids : tensor<3xi64> -> tensor<3x2xf32>
  }
  replica.return
}

// -----

// All replicas look up rows, and some do not use them.
replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, servers = 1 : i64}
replica.variable @table : tensor<8x2xf32> {aggregation = #replica.aggregation<sum>}
replica.step @all_look_up(%ids: tensor<3xi64> {replica.batch = "ids"}, %c: tensor<i1> {replica.batch = "c"}) -> (tensor<3x2xf32> {replica.result = "y"}) {
  %b = tensor.extract %c[] : tensor<i1>
  %zeros = arith.constant dense<0.0> : tensor<3x2xf32>
  %rows = replica.lookup @table, %ids : tensor<3xi64> -> tensor<3x2xf32>
  %y = arith.select %b, %rows, %zeros : tensor<3x2xf32>
  replica.return %y : tensor<3x2xf32>
}

// -----

// If each replica has a copy of the table, lookups are local.
replica.strategy @mirrored {kind = #replica.kind<mirrored>}
replica.variable @table : tensor<8x2xf32> {aggregation = #replica.aggregation<sum>}
replica.step @own_copy(%ids: tensor<3xi64> {replica.batch = "ids"}, %c: tensor<i1> {replica.batch = "c"}) {
  %b = tensor.extract %c[] : tensor<i1>
  scf.if %b {
    %rows = replica.lookup @table, %ids : tensor<3xi64> -> tensor<3x2xf32>
  }
  replica.return
}
