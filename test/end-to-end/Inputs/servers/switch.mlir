// Each case updates one variable and reads one, which is another one in some cases.
replica.variable @a : tensor<2xf32> {aggregation = #replica.aggregation<sum>, initial = dense<1.0> : tensor<2xf32>}
replica.variable @b : tensor<2xf32> {aggregation = #replica.aggregation<mean>, initial = dense<1.0> : tensor<2xf32>}
replica.variable @c : tensor<2xf32> {aggregation = #replica.aggregation<only_first_replica>, initial = dense<1.0> : tensor<2xf32>}
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}, %m: tensor<i32> {replica.scalar = "m"})
    -> (tensor<2xf32> {replica.result = "y"}) {
  %i = tensor.extract %m[] : tensor<i32>
  %m1 = arith.index_cast %i : i32 to index
  %y = scf.index_switch %m1 -> tensor<2xf32>
  case 0 {
    replica.assign_add @a, %x : tensor<2xf32>
    %r = replica.read @a : tensor<2xf32>
    scf.yield %r : tensor<2xf32>
  }
  case 1 {
    replica.assign_add @b, %x : tensor<2xf32>
    %r = replica.read @c : tensor<2xf32>
    scf.yield %r : tensor<2xf32>
  }
  default {
    replica.assign @c, %x : tensor<2xf32>
    %r = replica.read @b : tensor<2xf32>
    scf.yield %r : tensor<2xf32>
  }
  replica.return %y : tensor<2xf32>
}
