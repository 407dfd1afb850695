// One call gathers two values, of which only one is ragged.
replica.step @step(%a: tensor<1xi32> {replica.batch = "a"}, %b: tensor<?x2xi32> {replica.batch = "b", replica.bounds = array<i64: 2>})
    -> (tensor<2xi32> {replica.result = "a"}, tensor<?x2xi32> {replica.result = "b"}) {
  %y:2 = replica.all_gather %a, %b axis 0 : tensor<1xi32>, tensor<?x2xi32> -> tensor<2xi32>, tensor<?x2xi32>
  replica.return %y#0, %y#1 : tensor<2xi32>, tensor<?x2xi32>
}
