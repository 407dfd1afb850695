// A variable that is synchronized on read, and one that is assigned or added to, depending on a host scalar.
replica.variable @seen : tensor<i64> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>,
    initial = dense<0> : tensor<i64>}
replica.variable @best : tensor<f32> {aggregation = #replica.aggregation<mean>, initial = dense<9.0> : tensor<f32>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}, %k: tensor<i64> {replica.batch = "k"},
                   %log: tensor<i1> {replica.scalar = "log"}) -> (tensor<i64> {replica.result = "n"}) {
  replica.assign_add @seen, %k : tensor<i64>
  %l = tensor.extract %log[] : tensor<i1>
  scf.if %l {
    replica.assign @best, %x : tensor<f32>
  } else {
    replica.assign_add @best, %x : tensor<f32>
  }
  %n = replica.read @seen : tensor<i64>
  replica.return %n : tensor<i64>
}
