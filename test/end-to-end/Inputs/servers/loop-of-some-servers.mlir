// A loop has exchanges of the replicas with one server; the loop's result decides whether they exchange data with the other server.
replica.variable @first : tensor<i32> {aggregation = #replica.aggregation<only_first_replica>, initial = dense<0> : tensor<i32>}
replica.variable @sum : tensor<f32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<f32>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}, %n: tensor<i32> {replica.batch = "n"}, %k: tensor<i32> {replica.scalar = "k"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %rounds = tensor.extract %k[] : tensor<i32>
  %turns = arith.index_cast %rounds : i32 to index
  %odd = scf.for %i = %c0 to %turns step %c1 iter_args(%flag = %true) -> i1 {
    replica.assign @first, %n : tensor<i32>
    %other = arith.xori %flag, %true : i1
    scf.yield %other : i1
  }
  scf.if %odd {
    replica.assign_add @sum, %x : tensor<f32>
  }
  replica.return
}
