// The gradient of a lookup, as large as the table, reduced and subtracted.
replica.variable @t : tensor<7x2xf32> {initial = dense<2.0> : tensor<7x2xf32>}
replica.step @step(%ids: tensor<3xi32> {replica.batch = "ids"}, %g: tensor<3x2xf32> {replica.batch = "g"})
    -> (tensor<3x2xf32> {replica.result = "rows"}) {
  %rows = replica.lookup @t, %ids : tensor<3xi32> -> tensor<3x2xf32>
  %d = arith.mulf %rows, %g : tensor<3x2xf32>
  %dense = replica.slices_to_dense %d at %ids : tensor<3x2xf32>, tensor<3xi32> -> tensor<7x2xf32>
  %m = replica.all_reduce mean %dense : tensor<7x2xf32>
  %t = replica.read @t : tensor<7x2xf32>
  %n = arith.subf %t, %m : tensor<7x2xf32>
  replica.assign @t, %n : tensor<7x2xf32>
  replica.return %rows : tensor<3x2xf32>
}
