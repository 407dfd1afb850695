// Rows of the first replica are scattered into a table: the maximum, a replacement and a product.
replica.variable @t : tensor<5x2xf32> {aggregation = #replica.aggregation<only_first_replica>, initial = dense<1.0> : tensor<5x2xf32>}
replica.step @step(%i: tensor<3xi32> {replica.batch = "i"}, %v: tensor<3x2xf32> {replica.batch = "v"})
    -> (tensor<3x2xf32> {replica.result = "y"}) {
  replica.scatter max @t, %i, %v : tensor<3xi32>, tensor<3x2xf32>
  replica.scatter update @t, %i, %v : tensor<3xi32>, tensor<3x2xf32>
  replica.scatter mul @t, %i, %v : tensor<3xi32>, tensor<3x2xf32>
  %y = replica.lookup @t, %i : tensor<3xi32> -> tensor<3x2xf32>
  replica.return %y : tensor<3x2xf32>
}
