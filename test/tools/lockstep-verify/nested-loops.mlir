// Nested loops whose counters are in memory: in each of them, the condition of the next iteration is sent to all roles.

// RUN: split-file %s %t
// RUN: env LOCKSTEP_CACHE=%t.cache lockstep-verify %t/counters.mlir --replicas=2 --strategy=parameter_server_sync --servers=2 --partitioner="fixed 2" | FileCheck %s
// RUN: env LOCKSTEP_CACHE=%t.cache lockstep-verify %t/break.mlir --replicas=2 --strategy=parameter_server_sync --servers=2 --partitioner="fixed 2" | FileCheck %s
// RUN: env LOCKSTEP_CACHE=%t.cache lockstep-verify %t/break.mlir --replicas=2 -O0 --strategy=parameter_server_sync --servers=1 | FileCheck %s
// RUN: env LOCKSTEP_CACHE=%t.cache lockstep-verify %t/one-after-another.mlir --replicas=2 --strategy=parameter_server_sync --servers=1 | FileCheck %s

// CHECK:      program 'step': proven
// CHECK-NEXT: method projections

//--- counters.mlir
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %t: tensor<i32> {replica.scalar = "t"}) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %n = tensor.extract %t[] : tensor<i32>
  cf.br ^first(%zero : i32)
^first(%i: i32):
  %in_first = arith.cmpi slt, %i, %n : i32
  cf.cond_br %in_first, ^second(%zero : i32), ^end
^second(%j: i32):
  %in_second = arith.cmpi slt, %j, %i : i32
  cf.cond_br %in_second, ^third(%zero : i32), ^next_first
^third(%k: i32):
  %in_third = arith.cmpi slt, %k, %j : i32
  cf.cond_br %in_third, ^body, ^next_second
^body:
  replica.assign_add @w, %x : tensor<4xf32>
  %next_k = arith.addi %k, %one : i32
  cf.br ^third(%next_k : i32)
^next_second:
  %next_j = arith.addi %j, %one : i32
  cf.br ^second(%next_j : i32)
^next_first:
  %next_i = arith.addi %i, %one : i32
  cf.br ^first(%next_i : i32)
^end:
  replica.return
}

//--- break.mlir
// Both loops end at once, when an element of the variable is large enough.
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}, %t: tensor<i32> {replica.scalar = "t"}) -> (tensor<i32> {replica.metric = "rounds"}) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c1 = arith.constant 1 : index
  %enough = arith.constant 3.0 : f32
  %n = tensor.extract %t[] : tensor<i32>
  cf.br ^outer(%zero, %zero : i32, i32)
^outer(%i: i32, %k: i32):
  %in_outer = arith.cmpi slt, %i, %n : i32
  cf.cond_br %in_outer, ^inner(%zero, %k : i32, i32), ^end(%k : i32)
^inner(%j: i32, %rounds: i32):
  %in_inner = arith.cmpi slt, %j, %i : i32
  cf.cond_br %in_inner, ^body, ^next
^body:
  replica.assign_add @w, %x : tensor<4xf32>
  %w = replica.read @w : tensor<4xf32>
  %e = tensor.extract %w[%c1] : tensor<4xf32>
  %stop = arith.cmpf ogt, %e, %enough : f32
  %more = arith.addi %rounds, %one : i32
  %next_j = arith.addi %j, %one : i32
  cf.cond_br %stop, ^end(%more : i32), ^inner(%next_j, %more : i32, i32)
^next:
  %next_i = arith.addi %i, %one : i32
  cf.br ^outer(%next_i, %rounds : i32, i32)
^end(%all: i32):
  %r = tensor.from_elements %all : tensor<i32>
  replica.return %r : tensor<i32>
}

//--- one-after-another.mlir
// Booleans are stored where counters were: a counter that the proof forgets in pieces must still match the whole counter of another role.
replica.variable @w : tensor<2xf32> {aggregation = #replica.aggregation<sum>}
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
