// The result's type promises how many rows there are: nothing has to be exchanged first, and another number is an error.
replica.step @step(%x: tensor<1x?x3xf32> {replica.batch = "x", replica.bounds = array<i64: 3>}) -> (tensor<1x5x3xf32> {replica.result = "y"}) {
  %y = replica.all_gather %x axis 1 : tensor<1x?x3xf32> -> tensor<1x5x3xf32>
  replica.return %y : tensor<1x5x3xf32>
}
