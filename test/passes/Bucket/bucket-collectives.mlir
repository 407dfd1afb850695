// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(bucket-collectives))" --split-input-file | FileCheck %s --check-prefixes=CHECK,FREE
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(bucket-collectives{bytes-per-pack=48}))" --split-input-file \
// RUN:   | FileCheck %s --check-prefixes=CHECK,BOUND

// Independent collectives are merged into one, at the position of the last start. Its operands are in the order in which they are ready.
// Users of a result move behind the wait, keep their order, and read the result of their own member.
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
collective.group @all
// FREE-LABEL: func.func @merge(
// FREE-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>, %[[Y:[a-z0-9]*]]: tensor<8xf32>
// FREE-NEXT: %[[H:.*]] = collective.start all_reduce sum @all(%[[X]], %[[Y]] : tensor<4xf32>, tensor<8xf32>) -> <tensor<4xf32>, tensor<8xf32>>
// FREE-NEXT: %[[R:.*]]:2 = collective.wait %[[H]](%[[X]], %[[Y]]
// FREE-NEXT: %[[K:.*]] = device.invoke @k(%[[R]]#0)
// FREE-NEXT: return %[[K]], %[[R]]#1
// Both operands together have 48 bytes, exactly the bound.
// BOUND-LABEL: func.func @merge(
// BOUND-COUNT-1: collective.start
// BOUND-NOT: collective.start
func.func @merge(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %h0 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %a = collective.wait %h0 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %k = device.invoke @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %h1 = collective.start all_reduce sum @all (%y : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
  %b = collective.wait %h1 (%y : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  return %k, %b : tensor<4xf32>, tensor<8xf32>
}

// -----

// A bound of 48 bytes, from the option, separates three operands of 32 bytes; 0 is no bound.
collective.group @all
// CHECK-LABEL: func.func @bound(
// FREE-COUNT-1: collective.start
// BOUND-COUNT-3: collective.start
// CHECK-NOT: collective.start
func.func @bound(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) {
  %h0 = collective.start all_reduce sum @all (%x : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
  %a = collective.wait %h0 (%x : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  %h1 = collective.start all_reduce sum @all (%y : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
  %b = collective.wait %h1 (%y : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  %h2 = collective.start all_reduce sum @all (%z : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
  %c = collective.wait %h2 (%z : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

// A bound in the program overrides the option's: 64 bytes hold two operands, and the third is alone. The bucket keeps the bound. [2.5-bytes-per-pack]
collective.group @all
// CHECK-LABEL: func.func @own_bound(
// CHECK: collective.start all_reduce sum @all(%{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>) {bytes_per_pack = 64 : i64}
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<8xf32>) {bytes_per_pack = 64 : i64}
// CHECK-NOT: collective.start
func.func @own_bound(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) {
  %h0 = collective.start all_reduce sum @all (%x : tensor<8xf32>) {bytes_per_pack = 64 : i64} -> !collective.pending<tensor<8xf32>>
  %a = collective.wait %h0 (%x : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  %h1 = collective.start all_reduce sum @all (%y : tensor<8xf32>) {bytes_per_pack = 64 : i64} -> !collective.pending<tensor<8xf32>>
  %b = collective.wait %h1 (%y : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  %h2 = collective.start all_reduce sum @all (%z : tensor<8xf32>) {bytes_per_pack = 64 : i64} -> !collective.pending<tensor<8xf32>>
  %c = collective.wait %h2 (%z : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

// An operand that is larger than the bound is exchanged alone.
collective.group @all
// CHECK-LABEL: func.func @too_large(
// CHECK-COUNT-2: collective.start
// CHECK-NOT: collective.start
func.func @too_large(%x: tensor<80xf32>, %y: tensor<4xf32>) {
  %h0 = collective.start all_reduce sum @all (%x : tensor<80xf32>) {bytes_per_pack = 64 : i64} -> !collective.pending<tensor<80xf32>>
  %a = collective.wait %h0 (%x : tensor<80xf32>) : !collective.pending<tensor<80xf32>> -> tensor<80xf32>
  %h1 = collective.start all_reduce sum @all (%y : tensor<4xf32>) {bytes_per_pack = 64 : i64} -> !collective.pending<tensor<4xf32>>
  %b = collective.wait %h1 (%y : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// Members of a bucket have the same element type, reduction, group and bound; broadcasts are not merged.
collective.group @all
collective.group @some {ranks = array<i64: 0, 1>}
// CHECK-LABEL: func.func @different(
// CHECK-COUNT-7: collective.start
// CHECK-NOT: collective.start
func.func @different(%x: tensor<2xf32>, %y: tensor<2xi32>) {
  %h0 = collective.start all_reduce sum @all (%x : tensor<2xf32>) -> !collective.pending<tensor<2xf32>>
  %a = collective.wait %h0 (%x : tensor<2xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  %h1 = collective.start all_reduce sum @all (%y : tensor<2xi32>) -> !collective.pending<tensor<2xi32>>
  %b = collective.wait %h1 (%y : tensor<2xi32>) : !collective.pending<tensor<2xi32>> -> tensor<2xi32>
  %h2 = collective.start all_reduce max @all (%x : tensor<2xf32>) -> !collective.pending<tensor<2xf32>>
  %c = collective.wait %h2 (%x : tensor<2xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  %h3 = collective.start all_reduce sum @some (%x : tensor<2xf32>) -> !collective.pending<tensor<2xf32>>
  %d = collective.wait %h3 (%x : tensor<2xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  %h4 = collective.start all_reduce sum @all (%x : tensor<2xf32>) {bytes_per_pack = 64 : i64} -> !collective.pending<tensor<2xf32>>
  %e = collective.wait %h4 (%x : tensor<2xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  %h5 = collective.start broadcast none @all (%x : tensor<2xf32>) -> !collective.pending<tensor<2xf32>>
  %f = collective.wait %h5 (%x : tensor<2xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  %h6 = collective.start broadcast none @all (%x : tensor<2xf32>) -> !collective.pending<tensor<2xf32>>
  %g = collective.wait %h6 (%x : tensor<2xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}

// -----

// A collective whose operand depends on the result of another one, directly or through kernels, is not merged with it.
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
collective.group @all
// CHECK-LABEL: func.func @dependent(
// CHECK: collective.start
// CHECK: collective.wait
// CHECK: device.invoke
// CHECK: collective.start
// CHECK: collective.wait
func.func @dependent(%x: tensor<4xf32>) -> tensor<4xf32> {
  %h0 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %a = collective.wait %h0 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %k = device.invoke @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %h1 = collective.start all_reduce sum @all (%k : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %b = collective.wait %h1 (%k : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// Merging one bucket moves members of another one, which are then merged in their new order: here, the second i32 member now precedes
// the first one, which depends on the f32 bucket.
device.kernel @k(tensor<4xf32>) -> tensor<4xi32>
collective.group @all
// FREE-LABEL: func.func @moved(
// FREE-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>, %[[Y:[a-z0-9]*]]: tensor<4xi32>
// FREE: collective.start all_reduce sum @all(%[[X]], %[[X]] : tensor<4xf32>, tensor<4xf32>)
// FREE: %[[R:.*]]:2 = collective.wait
// FREE: %[[K:.*]] = device.invoke @k(%[[R]]#0)
// FREE: collective.start all_reduce sum @all(%[[Y]], %[[K]] : tensor<4xi32>, tensor<4xi32>)
func.func @moved(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  %h0 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %a = collective.wait %h0 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %k = device.invoke @k(%a) : (tensor<4xf32>) -> tensor<4xi32>
  %h1 = collective.start all_reduce sum @all (%k : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %b = collective.wait %h1 (%k : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %h2 = collective.start all_reduce sum @all (%y : tensor<4xi32>) -> !collective.pending<tensor<4xi32>>
  %c = collective.wait %h2 (%y : tensor<4xi32>) : !collective.pending<tensor<4xi32>> -> tensor<4xi32>
  %h3 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %d = collective.wait %h3 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// Each block has its own buckets: collectives in a loop are not merged with those around it.
collective.group @all
// CHECK-LABEL: func.func @blocks(
// CHECK: collective.start all_reduce sum @all(%{{[a-z0-9]*}} : tensor<4xf32>)
// CHECK: scf.for
// FREE: collective.start all_reduce sum @all(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK: }
// CHECK: collective.start all_reduce sum @all(%{{[a-z0-9]*}} : tensor<4xf32>)
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %h0 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %a = collective.wait %h0 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %l = scf.for %i = %zero to %one step %one iter_args(%c = %a) -> tensor<4xf32> {
    %h1 = collective.start all_reduce sum @all (%c : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %b = collective.wait %h1 (%c : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %h2 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %d = collective.wait %h2 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  %h3 = collective.start all_reduce sum @all (%l : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %e = collective.wait %h3 (%l : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

// The first sum is broadcast to a server before the server broadcasts the value that the second sum needs. With both sums in one bucket, the
// server would wait for the first broadcast, and the replicas for the second one.
device.kernel @k(tensor<2xf32>) -> tensor<2xf32>
collective.group @all
collective.group @replicas_and_server0 {ranks = array<i64: 2>, with_replicas}
collective.group @worker_and_server0 {ranks = array<i64: 0, 2>}
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
// CHECK-LABEL: func.func @with_a_server(
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<2xf32>)
// CHECK: collective.start broadcast none @worker_and_server0
// CHECK: collective.start broadcast none @replicas_and_server0
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<2xf32>)
func.func @with_a_server(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {device.role = @worker} {
  %h0 = collective.start all_reduce sum @all (%x : tensor<2xf32>) -> !collective.pending<tensor<2xf32>>
  %a = collective.wait %h0 (%x : tensor<2xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  %h1 = collective.start broadcast none @worker_and_server0 root 0 channel 0 (%a : tensor<2xf32>) -> !collective.pending<>
  collective.wait %h1 (%a : tensor<2xf32>) : !collective.pending<>
  %h2 = collective.start broadcast none @replicas_and_server0 root 2 channel 1 () -> !collective.pending<tensor<2xf32>>
  %v = collective.wait %h2 () : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  %y = device.invoke @k(%v) : (tensor<2xf32>) -> tensor<2xf32>
  %h3 = collective.start all_reduce sum @all (%y : tensor<2xf32>) -> !collective.pending<tensor<2xf32>>
  %b = collective.wait %h3 (%y : tensor<2xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return %a, %b : tensor<2xf32>, tensor<2xf32>
}

// -----

// With a server, collectives are merged if all exchanges between them can move behind the bucket, in their order.
device.kernel @k(tensor<2xf32>) -> tensor<2xf32>
collective.group @all
collective.group @replicas_and_server0 {ranks = array<i64: 2>, with_replicas}
collective.group @worker_and_server0 {ranks = array<i64: 0, 2>}
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
// FREE-LABEL: func.func @told_afterwards(
// FREE: collective.start all_reduce sum @all(%{{.*}}, %{{.*}} : tensor<2xf32>, tensor<2xf32>)
// FREE: collective.start broadcast none @worker_and_server0
func.func @told_afterwards(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {device.role = @worker} {
  %h0 = collective.start all_reduce sum @all (%x : tensor<2xf32>) -> !collective.pending<tensor<2xf32>>
  %a = collective.wait %h0 (%x : tensor<2xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  %h1 = collective.start broadcast none @worker_and_server0 root 0 channel 0 (%a : tensor<2xf32>) -> !collective.pending<>
  collective.wait %h1 (%a : tensor<2xf32>) : !collective.pending<>
  %h3 = collective.start all_reduce sum @all (%y : tensor<2xf32>) -> !collective.pending<tensor<2xf32>>
  %b = collective.wait %h3 (%y : tensor<2xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return %a, %b : tensor<2xf32>, tensor<2xf32>
}

// -----

// Collectives are not merged across a barrier or the load of a batch, since operations that depend on the first one would move behind it.
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
collective.group @all
// CHECK-LABEL: func.func @fences(
// CHECK: device.load_batch
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<4xf32>)
// CHECK: scf.for
// CHECK: device.load_batch
// CHECK: device.load_batch
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<4xf32>)
// CHECK: collective.barrier
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<4xf32>)
func.func @fences() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = device.load_batch ["x"] : tensor<4xf32>
  %h0 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> <tensor<4xf32>>
  %r0 = collective.wait %h0 (%x : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  %l = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %r0) -> (tensor<4xf32>) {
    %z = device.load_batch ["x"] : tensor<4xf32>
    %n = device.invoke @k(%z) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  %y = device.load_batch ["x"] : tensor<4xf32>
  %h1 = collective.start all_reduce sum @all (%y : tensor<4xf32>) -> <tensor<4xf32>>
  %r1 = collective.wait %h1 (%y : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  collective.barrier @all
  %h2 = collective.start all_reduce sum @all (%y : tensor<4xf32>) -> <tensor<4xf32>>
  %r2 = collective.wait %h2 (%y : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  return %l, %r1, %r2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Operands of reduce_scatter share a bucket, and so do those of all_gather along one axis; an all_gather along another axis is separate.
collective.group @all
// CHECK-LABEL: func.func @other_kinds(
// CHECK: collective.start reduce_scatter sum @all axis 0(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4x2xf32>) -> <tensor<2xf32>, tensor<2x2xf32>>
// CHECK: collective.start all_gather none @all axis 1(%{{.*}} : tensor<4x2xf32>)
// CHECK: collective.start all_gather none @all axis 0(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4x2xf32>) -> <tensor<8xf32>, tensor<8x2xf32>>
func.func @other_kinds(%x: tensor<4xf32>, %y: tensor<4x2xf32>) -> (tensor<2xf32>, tensor<2x2xf32>, tensor<8xf32>, tensor<4x4xf32>, tensor<8x2xf32>) {
  %h0 = collective.start reduce_scatter sum @all axis 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<2xf32>>
  %r0 = collective.wait %h0 (%x : tensor<4xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  %h1 = collective.start all_gather none @all axis 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<8xf32>>
  %r1 = collective.wait %h1 (%x : tensor<4xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
  %h2 = collective.start reduce_scatter sum @all axis 0 (%y : tensor<4x2xf32>) -> !collective.pending<tensor<2x2xf32>>
  %r2 = collective.wait %h2 (%y : tensor<4x2xf32>) : !collective.pending<tensor<2x2xf32>> -> tensor<2x2xf32>
  %h3 = collective.start all_gather none @all axis 1 (%y : tensor<4x2xf32>) -> !collective.pending<tensor<4x4xf32>>
  %r3 = collective.wait %h3 (%y : tensor<4x2xf32>) : !collective.pending<tensor<4x4xf32>> -> tensor<4x4xf32>
  %h4 = collective.start all_gather none @all axis 0 (%y : tensor<4x2xf32>) -> !collective.pending<tensor<8x2xf32>>
  %r4 = collective.wait %h4 (%y : tensor<4x2xf32>) : !collective.pending<tensor<8x2xf32>> -> tensor<8x2xf32>
  return %r0, %r2, %r1, %r3, %r4 : tensor<2xf32>, tensor<2x2xf32>, tensor<8xf32>, tensor<4x4xf32>, tensor<8x2xf32>
}

// -----

// Operations that depend on the result of a member move behind the bucket in their order; others stay.
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
collective.group @all
// CHECK-LABEL: func.func @dependents(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>
// CHECK-NEXT: %[[OWN:.*]] = device.invoke @k(%[[X]])
// CHECK-NEXT: %[[H:.*]] = collective.start all_reduce sum @all(%[[X]], %[[OWN]]
// CHECK-NEXT: %[[S:.*]]:2 = collective.wait %[[H]]
// CHECK-NEXT: %[[A:.*]] = device.invoke @k(%[[S]]#0)
// CHECK-NEXT: %[[B:.*]] = device.invoke @k(%[[A]])
// CHECK-NEXT: collective.start all_reduce max @all(%[[B]]
func.func @dependents(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %h0 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s0 = collective.wait %h0 (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %a = device.invoke @k(%s0) : (tensor<4xf32>) -> tensor<4xf32>
  %own = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = device.invoke @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %h1 = collective.start all_reduce max @all (%b : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s1 = collective.wait %h1 (%b : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %h2 = collective.start all_reduce sum @all (%own : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %s2 = collective.wait %h2 (%own : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %s1, %s2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// The last two pieces of one gradient do not share a bucket, but others join the last one, and pieces of different gradients share one.
collective.group @all
// CHECK-LABEL: func.func @pieces(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>, %[[Y:[a-z0-9]*]]: tensor<4xf32>, %[[Z:[a-z0-9]*]]: tensor<4xf32>
// FREE: collective.start reduce_scatter sum @all axis 0(%[[X]] : tensor<4xf32>)
// FREE: collective.start reduce_scatter sum @all axis 0(%[[Y]], %[[Z]], %[[X]] : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// FREE-NOT: collective.start
// BOUND: collective.start reduce_scatter sum @all axis 0(%[[X]] : tensor<4xf32>)
// BOUND: collective.start reduce_scatter sum @all axis 0(%[[Y]], %[[Z]], %[[X]] : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// BOUND-NOT: collective.start
func.func @pieces(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %h0 = collective.start reduce_scatter sum @all axis 0 (%x : tensor<4xf32>) {collective.last_piece_of = 1} -> <tensor<2xf32>>
  %a = collective.wait %h0 (%x : tensor<4xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  %h1 = collective.start reduce_scatter sum @all axis 0 (%y : tensor<4xf32>) {collective.last_piece_of = 1} -> <tensor<2xf32>>
  %b = collective.wait %h1 (%y : tensor<4xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  %h2 = collective.start reduce_scatter sum @all axis 0 (%z : tensor<4xf32>) {collective.last_piece_of = 2} -> <tensor<2xf32>>
  %c = collective.wait %h2 (%z : tensor<4xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  %h3 = collective.start reduce_scatter sum @all axis 0 (%x : tensor<4xf32>) -> <tensor<2xf32>>
  %d = collective.wait %h3 (%x : tensor<4xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  return %a, %b, %c, %d : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
