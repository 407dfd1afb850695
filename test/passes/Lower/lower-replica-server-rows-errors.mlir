// RUN: lockstep-opt %s --partition-variables --lower-replica --split-input-file -verify-diagnostics

replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 2 : i64, servers = 1 : i64}
replica.variable @table : tensor<7x3xf32> {aggregation = #replica.aggregation<sum>}
replica.step @look_up(%ids: tensor<?xi64> {replica.batch = "ids"}) -> (tensor<?x3xf32> {replica.result = "rows"}) {
  // expected-error@+1 {{expected ids of one dimension, of a size with a known bound, for a table on parameter servers, found 'tensor<?xi64>'}}
  %rows = replica.lookup @table, %ids : tensor<?xi64> -> tensor<?x3xf32>
  replica.return %rows : tensor<?x3xf32>
}
