// A training loop ends with its data, or when the loss, which is equal on all replicas, is small enough.
replica.variable @w : tensor<f32> {aggregation = #replica.aggregation<mean>, initial = dense<64.0> : tensor<f32>}
replica.program @main(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]})
    -> (tensor<i64> {replica.result = "steps"}, tensor<f32> {replica.result = "loss"}) {
  %n = replica.num_batches %it : !replica.iterator<tensor<f32>> -> tensor<i64>
  %zero = arith.constant dense<0> : tensor<i64>
  %one = arith.constant dense<1> : tensor<i64>
  %enough = arith.constant dense<5.0> : tensor<f32>
  %start = arith.constant dense<100.0> : tensor<f32>
  %steps, %loss = scf.while (%i = %zero, %l = %start) : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>) {
    %left = arith.cmpi slt, %i, %n : tensor<i64>
    %large = arith.cmpf ogt, %l, %enough : tensor<f32>
    %both = arith.andi %left, %large : tensor<i1>
    %goes = tensor.extract %both[] : tensor<i1>
    scf.condition(%goes) %i, %l : tensor<i64>, tensor<f32>
  } do {
  ^bb0(%i: tensor<i64>, %l: tensor<f32>):
    %x = replica.next %it : !replica.iterator<tensor<f32>>
    %each = replica.run (%x : !replica.per_replica<tensor<f32>>) -> !replica.per_replica<tensor<f32>> {
    ^bb0(%mine: tensor<f32>):
      %w = replica.read @w : tensor<f32>
      %half = arith.constant dense<0.5> : tensor<f32>
      %less = arith.mulf %w, %half : tensor<f32>
      %new = arith.addf %less, %mine : tensor<f32>
      replica.assign @w, %new : tensor<f32>
      replica.yield %new : tensor<f32>
    }
    %loss = replica.reduce mean %each : !replica.per_replica<tensor<f32>> -> tensor<f32>
    %next = arith.addi %i, %one : tensor<i64>
    scf.yield %next, %loss : tensor<i64>, tensor<f32>
  }
  replica.return %steps, %loss : tensor<i64>, tensor<f32>
}
