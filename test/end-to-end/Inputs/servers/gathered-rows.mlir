// The number of rows of all replicas together decides whether a variable is updated.
replica.variable @t : tensor<9x2xf32> {aggregation = #replica.aggregation<sum>, initial = dense<1.0> : tensor<9x2xf32>}
replica.variable @n : tensor<i64> {initial = dense<0> : tensor<i64>}
replica.step @step(%x: tensor<?x2xf32> {replica.batch = "x", replica.bounds = array<i64: 3>}, %y: tensor<9x2xf32> {replica.batch = "y"})
    -> (tensor<?x2xf32> {replica.result = "all"}) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %all = replica.all_gather %x axis 0 : tensor<?x2xf32> -> tensor<?x2xf32>
  %d = tensor.dim %all, %c0 : tensor<?x2xf32>
  %p = arith.cmpi sgt, %d, %c4 : index
  %di = arith.index_cast %d : index to i64
  %dt = tensor.from_elements %di : tensor<i64>
  replica.assign_add @n, %dt : tensor<i64>
  scf.if %p {
    replica.assign_add @t, %y : tensor<9x2xf32>
  }
  replica.return %all : tensor<?x2xf32>
}
