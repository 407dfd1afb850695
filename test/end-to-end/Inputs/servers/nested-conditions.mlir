// Nested branches with an update in each; the replicas take part only in the inner update.
replica.variable @total : tensor<2xf32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<2xf32>}
replica.variable @count : tensor<i32> {initial = dense<0> : tensor<i32>}
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}, %s: tensor<i1> {replica.scalar = "s"}, %t: tensor<i1> {replica.scalar = "t"}) {
  %one = arith.constant dense<1> : tensor<i32>
  %a = tensor.extract %s[] : tensor<i1>
  %b = tensor.extract %t[] : tensor<i1>
  scf.if %a {
    scf.if %b {
      replica.assign_add @total, %x : tensor<2xf32>
    }
    replica.assign_add @count, %one : tensor<i32>
  }
  replica.return
}
