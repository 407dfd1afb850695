// Rows are looked up and changed in each iteration of a loop.
replica.variable @t : tensor<6x2xf32> {aggregation = #replica.aggregation<sum>, initial = dense<1.0> : tensor<6x2xf32>}
replica.step @step(%ids: tensor<3xi64> {replica.batch = "ids"}, %d: tensor<3x2xf32> {replica.batch = "d"},
                   %t: tensor<i32> {replica.scalar = "t"}) -> (tensor<3x2xf32> {replica.result = "rows"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t0 = tensor.extract %t[] : tensor<i32>
  %n = arith.index_cast %t0 : i32 to index
  %zero = arith.constant dense<0.0> : tensor<3x2xf32>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%v = %zero) -> tensor<3x2xf32> {
    %rows = replica.lookup @t, %ids : tensor<3xi64> -> tensor<3x2xf32>
    %ch = arith.mulf %rows, %d : tensor<3x2xf32>
    replica.scatter sub @t, %ids, %ch : tensor<3xi64>, tensor<3x2xf32>
    scf.yield %rows : tensor<3x2xf32>
  }
  replica.return %last : tensor<3x2xf32>
}
