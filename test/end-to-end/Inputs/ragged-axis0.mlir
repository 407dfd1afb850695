// Replicas contribute different numbers of rows; each receives all of them, in the order of replicas.
replica.step @step(%x: tensor<?x1xf32> {replica.batch = "x", replica.bounds = array<i64: 3>}) -> (tensor<?x1xf32> {replica.result = "y"}) {
  %y = replica.all_gather %x axis 0 : tensor<?x1xf32> -> tensor<?x1xf32>
  replica.return %y : tensor<?x1xf32>
}
