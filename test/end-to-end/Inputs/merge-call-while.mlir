// Two iterations of a sum over both replicas, as an all_reduce and as a merge_call, in loops with a uniform trip count.
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "y"}, tensor<f32> {replica.result = "z"}) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %y:2 = scf.while (%i = %c0, %c = %x) : (i32, tensor<f32>) -> (i32, tensor<f32>) {
    %more = arith.cmpi slt, %i, %c2 : i32
    scf.condition(%more) %i, %c : i32, tensor<f32>
  } do {
  ^bb0(%i: i32, %c: tensor<f32>):
    %t = replica.all_reduce sum %c : tensor<f32>
    %next = arith.addi %i, %c1 : i32
    scf.yield %next, %t : i32, tensor<f32>
  }
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %z = scf.for %i = %i0 to %i2 step %i1 iter_args(%c = %x) -> tensor<f32> {
    %t = replica.merge_call (%c : tensor<f32>) -> tensor<f32> {
    ^bb0(%p: !replica.per_replica<tensor<f32>>):
      %s = replica.reduce_to sum %p : !replica.per_replica<tensor<f32>> -> !replica.mirrored<tensor<f32>>
      replica.yield %s : !replica.mirrored<tensor<f32>>
    }
    scf.yield %t : tensor<f32>
  }
  replica.return %y#1, %z : tensor<f32>, tensor<f32>
}

