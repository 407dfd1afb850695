// Three steps on the batches of a program; the results of the last step are returned, reduced or per replica.
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<f32>}
replica.step @train(%x: tensor<1xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %l = linalg.reduce ins(%x : tensor<1xf32>) outs(%zero : tensor<f32>) dimensions = [0]
    (%in: f32, %out: f32) {
      %s = arith.addf %in, %out : f32
      linalg.yield %s : f32
    }
  replica.assign_add @v, %l : tensor<f32>
  replica.return %l, %l, %l : tensor<f32>, tensor<f32>, tensor<f32>
}
replica.program @main(%it: !replica.iterator<tensor<1xf32>> {replica.batches = ["x"]})
    -> (tensor<f32> {replica.result = "mean"}, tensor<f32> {replica.result = "sum"}, !replica.per_replica<tensor<f32>> {replica.result = "each"}, tensor<i64> {replica.result = "n"}) {
  %m, %s, %e = replica.run_steps 3 @train(%it : !replica.iterator<tensor<1xf32>>)
      {reductions = ["mean", "sum", "none"], non_tensor_outputs = {about = {optimizer = "none", rates = [1.0]}}}
      -> tensor<f32>, tensor<f32>, !replica.per_replica<tensor<f32>>
  %n = replica.num_batches %it : !replica.iterator<tensor<1xf32>> -> tensor<i64>
  replica.return %m, %s, %e, %n : tensor<f32>, tensor<f32>, !replica.per_replica<tensor<f32>>, tensor<i64>
}
