// A program runs a step and a region on per-replica and plain values, reduces in several ways and reads a variable.
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<sum>, initial = dense<10.0> : tensor<f32>}
replica.step @double(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.addf %x, %x : tensor<2xf32>
  replica.return %0 : tensor<2xf32>
}
replica.program @main(%x: !replica.per_replica<tensor<2xf32>> {replica.batch = "x"}, %k: tensor<2xf32> {replica.scalar = "k"})
    -> (!replica.per_replica<tensor<2xf32>> {replica.result = "each"}, tensor<2xf32> {replica.result = "sum"},
        tensor<f32> {replica.result = "mean"}, tensor<2xf64> {replica.result = "ids"}, tensor<f32> {replica.result = "v"}) {
  %y = replica.run @double(%x : !replica.per_replica<tensor<2xf32>>) -> !replica.per_replica<tensor<2xf32>>
  %z = replica.run (%y, %k : !replica.per_replica<tensor<2xf32>>, tensor<2xf32>) -> !replica.per_replica<tensor<2xf32>> {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %0 = arith.mulf %a, %b : tensor<2xf32>
    %i = replica.id : tensor<i32>
    %f = arith.sitofp %i : tensor<i32> to tensor<f32>
    replica.assign_add @v, %f : tensor<f32>
    replica.yield %0 : tensor<2xf32>
  }
  %ids = replica.values_from_function -> !replica.per_replica<tensor<2xi32>> {
  ^bb0(%id: tensor<i32>):
    %i = tensor.extract %id[] : tensor<i32>
    %two = tensor.from_elements %i, %i : tensor<2xi32>
    replica.yield %two : tensor<2xi32>
  }
  %s = replica.reduce sum %z : !replica.per_replica<tensor<2xf32>> -> tensor<2xf32>
  %m = replica.reduce mean %z axes [0] : !replica.per_replica<tensor<2xf32>> -> tensor<f32>
  %n = replica.reduce mean %ids : !replica.per_replica<tensor<2xi32>> -> tensor<2xf64>
  %v = replica.read @v : tensor<f32>
  replica.return %z, %s, %m, %n, %v : !replica.per_replica<tensor<2xf32>>, tensor<2xf32>, tensor<f32>, tensor<2xf64>, tensor<f32>
}
