// All replicas read the aggregated value of an on_read variable, inside and outside of a merge_call.
replica.variable @s : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<mean>,
    initial = dense<0.0> : tensor<f32>}
replica.variable @w : tensor<f32> {initial = dense<0.0> : tensor<f32>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "s"}) {
  replica.assign_add @s, %x : tensor<f32>
  %s = replica.read @s {aggregated} : tensor<f32>
  replica.merge_call {
    %c = replica.read @s : tensor<f32>
    replica.assign @w, %c : tensor<f32>
    replica.yield
  }
  replica.return %s : tensor<f32>
}
