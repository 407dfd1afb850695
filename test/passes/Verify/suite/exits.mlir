// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Steps with early exits: control flow between blocks. The format of these files is in ../programs/SuiteTest.cpp.

// wrong, blocks: a replica returns when its own loss is not finite
// Represents the early return on a bad loss, written as a return: the other replicas wait in the reduction after it.
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %limit = arith.constant 1.0e+09 : f32
  %l = tensor.extract %loss[] : tensor<f32>
  %finite = arith.cmpf olt, %l, %limit : f32
  // expected-note@+1 {{the condition of this branch may differ between replicas ('cf.cond_br')}}
  cf.cond_br %finite, ^go, ^stop
^stop:
  replica.return
^go:
  // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
  %0 = replica.all_reduce mean %x : tensor<4xf32>
  replica.return
}

// -----

// correct: all replicas return together
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %limit = arith.constant 1.0e+09 : f32
  %all = replica.all_reduce mean %loss : tensor<f32>
  %l = tensor.extract %all[] : tensor<f32>
  %finite = arith.cmpf olt, %l, %limit : f32
  cf.cond_br %finite, ^go, ^stop
^stop:
  replica.return
^go:
  %0 = replica.all_reduce mean %x : tensor<4xf32>
  replica.return
}

// -----

// wrong, results differ: which variable the join receives depends on the replica
// Represents a status that each rank reports as that of the step.
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}) -> (tensor<i32> {replica.metric = "status"}) {
  %limit = arith.constant 1.0e+09 : f32
  %l = tensor.extract %loss[] : tensor<f32>
  %finite = arith.cmpf olt, %l, %limit : f32
  cf.cond_br %finite, ^fine, ^bad
^fine:
  %a = replica.read @a : tensor<i32>
  cf.br ^join(%a : tensor<i32>)
^bad:
  %b = replica.read @b : tensor<i32>
  cf.br ^join(%b : tensor<i32>)
// expected-error@+1 {{metric 'status' may differ between replicas}}
^join(%status: tensor<i32>):
  replica.return %status : tensor<i32>
}
replica.variable @a : tensor<i32>
replica.variable @b : tensor<i32>

// -----

// correct: the loss of all replicas decides
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}) -> (tensor<i32> {replica.metric = "status"}) {
  %limit = arith.constant 1.0e+09 : f32
  %all = replica.all_reduce mean %loss : tensor<f32>
  %l = tensor.extract %all[] : tensor<f32>
  %finite = arith.cmpf olt, %l, %limit : f32
  cf.cond_br %finite, ^fine, ^bad
^fine:
  %a = replica.read @a : tensor<i32>
  cf.br ^join(%a : tensor<i32>)
^bad:
  %b = replica.read @b : tensor<i32>
  cf.br ^join(%b : tensor<i32>)
^join(%status: tensor<i32>):
  replica.return %status : tensor<i32>
}
replica.variable @a : tensor<i32>
replica.variable @b : tensor<i32>

// -----

// wrong, blocks: each replica leaves a loop depending on its own data
// Represents "break" on a local condition.
replica.step @step(%stop: tensor<4xi1> {replica.batch = "stop"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  cf.br ^head(%c0 : index)
^head(%i: index):
  %more = arith.cmpi slt, %i, %c4 : index
  cf.cond_br %more, ^look, ^out
^look:
  %s = tensor.extract %stop[%i] : tensor<4xi1>
  cf.cond_br %s, ^out, ^body
^body:
  // expected-error@+1 {{[E_COLLECTIVE_IN_CONTROL_FLOW]}}
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  %next = arith.addi %i, %c1 : index
  cf.br ^head(%next : index)
^out:
  replica.return
}

// -----

// correct: a host scalar decides when all replicas leave the loop
replica.step @step(%stop: tensor<4xi1> {replica.scalar = "stop"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  cf.br ^head(%c0 : index)
^head(%i: index):
  %more = arith.cmpi slt, %i, %c4 : index
  cf.cond_br %more, ^look, ^out
^look:
  %s = tensor.extract %stop[%i] : tensor<4xi1>
  cf.cond_br %s, ^out, ^body
^body:
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  %next = arith.addi %i, %c1 : index
  cf.br ^head(%next : index)
^out:
  replica.return
}
