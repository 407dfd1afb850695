// The mean over all examples where replicas have different numbers of examples, or none: sums and numbers of examples are added over the
// replicas, and over steps. @tally counts the examples of each replica separately.
replica.variable @sum : tensor<2xf32> {initial = dense<0.0> : tensor<2xf32>}
replica.variable @count : tensor<2xf32> {initial = dense<0.0> : tensor<2xf32>}
replica.variable @tally : tensor<f32> {initial = dense<0.0> : tensor<f32>, synchronization = #replica.synchronization<on_read>,
    aggregation = #replica.aggregation<sum>}
replica.step @step(%x: tensor<?x2xf32> {replica.batch = "x", replica.bounds = array<i64: 7>})
    -> (tensor<2xf32> {replica.metric = "mean"}, tensor<2xf32> {replica.metric = "mean_so_far"}, tensor<f32> {replica.metric = "examples"},
        tensor<f32> {replica.metric = "tally"}) {
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %mine = linalg.reduce ins(%x : tensor<?x2xf32>) outs(%zero : tensor<2xf32>) dimensions = [0] (%in: f32, %sum: f32) {
    %s = arith.addf %in, %sum : f32
    linalg.yield %s : f32
  }
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x2xf32>
  %integer = arith.index_cast %rows : index to i64
  %float = arith.sitofp %integer : i64 to f32
  %examples = tensor.from_elements %float : tensor<f32>
  %both = tensor.from_elements %float, %float : tensor<2xf32>
  %sum = replica.all_reduce sum %mine : tensor<2xf32>
  %count = replica.all_reduce sum %both : tensor<2xf32>
  %all = replica.all_reduce sum %examples : tensor<f32>
  %mean = arith.divf %sum, %count : tensor<2xf32>

  %sum_before = replica.read @sum : tensor<2xf32>
  %count_before = replica.read @count : tensor<2xf32>
  %sum_after = arith.addf %sum_before, %sum : tensor<2xf32>
  %count_after = arith.addf %count_before, %count : tensor<2xf32>
  replica.assign @sum, %sum_after : tensor<2xf32>
  replica.assign @count, %count_after : tensor<2xf32>
  %so_far = arith.divf %sum_after, %count_after : tensor<2xf32>

  replica.assign_add @tally, %examples : tensor<f32>
  %tally = replica.merge_call -> tensor<f32> {
    %t = replica.read @tally : tensor<f32>
    replica.yield %t : tensor<f32>
  }
  replica.return %mean, %so_far, %all, %tally : tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>
}
