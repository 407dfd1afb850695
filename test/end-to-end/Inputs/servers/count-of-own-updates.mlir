// Each server updates its own shard in a loop; the number of iterations decides whether gradients are exchanged.
replica.variable @weights : tensor<2xf32> {initial = dense<4.0> : tensor<2xf32>}
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}, %s: tensor<i1> {replica.scalar = "s"}) {
  %u = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %go = tensor.extract %s[] : tensor<i1>
  %count = scf.while (%i = %c0) : (index) -> index {
    %in = arith.cmpi slt, %i, %c3 : index
    %both = arith.andi %in, %go : i1
    scf.condition(%both) %i : index
  } do {
  ^bb0(%i: index):
    replica.assign_sub @weights, %u : tensor<2xf32>
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  %often = arith.cmpi sgt, %count, %c1 : index
  scf.if %often {
    %g = replica.all_reduce mean %x : tensor<2xf32>
    replica.assign_add @weights, %g : tensor<2xf32>
  }
  replica.return
}
