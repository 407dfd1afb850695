// Replicas take different paths, both of which read and update the same variables.
replica.variable @a : tensor<4xf32> {aggregation = #replica.aggregation<mean>, initial = dense<1.0> : tensor<4xf32>}
replica.variable @b : tensor<4xf32> {aggregation = #replica.aggregation<sum>, initial = dense<1.0> : tensor<4xf32>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  %q = tensor.extract %c[] : tensor<i1>
  scf.if %q {
    %v = replica.read @a : tensor<4xf32>
    %d = arith.mulf %v, %x : tensor<4xf32>
    replica.assign_sub @a, %d : tensor<4xf32>
    replica.assign_add @b, %x : tensor<4xf32>
  } else {
    %v = replica.read @a : tensor<4xf32>
    %d = arith.addf %v, %x : tensor<4xf32>
    replica.assign_sub @a, %d : tensor<4xf32>
    %e = arith.addf %d, %x : tensor<4xf32>
    replica.assign_add @b, %e : tensor<4xf32>
  }
  replica.return
}
