// A program of two steps, whose order depends on a host scalar.
replica.variable @w : tensor<f32> {aggregation = #replica.aggregation<sum>, initial = dense<1.0> : tensor<f32>}
replica.step @a(%x: tensor<f32>) -> tensor<f32> {
  replica.assign_add @w, %x : tensor<f32>
  %s = replica.all_reduce sum %x : tensor<f32>
  replica.return %s : tensor<f32>
}
replica.step @b(%x: tensor<f32>) -> tensor<f32> {
  %s = replica.all_reduce mean %x : tensor<f32>
  replica.assign_sub @w, %x : tensor<f32>
  replica.return %s : tensor<f32>
}
replica.program @main(%x: !replica.per_replica<tensor<f32>> {replica.batch = "x"}, %k: tensor<i32> {replica.scalar = "k"})
    -> (!replica.per_replica<tensor<f32>> {replica.result = "y"}) {
  %zero = arith.constant 0 : i32
  %e = tensor.extract %k[] : tensor<i32>
  %p = arith.cmpi sgt, %e, %zero : i32
  %y = scf.if %p -> !replica.per_replica<tensor<f32>> {
    %1 = replica.run @a(%x : !replica.per_replica<tensor<f32>>) -> !replica.per_replica<tensor<f32>>
    %2 = replica.run @b(%1 : !replica.per_replica<tensor<f32>>) -> !replica.per_replica<tensor<f32>>
    scf.yield %2 : !replica.per_replica<tensor<f32>>
  } else {
    %1 = replica.run @b(%x : !replica.per_replica<tensor<f32>>) -> !replica.per_replica<tensor<f32>>
    %2 = replica.run @a(%1 : !replica.per_replica<tensor<f32>>) -> !replica.per_replica<tensor<f32>>
    scf.yield %2 : !replica.per_replica<tensor<f32>>
  }
  replica.return %y : !replica.per_replica<tensor<f32>>
}
