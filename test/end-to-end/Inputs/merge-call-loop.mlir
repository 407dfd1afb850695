// A ragged gather, and a merge_call that reduces and updates a variable, in a loop with a uniform trip count.
replica.variable @w : tensor<2xf32> {initial = dense<[1.0, 2.0]> : tensor<2xf32>}
replica.step @step(%x: tensor<?x2xf32> {replica.batch = "x", replica.bounds = array<i64: 4>}, %n: tensor<i32> {replica.scalar = "n"})
    -> (tensor<2xf32> {replica.result = "sum"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %trips = tensor.extract %n[] : tensor<i32>
  %end = arith.index_cast %trips : i32 to index
  %sum = scf.for %i = %c0 to %end step %c1 iter_args(%acc = %zero) -> tensor<2xf32> {
    %all = replica.all_gather %x axis 0 : tensor<?x2xf32> -> tensor<?x2xf32>
    %rows = linalg.reduce ins(%all : tensor<?x2xf32>) outs(%acc : tensor<2xf32>) dimensions = [0] (%in: f32, %s: f32) {
      %t = arith.addf %in, %s : f32
      linalg.yield %t : f32
    }
    %own = linalg.reduce ins(%x : tensor<?x2xf32>) outs(%zero : tensor<2xf32>) dimensions = [0] (%in: f32, %s: f32) {
      %t = arith.addf %in, %s : f32
      linalg.yield %t : f32
    }
    %new = replica.merge_call (%own : tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%p: !replica.per_replica<tensor<2xf32>>):
      %m = replica.reduce_to mean %p, @w : !replica.per_replica<tensor<2xf32>> -> !replica.mirrored<tensor<2xf32>>
      %u = replica.update @w (%m : !replica.mirrored<tensor<2xf32>>) -> tensor<2xf32> {
      ^bb1(%current: tensor<2xf32>, %d: tensor<2xf32>):
        %v = arith.addf %current, %d : tensor<2xf32>
        replica.yield %v, %v : tensor<2xf32>, tensor<2xf32>
      }
      replica.yield %u : tensor<2xf32>
    }
    %next = arith.addf %rows, %new : tensor<2xf32>
    scf.yield %next : tensor<2xf32>
  }
  replica.return %sum : tensor<2xf32>
}
