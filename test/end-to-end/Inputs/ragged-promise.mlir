// The number of rows is static in the result's type: replicas need not exchange their sizes, and another number at run time is an error.
replica.step @step(%x: tensor<1x?x3xf32> {replica.batch = "x", replica.bounds = array<i64: 3>}) -> (tensor<1x5x3xf32> {replica.result = "y"}) {
  %y = replica.all_gather %x axis 1 : tensor<1x?x3xf32> -> tensor<1x5x3xf32>
  replica.return %y : tensor<1x5x3xf32>
}
