// A sum decides in which of two tables rows are looked up, and which one is changed.
replica.variable @t : tensor<6x2xf32> {aggregation = #replica.aggregation<sum>, initial = dense<1.0> : tensor<6x2xf32>}
replica.variable @u : tensor<4x2xf32> {aggregation = #replica.aggregation<mean>, initial = dense<2.0> : tensor<4x2xf32>}
replica.step @step(%ids: tensor<3xi32> {replica.batch = "ids"}, %d: tensor<3x2xf32> {replica.batch = "d"},
                   %l: tensor<f32> {replica.batch = "l"}) -> (tensor<3x2xf32> {replica.result = "rows"}) {
  %zero = arith.constant 0.0 : f32
  %s = replica.all_reduce sum %l : tensor<f32>
  %e = tensor.extract %s[] : tensor<f32>
  %p = arith.cmpf ogt, %e, %zero : f32
  %r = scf.if %p -> tensor<3x2xf32> {
    %rows = replica.lookup @t, %ids : tensor<3xi32> -> tensor<3x2xf32>
    replica.scatter add @u, %ids, %d : tensor<3xi32>, tensor<3x2xf32>
    scf.yield %rows : tensor<3x2xf32>
  } else {
    %rows = replica.lookup @u, %ids : tensor<3xi32> -> tensor<3x2xf32>
    replica.scatter sub @t, %ids, %rows : tensor<3xi32>, tensor<3x2xf32>
    scf.yield %rows : tensor<3x2xf32>
  }
  replica.return %r : tensor<3x2xf32>
}
