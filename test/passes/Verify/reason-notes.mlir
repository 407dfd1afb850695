// RUN: not lockstep-opt %s --verify-uniformity --split-input-file -o /dev/null 2>&1 | FileCheck %s

// Notes show the collectives that replicas issue up to the first difference, and trace the condition back to a value that differs.

// The numbers of the replicas decide which side they take, so two replicas are named. [10-varying-condition]
// CHECK: model.py:22:3: error: 'replica.all_reduce' is issued by some replicas, while others issue a different 'replica.all_reduce' in its place [E_COLLECTIVE_DIVERGENCE]
// CHECK: model.py:22:3: note: some replicas issue 'replica.all_reduce' sum of 'tensor<4xf32>'
// CHECK: model.py:25:3: note: other replicas issue 'replica.all_reduce' mean of 'tensor<4xf32>'
// CHECK: model.py:20:3: note: the condition of this branch may differ between replicas ('scf.if'); up to the first difference they issue
// CHECK-NEXT:    replica 0 (true)                              |  replica 2 (false)
// CHECK-NEXT:    all_gather of tensor<4xf32> along axis 0 (model.py:21) |  all_gather of tensor<4xf32> along axis 0 (model.py:24)
// CHECK-NEXT:    all_reduce sum of tensor<4xf32> (model.py:22) != all_reduce mean of tensor<4xf32> (model.py:25)
// CHECK: model.py:12:3: note: 'arith.cmpi' makes it from a value that may differ
// CHECK: model.py:11:3: note: 'replica.id' is different on each replica
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4}
replica.step @two(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32> loc("model.py":11:3)
  %c2 = arith.constant 2 : i32
  %i = tensor.extract %id[] : tensor<i32> loc("model.py":11:3)
  %few = arith.cmpi slt, %i, %c2 : i32 loc("model.py":12:3)
  scf.if %few {
    %0 = replica.all_gather %x axis 0 : tensor<4xf32> -> tensor<16xf32> loc("model.py":21:3)
    %1 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":22:3)
  } else {
    %0 = replica.all_gather %x axis 0 : tensor<4xf32> -> tensor<16xf32> loc("model.py":24:3)
    %1 = replica.all_reduce mean %x : tensor<4xf32> loc("model.py":25:3)
  } loc("model.py":20:3)
  replica.return
}

// -----

// Data decides which side a replica takes. Of many equal collectives, the last are shown, then the next collective of those without the differing one.
// CHECK: model.py:26:3: error: 'replica.all_reduce' is under a condition that may differ between replicas
// CHECK: model.py:20:3: note: the condition of this branch may differ
// CHECK-NEXT:    where it is true                              |  where it is false
// CHECK-NEXT:    (2 equal lines)                               |
// CHECK-NEXT:    all_reduce sum of tensor<4xf32> (model.py:23) |  all_reduce sum of tensor<4xf32> (model.py:33)
// CHECK-NEXT:    all_reduce sum of tensor<4xf32> (model.py:24) |  all_reduce sum of tensor<4xf32> (model.py:34)
// CHECK-NEXT:    all_reduce sum of tensor<4xf32> (model.py:25) |  all_reduce sum of tensor<4xf32> (model.py:35)
// CHECK-NEXT:    all_reduce sum of tensor<4xf32> (model.py:26) != goes on to all_gather of tensor<4xf32> along axis 0 (model.py:40)
replica.step @data(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  %b = tensor.extract %c[] : tensor<i1> loc("model.py":19:3)
  scf.if %b {
    %1 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":21:3)
    %2 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":22:3)
    %3 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":23:3)
    %4 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":24:3)
    %5 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":25:3)
    %6 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":26:3)
  } else {
    %1 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":31:3)
    %2 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":32:3)
    %3 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":33:3)
    %4 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":34:3)
    %5 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":35:3)
  } loc("model.py":20:3)
  %g = replica.all_gather %x axis 0 : tensor<4xf32> -> tensor<?xf32> loc("model.py":40:3)
  replica.return
}

// -----

// The difference is in the bodies of loops that both sides have.
// CHECK: model.py:22:3: error: 'replica.all_reduce' is issued by some replicas
// CHECK: model.py:20:3: note: the condition of this branch may differ
// CHECK-NEXT:    where it is true                                                       |  where it is false
// CHECK-NEXT:    loop of 4 iterations with all_reduce sum of tensor<4xf32> (model.py:21) | loop of 4 iterations with all_reduce mean of tensor<4xf32> (model.py:24)
// CHECK-NEXT:      all_reduce sum of tensor<4xf32> (model.py:22)                         != all_reduce mean of tensor<4xf32> (model.py:25)
replica.step @nested(%x: tensor<4xf32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %b = tensor.extract %c[] : tensor<i1> loc("model.py":19:3)
  scf.if %b {
    scf.for %i = %c0 to %c4 step %c1 {
      %1 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":22:3)
    } loc("model.py":21:3)
  } else {
    scf.for %i = %c0 to %c4 step %c1 {
      %1 = replica.all_reduce mean %x : tensor<4xf32> loc("model.py":25:3)
    } loc("model.py":24:3)
  } loc("model.py":20:3)
  replica.return
}

// -----

// The trip counts of two replicas are shown.
// CHECK: model.py:31:3: error: 'replica.all_reduce' is in a loop whose trip count may differ
// CHECK: model.py:30:3: note: the trip count of this loop may differ between replicas ('scf.for'), after 1 equal iteration they issue
// CHECK-NEXT:    replica 1 (2 iterations)                      |  replica 0 (1 iteration)
// CHECK-NEXT:    all_reduce sum of tensor<4xf32> (model.py:31) != goes on to the end
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4}
replica.step @turns(%x: tensor<4xf32> {replica.batch = "x"}) {
  %id = replica.id : tensor<i32> loc("model.py":11:3)
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = tensor.extract %id[] : tensor<i32> loc("model.py":12:3)
  %n = arith.index_cast %i : i32 to index loc("model.py":12:3)
  %m = arith.addi %n, %c1 : index loc("model.py":12:3)
  scf.for %k = %c0 to %m step %c1 {
    %1 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":31:3)
  } loc("model.py":30:3)
  replica.return
}

// -----

// An early exit.
// CHECK: model.py:8:3: error: 'replica.all_reduce' is under a condition that may differ
// CHECK: model.py:5:3: note: the condition of this branch may differ between replicas ('cf.cond_br'); up to the first difference they issue
// CHECK-NEXT:    to model.py:8                                |  to model.py:6
// CHECK-NEXT:    all_reduce sum of tensor<4xf32> (model.py:8) != goes on to the end
// CHECK-NOT: error
replica.step @early_return(%ok: tensor<i1> {replica.batch = "ok"}, %x: tensor<4xf32> {replica.batch = "x"}) {
  %c = tensor.extract %ok[] : tensor<i1> loc("model.py":4:3)
  cf.cond_br %c, ^go, ^stop loc("model.py":5:3)
^stop:
  replica.return loc("model.py":6:3)
^go:
  %0 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":8:3)
  %1 = replica.all_reduce sum %x : tensor<4xf32> loc("model.py":9:3)
  replica.return loc("model.py":10:3)
}

// -----

// If the trip counts are not known, the words are those for branches.
// CHECK: model.py:41:3: error: 'replica.all_reduce' is in a loop whose trip count may differ
// CHECK: model.py:40:3: note: the trip count of this loop may differ between replicas ('scf.for'); up to the first difference they issue
replica.step @unknown_turns(%x: tensor<?xf32> {replica.batch = "x", replica.bounds = array<i64: 4>}, %y: tensor<4xf32> {replica.batch = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  scf.for %k = %c0 to %d step %c1 {
    %1 = replica.all_reduce mean %y : tensor<4xf32> loc("model.py":41:3)
  } loc("model.py":40:3)
  replica.return
}

// -----

// An attribute that differs is shown, if it is not printed for all collectives anyway.
// CHECK: model.py:4:3: note: some replicas issue 'replica.all_reduce' sum of 'tensor<f32>', bytes_per_pack = 64 : i64
// CHECK: model.py:6:3: note: other replicas issue 'replica.all_reduce' sum of 'tensor<f32>', bytes_per_pack = 128 : i64
// CHECK: all_reduce sum of tensor<f32>, bytes_per_pack = 64 : i64 (model.py:4) != all_reduce sum of tensor<f32>, bytes_per_pack = 128 : i64 (model.py:6)
replica.step @packs(%x: tensor<f32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}) {
  %b = tensor.extract %c[] : tensor<i1> loc("model.py":2:3)
  scf.if %b {
    %1 = replica.all_reduce sum %x {bytes_per_pack = 64 : i64} : tensor<f32> loc("model.py":4:3)
  } else {
    %1 = replica.all_reduce sum %x {bytes_per_pack = 128 : i64} : tensor<f32> loc("model.py":6:3)
  } loc("model.py":3:3)
  replica.return
}

// -----

// The bounds of loops with equal bodies.
// CHECK: model.py:5:3: note: some replicas issue 'replica.all_reduce' sum of 'tensor<f32>' in a loop from 0 to a value
// CHECK: model.py:7:3: note: other replicas issue 'replica.all_reduce' sum of 'tensor<f32>' in a loop from 1 to 9
// CHECK: loop from 0 to a value with all_reduce sum of tensor<f32> (model.py:4) != loop from 1 to 9 of 8 iterations with all_reduce sum of tensor<f32> (model.py:6)
replica.step @bounds(%x: tensor<f32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}, %k: tensor<index> {replica.batch = "k"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %n = tensor.extract %k[] : tensor<index>
  %b = tensor.extract %c[] : tensor<i1> loc("model.py":2:3)
  scf.if %b {
    scf.for %i = %c0 to %n step %c1 {
      %1 = replica.all_reduce sum %x : tensor<f32> loc("model.py":5:3)
    } loc("model.py":4:3)
  } else {
    scf.for %i = %c1 to %c9 step %c1 {
      %1 = replica.all_reduce sum %x : tensor<f32> loc("model.py":7:3)
    } loc("model.py":6:3)
  } loc("model.py":3:3)
  replica.return
}

// -----

// The conditions of branches with equal sides.
// CHECK: branch on another condition with all_reduce sum of tensor<f32> (model.py:4) != branch on another condition with all_reduce sum of tensor<f32> (model.py:6)
replica.step @conditions(%x: tensor<f32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}, %k: tensor<i1> {replica.scalar = "k"}, %l: tensor<i1> {replica.scalar = "l"}) {
  %b = tensor.extract %c[] : tensor<i1> loc("model.py":2:3)
  %d = tensor.extract %k[] : tensor<i1>
  %e = tensor.extract %l[] : tensor<i1>
  scf.if %b {
    scf.if %d {
      %1 = replica.all_reduce sum %x : tensor<f32> loc("model.py":5:3)
    } loc("model.py":4:3)
  } else {
    scf.if %e {
      %1 = replica.all_reduce sum %x : tensor<f32> loc("model.py":7:3)
    } loc("model.py":6:3)
  } loc("model.py":3:3)
  replica.return
}

// -----

// Loops whose trip counts are not known.
// CHECK: loop of an unknown number of iterations with all_reduce sum of tensor<f32> (model.py:4) != loop of an unknown number of iterations with all_reduce sum of tensor<f32> (model.py:6)
replica.step @whiles(%x: tensor<f32> {replica.batch = "x"}, %c: tensor<i1> {replica.batch = "c"}, %k: tensor<i1> {replica.scalar = "k"}) {
  %b = tensor.extract %c[] : tensor<i1> loc("model.py":2:3)
  %d = tensor.extract %k[] : tensor<i1>
  scf.if %b {
    scf.while : () -> () {
      scf.condition(%d)
    } do {
      %1 = replica.all_reduce sum %x : tensor<f32> loc("model.py":5:3)
      scf.yield
    } loc("model.py":4:3)
  } else {
    scf.while : () -> () {
      scf.condition(%d)
    } do {
      %1 = replica.all_reduce sum %x : tensor<f32> loc("model.py":7:3)
      scf.yield
    } loc("model.py":6:3)
  } loc("model.py":3:3)
  replica.return
}
