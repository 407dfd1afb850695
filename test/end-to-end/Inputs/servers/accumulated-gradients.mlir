// Gradients are accumulated, and applied in every second iteration.
replica.variable @w : tensor<6xf32> {initial = dense<0.0> : tensor<6xf32>}
replica.variable @acc : tensor<6xf32> {initial = dense<0.0> : tensor<6xf32>}
replica.variable @n : tensor<i32> {initial = dense<0> : tensor<i32>}
replica.step @step(%x: tensor<6xf32> {replica.batch = "x"}, %t: tensor<i32> {replica.scalar = "t"})
    -> (tensor<i32> {replica.metric = "n"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant dense<1> : tensor<i32>
  %i1 = arith.constant 1 : i32
  %i0 = arith.constant 0 : i32
  %zeros = arith.constant dense<0.0> : tensor<6xf32>
  %t0 = tensor.extract %t[] : tensor<i32>
  %k = arith.index_cast %t0 : i32 to index
  scf.for %i = %c0 to %k step %c1 {
    %w = replica.read @w : tensor<6xf32>
    %e = arith.subf %x, %w : tensor<6xf32>
    %g = replica.all_reduce mean %e : tensor<6xf32>
    replica.assign_add @acc, %g : tensor<6xf32>
    replica.assign_add @n, %one : tensor<i32>
    %n = replica.read @n : tensor<i32>
    %n0 = tensor.extract %n[] : tensor<i32>
    %odd = arith.andi %n0, %i1 : i32
    %due = arith.cmpi eq, %odd, %i0 : i32
    scf.if %due {
      %a = replica.read @acc : tensor<6xf32>
      replica.assign_add @w, %a : tensor<6xf32>
      replica.assign @acc, %zeros : tensor<6xf32>
    }
  }
  %r = replica.read @n : tensor<i32>
  replica.return %r : tensor<i32>
}
