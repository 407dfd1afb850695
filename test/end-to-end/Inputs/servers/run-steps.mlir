// A program of `run_steps`, with a variable that is synchronized on read.
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<mean>, initial = dense<0.0> : tensor<4xf32>}
replica.variable @seen : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>,
    initial = dense<0.0> : tensor<f32>}
replica.step @train(%x: tensor<4xf32>) -> tensor<f32> {
  %one = arith.constant dense<1.0> : tensor<f32>
  replica.assign_add @w, %x : tensor<4xf32>
  replica.assign_add @seen, %one : tensor<f32>
  %w = replica.read @w : tensor<4xf32>
  %z = arith.constant dense<0.0> : tensor<f32>
  %l = linalg.dot ins(%w, %x : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  replica.return %l : tensor<f32>
}
replica.program @main(%it: !replica.iterator<tensor<4xf32>> {replica.batches = ["x"]})
    -> (tensor<f32> {replica.result = "l"}, tensor<f32> {replica.result = "n"}) {
  %l = replica.run_steps 1 @train(%it : !replica.iterator<tensor<4xf32>>) {reductions = ["mean"]} -> tensor<f32>
  %n = replica.read @seen : tensor<f32>
  replica.return %l, %n : tensor<f32>, tensor<f32>
}
