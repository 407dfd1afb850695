// The value that a variable had before the step is a result, although the step assigns it.
replica.variable @w : tensor<f32> {initial = dense<10.0> : tensor<f32>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "old"}, tensor<f32> {replica.result = "new"}) {
  %old = replica.read @w : tensor<f32>
  %s = replica.all_reduce sum %x : tensor<f32>
  %new = arith.addf %old, %s : tensor<f32>
  replica.assign @w, %new : tensor<f32>
  replica.return %old, %new : tensor<f32>, tensor<f32>
}
