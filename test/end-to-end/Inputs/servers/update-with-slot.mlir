// An update in a merge_call reads and assigns a colocated variable, and its result is returned to the replicas.
replica.variable @w : tensor<4xf32> {initial = dense<1.0> : tensor<4xf32>}
replica.variable @m : tensor<4xf32> {initial = dense<0.0> : tensor<4xf32>, colocate_with = @w}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "s"}) {
  %s = replica.merge_call (%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%px: !replica.per_replica<tensor<4xf32>>):
    %sum = replica.reduce_to sum %px, @w : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
    %new = replica.update @w (%sum : tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%cur: tensor<4xf32>, %d: tensor<4xf32>):
      %m = replica.read @m : tensor<4xf32>
      %mm = arith.addf %m, %d : tensor<4xf32>
      replica.assign @m, %mm : tensor<4xf32>
      %n = arith.subf %cur, %mm : tensor<4xf32>
      replica.yield %n, %mm : tensor<4xf32>, tensor<4xf32>
    }
    replica.yield %new : tensor<4xf32>
  }
  replica.return %s : tensor<4xf32>
}
