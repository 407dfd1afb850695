// v = 3, 4; s = 7; s + v = 10, 11.
replica.step @step(%three: tensor<i32> {replica.scalar = "three"}) -> (tensor<i32> {replica.result = "y"}) {
  %id = replica.id : tensor<i32>
  %v = arith.addi %three, %id : tensor<i32>
  %s = replica.merge_call (%v : tensor<i32>) -> tensor<i32> {
  ^bb0(%a: !replica.per_replica<tensor<i32>>):
    %l:2 = replica.local_results %a : !replica.per_replica<tensor<i32>> -> tensor<i32>, tensor<i32>
    %t = arith.addi %l#0, %l#1 : tensor<i32>
    replica.yield %t : tensor<i32>
  }
  %y = arith.addi %s, %v : tensor<i32>
  replica.return %y : tensor<i32>
}

