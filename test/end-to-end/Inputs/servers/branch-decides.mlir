// The condition of an update is computed from an element of a tensor that a branch yields.
replica.variable @total : tensor<2xf32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<2xf32>}
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}, %k: tensor<i32> {replica.scalar = "k"},
                   %s: tensor<i1> {replica.scalar = "s"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %t1 = arith.constant dense<1> : tensor<i32>
  %t2 = arith.constant dense<2> : tensor<i32>
  %kk = tensor.extract %k[] : tensor<i32>
  %ss = tensor.extract %s[] : tensor<i1>
  %kn = arith.index_cast %kk : i32 to index
  %sp = tensor.splat %kk : tensor<64xi32>
  %f = scf.if %ss -> tensor<64xi32> {
    %b = arith.muli %sp, %sp : tensor<64xi32>
    scf.yield %b : tensor<64xi32>
  } else {
    scf.yield %sp : tensor<64xi32>
  }
  %e = tensor.extract %f[%c3] : tensor<64xi32>
  %q = arith.cmpi sgt, %e, %i1 : i32
  scf.if %q {
    replica.assign_add @total, %x : tensor<2xf32>
  }
  replica.return
}
