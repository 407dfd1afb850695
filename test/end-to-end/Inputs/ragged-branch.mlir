// Branches that yield tensors of different sizes: one selects one of two arguments, one computes its result on each side, one gathers on each
// side. A size is static on one side of a branch, and one branch is nested in another.
replica.step @step(%x: tensor<?x2xf32> {replica.batch = "x", replica.bounds = array<i64: 5>}, %w: tensor<?x2xf32> {replica.batch = "w", replica.bounds = array<i64: 7>},
                   %k: tensor<i1> {replica.scalar = "k"}, %z: tensor<i1> {replica.batch = "z"})
    -> (tensor<?x2xf32> {replica.result = "chosen"}, tensor<?x2xf32> {replica.result = "computed"}, tensor<?x2xf32> {replica.result = "gathered"},
        tensor<2xf32> {replica.result = "sums"}) {
  %mine = tensor.extract %z[] : tensor<i1>
  %all = tensor.extract %k[] : tensor<i1>
  %chosen = scf.if %mine -> tensor<?x2xf32> {
    scf.yield %x : tensor<?x2xf32>
  } else {
    scf.yield %w : tensor<?x2xf32>
  }
  %computed = scf.if %mine -> tensor<?x2xf32> {
    %twice = arith.addf %x, %x : tensor<?x2xf32>
    scf.yield %twice : tensor<?x2xf32>
  } else {
    %inner = scf.if %all -> tensor<?x2xf32> {
      %one = arith.constant dense<1.0> : tensor<1x2xf32>
      %wide = tensor.cast %one : tensor<1x2xf32> to tensor<?x2xf32>
      scf.yield %wide : tensor<?x2xf32>
    } else {
      %square = arith.mulf %w, %w : tensor<?x2xf32>
      scf.yield %square : tensor<?x2xf32>
    }
    scf.yield %inner : tensor<?x2xf32>
  }
  %gathered = scf.if %all -> tensor<?x2xf32> {
    %g = replica.all_gather %computed axis 0 : tensor<?x2xf32> -> tensor<?x2xf32>
    scf.yield %g : tensor<?x2xf32>
  } else {
    %g = replica.all_gather %w axis 0 : tensor<?x2xf32> -> tensor<?x2xf32>
    %r = replica.all_gather %g axis 0 : tensor<?x2xf32> -> tensor<?x2xf32>
    scf.yield %r : tensor<?x2xf32>
  }
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %sums = linalg.reduce ins(%gathered : tensor<?x2xf32>) outs(%zero : tensor<2xf32>) dimensions = [0] (%in: f32, %sum: f32) {
    %s = arith.addf %in, %sum : f32
    linalg.yield %s : f32
  }
  replica.return %chosen, %computed, %gathered, %sums : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<2xf32>
}
