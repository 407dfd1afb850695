// Slices of different numbers of rows are combined, and added to a table by replicas and by the program.
replica.variable @table : tensor<6x2xf32> {aggregation = #replica.aggregation<sum>, initial = dense<1.0> : tensor<6x2xf32>}
replica.program @main(%v: !replica.per_replica<tensor<?x2xf32>> {replica.batch = "v", replica.bounds = array<i64: 4>},
                      %i: !replica.per_replica<tensor<?xi64>> {replica.batch = "i", replica.bounds = array<i64: 4>})
    -> (tensor<?x2xf32> {replica.result = "values"}, tensor<?xi64> {replica.result = "indices"}) {
  replica.run (%v, %i : !replica.per_replica<tensor<?x2xf32>>, !replica.per_replica<tensor<?xi64>>) {
  ^bb0(%mine: tensor<?x2xf32>, %places: tensor<?xi64>):
    replica.scatter sub @table, %places, %mine : tensor<?xi64>, tensor<?x2xf32>
    replica.yield
  }
  %all, %at = replica.reduce_slices mean %v at %i : !replica.per_replica<tensor<?x2xf32>>, !replica.per_replica<tensor<?xi64>>
      -> tensor<?x2xf32>, tensor<?xi64>
  replica.scatter max @table, %at, %all : tensor<?xi64>, tensor<?x2xf32>
  replica.return %all, %at : tensor<?x2xf32>, tensor<?xi64>
}
