// The sizes that differ between replicas are those of an inner axis.
replica.step @step(%x: tensor<1x?x3xf32> {replica.batch = "x", replica.bounds = array<i64: 3>}) -> (tensor<1x?x3xf32> {replica.result = "y"}) {
  %y = replica.all_gather %x axis 1 : tensor<1x?x3xf32> -> tensor<1x?x3xf32>
  replica.return %y : tensor<1x?x3xf32>
}
