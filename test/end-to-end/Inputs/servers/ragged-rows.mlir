// Each replica looks up and changes a different number of rows, and looks them up again.
replica.variable @t : tensor<7x2xf32> {aggregation = #replica.aggregation<mean>, initial = dense<2.0> : tensor<7x2xf32>}
replica.step @step(%ids: tensor<?xi32> {replica.batch = "ids", replica.bounds = array<i64: 4>})
    -> (tensor<?x2xf32> {replica.result = "rows"}) {
  %rows = replica.lookup @t, %ids : tensor<?xi32> -> tensor<?x2xf32>
  replica.scatter add @t, %ids, %rows : tensor<?xi32>, tensor<?x2xf32>
  %again = replica.lookup @t, %ids : tensor<?xi32> -> tensor<?x2xf32>
  replica.return %again : tensor<?x2xf32>
}
