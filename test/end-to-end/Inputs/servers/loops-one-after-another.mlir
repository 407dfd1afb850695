// Two consecutive loops whose counters are in memory.
replica.variable @w : tensor<2xf32> {aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<2xf32>}
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}, %s: tensor<i1> {replica.scalar = "s"}, %t: tensor<i1> {replica.scalar = "t"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %again = tensor.extract %s[] : tensor<i1>
  %first = tensor.extract %t[] : tensor<i1>
  %a:2 = scf.while (%i = %c0, %go = %first) : (index, i1) -> (index, i1) {
    %in = arith.cmpi slt, %i, %c3 : index
    %both = arith.andi %in, %go : i1
    scf.condition(%both) %i, %go : index, i1
  } do {
  ^bb0(%i: index, %go: i1):
    replica.assign_add @w, %x : tensor<2xf32>
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %again : index, i1
  }
  %b:2 = scf.while (%i = %c0, %go = %first) : (index, i1) -> (index, i1) {
    %in = arith.cmpi slt, %i, %c3 : index
    %both = arith.andi %in, %go : i1
    scf.condition(%both) %i, %go : index, i1
  } do {
  ^bb0(%i: index, %go: i1):
    replica.assign_add @w, %x : tensor<2xf32>
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %go : index, i1
  }
  replica.return
}
