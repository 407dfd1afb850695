// Work on ragged values before and after they are gathered, two of them in one call, and a gather in a loop with a uniform trip count.
replica.step @step(%x: tensor<?x3xf32> {replica.batch = "x", replica.bounds = array<i64: 5>}, %z: tensor<?xi32> {replica.batch = "z", replica.bounds = array<i64: 4>})
    -> (tensor<?x3xf32> {replica.result = "twice"}, tensor<?xi32> {replica.result = "z"}, tensor<3xf32> {replica.result = "sums"},
        tensor<3xf32> {replica.result = "looped"}, tensor<i64> {replica.result = "rows"}) {
  %twice = arith.addf %x, %x : tensor<?x3xf32>
  %all = replica.all_gather %twice axis 0 : tensor<?x3xf32> -> tensor<?x3xf32>
  %three = arith.constant 3 : i32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %z, %c0 : tensor<?xi32>
  %empty = tensor.empty(%n) : tensor<?xi32>
  %scaled = linalg.map ins(%z : tensor<?xi32>) outs(%empty : tensor<?xi32>) (%in: i32, %out: i32) {
    %p = arith.muli %in, %three : i32
    linalg.yield %p : i32
  }
  %both:2 = replica.all_gather %x, %scaled axis 0 : tensor<?x3xf32>, tensor<?xi32> -> tensor<?x3xf32>, tensor<?xi32>
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %sums = linalg.reduce ins(%both#0 : tensor<?x3xf32>) outs(%zero : tensor<3xf32>) dimensions = [0] (%in: f32, %sum: f32) {
    %s = arith.addf %in, %sum : f32
    linalg.yield %s : f32
  }
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %looped = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> tensor<3xf32> {
    %g = replica.all_gather %x axis 0 : tensor<?x3xf32> -> tensor<?x3xf32>
    %next = linalg.reduce ins(%g : tensor<?x3xf32>) outs(%acc : tensor<3xf32>) dimensions = [0] (%in: f32, %sum: f32) {
      %s = arith.addf %in, %sum : f32
      linalg.yield %s : f32
    }
    scf.yield %next : tensor<3xf32>
  }
  %rows = tensor.dim %all, %c0 : tensor<?x3xf32>
  %count = arith.index_cast %rows : index to i64
  %counted = tensor.from_elements %count : tensor<i64>
  replica.return %all, %both#1, %sums, %looped, %counted : tensor<?x3xf32>, tensor<?xi32>, tensor<3xf32>, tensor<3xf32>, tensor<i64>
}
