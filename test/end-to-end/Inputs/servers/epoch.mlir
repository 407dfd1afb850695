// A program that trains with momentum until the loss is small or there are no more batches.
replica.variable @w : tensor<4xf32> {initial = dense<0.0> : tensor<4xf32>}
replica.variable @m : tensor<4xf32> {initial = dense<0.0> : tensor<4xf32>, colocate_with = @w}
replica.step @train(%x: tensor<4xf32>) -> tensor<f32> {
  %w = replica.read @w : tensor<4xf32>
  %m = replica.read @m : tensor<4xf32>
  %e = arith.subf %w, %x : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %l = linalg.dot ins(%e, %e : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %g = replica.all_reduce mean %e : tensor<4xf32>
  %half = arith.constant dense<0.5> : tensor<4xf32>
  %mm = arith.mulf %m, %half : tensor<4xf32>
  %m2 = arith.addf %mm, %g : tensor<4xf32>
  replica.assign @m, %m2 : tensor<4xf32>
  %st = arith.mulf %m2, %half : tensor<4xf32>
  replica.assign_sub @w, %st : tensor<4xf32>
  replica.return %l : tensor<f32>
}
replica.program @main(%it: !replica.iterator<tensor<4xf32>> {replica.batches = ["x"]})
    -> (tensor<f32> {replica.result = "loss"}, tensor<i64> {replica.result = "n"}) {
  %n = replica.num_batches %it : !replica.iterator<tensor<4xf32>> -> tensor<i64>
  %zero = arith.constant dense<0> : tensor<i64>
  %one = arith.constant dense<1> : tensor<i64>
  %big = arith.constant dense<100.0> : tensor<f32>
  %lim = arith.constant dense<2.0> : tensor<f32>
  %k, %loss = scf.while (%i = %zero, %l = %big) : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>) {
    %a = arith.cmpi slt, %i, %n : tensor<i64>
    %b = arith.cmpf ogt, %l, %lim : tensor<f32>
    %c = arith.andi %a, %b : tensor<i1>
    %d = tensor.extract %c[] : tensor<i1>
    scf.condition(%d) %i, %l : tensor<i64>, tensor<f32>
  } do {
  ^bb0(%i: tensor<i64>, %l: tensor<f32>):
    %x = replica.next %it : !replica.iterator<tensor<4xf32>>
    %each = replica.run @train(%x : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<f32>>
    %mean = replica.reduce mean %each : !replica.per_replica<tensor<f32>> -> tensor<f32>
    %next = arith.addi %i, %one : tensor<i64>
    scf.yield %next, %mean : tensor<i64>, tensor<f32>
  }
  replica.return %loss, %k : tensor<f32>, tensor<i64>
}
