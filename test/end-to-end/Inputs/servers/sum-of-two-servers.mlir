// The sum of two servers' variables decides about an update, and the updated variable decides about the next one.
replica.variable @a : tensor<f32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<f32>}
replica.variable @b : tensor<f32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<f32>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) {
  %zero = arith.constant 0.0 : f32
  replica.assign_add @a, %x : tensor<f32>
  %va = replica.read @a : tensor<f32>
  %vb = replica.read @b : tensor<f32>
  %s = arith.addf %va, %vb : tensor<f32>
  %e = tensor.extract %s[] : tensor<f32>
  %p = arith.cmpf ogt, %e, %zero : f32
  scf.if %p {
    replica.assign_add @b, %x : tensor<f32>
    %vb2 = replica.read @b : tensor<f32>
    %e2 = tensor.extract %vb2[] : tensor<f32>
    %p2 = arith.cmpf ogt, %e2, %zero : f32
    scf.if %p2 {
      replica.assign_sub @a, %x : tensor<f32>
    }
  }
  replica.return
}
