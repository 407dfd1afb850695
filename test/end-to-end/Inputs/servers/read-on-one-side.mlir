// Only some replicas use the value of a variable.
replica.variable @a : tensor<4xf32> {aggregation = #replica.aggregation<mean>, initial = dense<1.0> : tensor<4xf32>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"})
    -> (tensor<4xf32> {replica.result = "y"}) {
  %q = tensor.extract %c[] : tensor<i1>
  %y = scf.if %q -> tensor<4xf32> {
    %v = replica.read @a : tensor<4xf32>
    %d = arith.mulf %v, %x : tensor<4xf32>
    scf.yield %d : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  replica.assign_add @a, %y : tensor<4xf32>
  replica.return %y : tensor<4xf32>
}
