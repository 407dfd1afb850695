// The replica's number selects one of three paths, all of which update the same variable; two of them read it.
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<sum>, initial = dense<1.0> : tensor<4xf32>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.result = "y"}) {
  %id = replica.id : tensor<i32>
  %e = tensor.extract %id[] : tensor<i32>
  %k = arith.index_cast %e : i32 to index
  %y = scf.index_switch %k -> tensor<4xf32>
  case 0 {
    replica.assign_add @w, %x : tensor<4xf32>
    %w = replica.read @w : tensor<4xf32>
    scf.yield %w : tensor<4xf32>
  }
  case 1 {
    %d = arith.addf %x, %x : tensor<4xf32>
    replica.assign_add @w, %d : tensor<4xf32>
    %w = replica.read @w : tensor<4xf32>
    %q = arith.mulf %w, %x : tensor<4xf32>
    scf.yield %q : tensor<4xf32>
  }
  default {
    %z = arith.constant dense<0.0> : tensor<4xf32>
    replica.assign_add @w, %z : tensor<4xf32>
    scf.yield %x : tensor<4xf32>
  }
  replica.return %y : tensor<4xf32>
}
