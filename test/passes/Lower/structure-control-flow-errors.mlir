// RUN: lockstep-opt %s --structure-control-flow --split-input-file -verify-diagnostics

replica.step @endless(%x: tensor<4xf32> {replica.batch = "x"}) {
  %c = arith.constant true
  cf.cond_br %c, ^loop, ^out
^loop:
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  // expected-error@+1 {{expected blocks that lead to the end of the step, found a loop without an end}}
  cf.br ^loop
^out:
  replica.return
}

// -----

// The result of a loop needs an initial value, which cannot be created if its size is dynamic.
// expected-error@+1 {{expected values of static shape between blocks, found 'tensor<?xf32>'}}
replica.step @dynamic(%x: tensor<?xf32> {replica.batch = "x", replica.bounds = array<i64: 8>}, %c: tensor<i1> {replica.scalar = "c"}) {
  %go = tensor.extract %c[] : tensor<i1>
  cf.br ^loop(%x : tensor<?xf32>)
^loop(%y: tensor<?xf32>):
  %0 = replica.all_reduce sum %y : tensor<?xf32>
  cf.cond_br %go, ^loop(%0 : tensor<?xf32>), ^out(%0 : tensor<?xf32>)
^out(%r: tensor<?xf32>):
  replica.return
}
