// A step whose mean loss is too large updates only a counter; the branch is between blocks.
replica.variable @w : tensor<2xf32> {initial = dense<1.0> : tensor<2xf32>}
replica.variable @skipped : tensor<i32> {initial = dense<0> : tensor<i32>}
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}, %loss: tensor<f32> {replica.batch = "loss"})
    -> (tensor<f32> {replica.metric = "loss"}) {
  %limit = arith.constant 1.0 : f32
  %all = replica.all_reduce mean %loss : tensor<f32>
  %l = tensor.extract %all[] : tensor<f32>
  %ok = arith.cmpf olt, %l, %limit : f32
  cf.cond_br %ok, ^go, ^skip
^skip:
  %one = arith.constant dense<1> : tensor<i32>
  replica.assign_add @skipped, %one : tensor<i32>
  cf.br ^end
^go:
  %g = replica.all_reduce mean %x : tensor<2xf32>
  replica.assign_sub @w, %g : tensor<2xf32>
  cf.br ^end
^end:
  replica.return %all : tensor<f32>
}
