// A variable that is assigned and never read.
replica.variable @last : tensor<4xf32> {aggregation = #replica.aggregation<mean>, initial = dense<0.0> : tensor<4xf32>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.result = "y"}) {
  %y = replica.all_reduce mean %x : tensor<4xf32>
  replica.assign @last, %y : tensor<4xf32>
  replica.return %y : tensor<4xf32>
}
