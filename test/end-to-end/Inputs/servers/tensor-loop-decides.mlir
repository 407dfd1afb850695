// The condition of an update is computed from a tensor that a loop carries.
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
  %f = scf.while (%a = %k) : (tensor<i32>) -> tensor<i32> {
    %p = arith.cmpi slt, %a, %t2 : tensor<i32>
    %pe = tensor.extract %p[] : tensor<i1>
    scf.condition(%pe) %a : tensor<i32>
  } do {
  ^bb0(%a: tensor<i32>):
    %b = arith.addi %a, %t1 : tensor<i32>
    scf.yield %b : tensor<i32>
  }
  %e = tensor.extract %f[] : tensor<i32>
  %q = arith.cmpi sgt, %e, %i1 : i32
  scf.if %q {
    replica.assign_add @total, %x : tensor<2xf32>
  }
  replica.return
}
