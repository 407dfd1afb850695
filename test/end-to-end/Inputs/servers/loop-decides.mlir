// The result of a loop without exchanges decides about an update, in each iteration of another loop; so does the result of that one.
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
  %e = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %kk) -> i32 {
    %f = scf.for %j = %c0 to %i step %c1 iter_args(%a = %acc) -> i32 {
      %b = arith.muli %a, %a : i32
      scf.yield %b : i32
    }
    %g = arith.cmpi sgt, %f, %i1 : i32
    scf.if %g {
      replica.assign_add @total, %x : tensor<2xf32>
    }
    scf.yield %f : i32
  }
  %q = arith.cmpi sgt, %e, %i1 : i32
  scf.if %q {
    replica.assign_add @total, %x : tensor<2xf32>
  }
  replica.return
}
