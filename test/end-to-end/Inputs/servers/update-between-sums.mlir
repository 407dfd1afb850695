// The first of two sums decides about an update of a variable that the second one needs: in one bucket, the server would wait for the first forever.
replica.variable @v : tensor<2xf32> {initial = dense<1.0> : tensor<2xf32>}
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"})
    -> (tensor<2xf32> {replica.metric = "first"}, tensor<2xf32> {replica.metric = "second"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ones = arith.constant dense<1.0> : tensor<2xf32>
  %first = replica.all_reduce sum %x : tensor<2xf32>
  %e = tensor.extract %first[%c0] : tensor<2xf32>
  %positive = arith.cmpf ogt, %e, %zero : f32
  scf.if %positive {
    replica.assign_add @v, %ones : tensor<2xf32>
  }
  %v = replica.read @v : tensor<2xf32>
  %y = arith.mulf %v, %x : tensor<2xf32>
  %second = replica.all_reduce sum %y : tensor<2xf32>
  replica.return %first, %second : tensor<2xf32>, tensor<2xf32>
}
