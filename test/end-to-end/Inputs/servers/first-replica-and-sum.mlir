// Each iteration assigns the first replica's value to one variable and adds a sum to another; the last value read is the loop's result.
replica.variable @a : tensor<7x2xf32> {aggregation = #replica.aggregation<only_first_replica>, initial = dense<1.0> : tensor<7x2xf32>}
replica.variable @b : tensor<5xf32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<5xf32>}
replica.step @step(%x: tensor<7x2xf32> {replica.batch = "x"}, %y: tensor<5xf32> {replica.batch = "y"},
                   %t: tensor<i32> {replica.scalar = "t"})
    -> (tensor<7x2xf32> {replica.result = "a"}, tensor<5xf32> {replica.result = "b"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t0 = tensor.extract %t[] : tensor<i32>
  %n = arith.index_cast %t0 : i32 to index
  %zero = arith.constant dense<0.0> : tensor<7x2xf32>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%v = %zero) -> tensor<7x2xf32> {
    %a = replica.read @a : tensor<7x2xf32>
    %d = arith.mulf %a, %x : tensor<7x2xf32>
    replica.assign @a, %d : tensor<7x2xf32>
    replica.assign_sub @b, %y : tensor<5xf32>
    scf.yield %a : tensor<7x2xf32>
  }
  %b = replica.read @b : tensor<5xf32>
  replica.return %last, %b : tensor<7x2xf32>, tensor<5xf32>
}
