// A momentum is colocated with its variable, which is divided into shards; the norm of two gradients decides what is updated.
replica.variable @w : tensor<6x2xf32> {initial = dense<1.0> : tensor<6x2xf32>}
replica.variable @b : tensor<2xf32> {initial = dense<2.0> : tensor<2xf32>}
replica.variable @mw : tensor<6x2xf32> {initial = dense<0.0> : tensor<6x2xf32>, colocate_with = @w}
replica.step @step(%x: tensor<6x2xf32> {replica.batch = "x"}, %y: tensor<2xf32> {replica.batch = "y"},
                   %lr: tensor<f32> {replica.scalar = "lr"}) -> (tensor<f32> {replica.metric = "norm"}) {
  %gw = replica.all_reduce mean %x : tensor<6x2xf32>
  %gb = replica.all_reduce mean %y : tensor<2xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %flat = tensor.collapse_shape %gw [[0, 1]] : tensor<6x2xf32> into tensor<12xf32>
  %n1 = linalg.dot ins(%flat, %flat : tensor<12xf32>, tensor<12xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %n = linalg.dot ins(%gb, %gb : tensor<2xf32>, tensor<2xf32>) outs(%n1 : tensor<f32>) -> tensor<f32>
  %e = tensor.extract %n[] : tensor<f32>
  %limit = arith.constant 4.0 : f32
  %big = arith.cmpf ogt, %e, %limit : f32
  %old = replica.read @mw : tensor<6x2xf32>
  %m = arith.addf %old, %gw : tensor<6x2xf32>
  replica.assign @mw, %m : tensor<6x2xf32>
  scf.if %big {
    %half = arith.constant dense<0.5> : tensor<6x2xf32>
    %s = arith.mulf %m, %half : tensor<6x2xf32>
    replica.assign_sub @w, %s : tensor<6x2xf32>
  } else {
    replica.assign_sub @w, %m : tensor<6x2xf32>
    replica.assign_sub @b, %gb : tensor<2xf32>
  }
  replica.return %n : tensor<f32>
}
