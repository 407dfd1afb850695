// The largest element of a variable decides in each iteration which variable is updated.
replica.variable @a : tensor<4xf32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<4xf32>}
replica.variable @b : tensor<4xf32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<4xf32>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %turns: tensor<i32> {replica.scalar = "turns"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t0 = tensor.extract %turns[] : tensor<i32>
  %n = arith.index_cast %t0 : i32 to index
  %lim = arith.constant 3.0 : f32
  %init = arith.constant dense<-1.0e+30> : tensor<f32>
  scf.for %i = %c0 to %n step %c1 {
    %va = replica.read @a : tensor<4xf32>
    %m = linalg.reduce ins(%va : tensor<4xf32>) outs(%init : tensor<f32>) dimensions = [0] (%in: f32, %out: f32) {
      %mm = arith.maximumf %in, %out : f32
      linalg.yield %mm : f32 }
    %e = tensor.extract %m[] : tensor<f32>
    %p = arith.cmpf olt, %e, %lim : f32
    scf.if %p {
      replica.assign_add @a, %x : tensor<4xf32>
    } else {
      replica.assign_add @b, %x : tensor<4xf32>
    }
  }
  replica.return
}
