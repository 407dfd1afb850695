// Cross-replica context: the region is executed once, and each replica gets its component of the results.

// RUN: split-file %s %t
// RUN: lockstep-interpret %t/doc.mlir --replicas=2 --set three=3 | FileCheck %s --check-prefix=DOC
// RUN: %python %S/Inputs/npz.py %t/x.npz x@0=f32[]:1 x@1=f32[]:2
// RUN: lockstep-interpret %t/while.mlir --replicas=2 --inputs=%t/x.npz | FileCheck %s --check-prefix=WHILE
// RUN: lockstep-interpret %t/update.mlir --replicas=2 --inputs=%t/x.npz | FileCheck %s --check-prefix=UPDATE
// RUN: lockstep-interpret %t/branches.mlir --replicas=2 --inputs=%t/x.npz | FileCheck %s --check-prefix=BRANCHES
// RUN: not lockstep-interpret %t/others.mlir --unverified --replicas=2 --inputs=%t/x.npz 2>&1 | FileCheck %s --check-prefix=OTHERS
// RUN: not lockstep-interpret %t/plain.mlir --unverified --replicas=2 --inputs=%t/x.npz 2>&1 | FileCheck %s --check-prefix=PLAIN

//--- doc.mlir
// v = 3, 4; s = 7; s + v = 10, 11.
// DOC: {"result":"y","replica":0,"type":"i32","shape":[],"values":[10]}
// DOC: {"result":"y","replica":1,"type":"i32","shape":[],"values":[11]}
replica.step @step(%three: tensor<i32> {replica.scalar = "three"}) -> (tensor<i32> {replica.result = "y"}) {
  %id = replica.id : tensor<i32>
  %v = arith.addi %three, %id : tensor<i32>
  %s = replica.merge_call (%v : tensor<i32>) -> tensor<i32> {
  ^bb0(%a: !replica.per_replica<tensor<i32>>):
    %l:2 = replica.local_results %a : !replica.per_replica<tensor<i32>> -> tensor<i32>, tensor<i32>
    %t = arith.addi %l#0, %l#1 : tensor<i32>
    replica.yield %t : tensor<i32>
  }
  %y = arith.addi %s, %v : tensor<i32>
  replica.return %y : tensor<i32>
}

//--- while.mlir
// Two iterations of a sum over both replicas, as an all_reduce and as a merge_call, in loops with a uniform trip count.
// WHILE: {"result":"y","replica":0,"type":"f32","shape":[],"values":[6]}
// WHILE: {"result":"y","replica":1,"type":"f32","shape":[],"values":[6]}
// WHILE: {"result":"z","replica":0,"type":"f32","shape":[],"values":[6]}
// WHILE: {"result":"z","replica":1,"type":"f32","shape":[],"values":[6]}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "y"}, tensor<f32> {replica.result = "z"}) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %y:2 = scf.while (%i = %c0, %c = %x) : (i32, tensor<f32>) -> (i32, tensor<f32>) {
    %more = arith.cmpi slt, %i, %c2 : i32
    scf.condition(%more) %i, %c : i32, tensor<f32>
  } do {
  ^bb0(%i: i32, %c: tensor<f32>):
    %t = replica.all_reduce sum %c : tensor<f32>
    %next = arith.addi %i, %c1 : i32
    scf.yield %next, %t : i32, tensor<f32>
  }
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %z = scf.for %i = %i0 to %i2 step %i1 iter_args(%c = %x) -> tensor<f32> {
    %t = replica.merge_call (%c : tensor<f32>) -> tensor<f32> {
    ^bb0(%p: !replica.per_replica<tensor<f32>>):
      %s = replica.reduce_to sum %p : !replica.per_replica<tensor<f32>> -> !replica.mirrored<tensor<f32>>
      replica.yield %s : !replica.mirrored<tensor<f32>>
    }
    scf.yield %t : tensor<f32>
  }
  replica.return %y#1, %z : tensor<f32>, tensor<f32>
}

//--- update.mlir
// w = 10 - mean(1, 2), once for both copies; n counts the call once, not once per replica; gather and broadcast_to.
// UPDATE: {"result":"g","replica":0,"type":"f32","shape":[2],"values":[1,2]}
// UPDATE: {"result":"g","replica":1,"type":"f32","shape":[2],"values":[1,2]}
// UPDATE: {"result":"b","replica":1,"type":"f32","shape":[],"values":[8.5]}
// UPDATE: {"result":"o","replica":0,"type":"f32","shape":[],"values":[1]}
// UPDATE: {"result":"o","replica":1,"type":"f32","shape":[],"values":[2]}
// UPDATE: {"variable":"w","replica":0,"type":"f32","shape":[],"values":[8.5]}
// UPDATE: {"variable":"w","replica":1,"type":"f32","shape":[],"values":[8.5]}
// UPDATE: {"variable":"n","replica":0,"type":"i32","shape":[],"values":[1]}
// UPDATE: {"variable":"n","replica":1,"type":"i32","shape":[],"values":[1]}
replica.variable @w : tensor<f32> {initial = dense<10.0> : tensor<f32>}
replica.variable @n : tensor<i32> {initial = dense<0> : tensor<i32>}
replica.step @step(%x: tensor<f32> {replica.batch = "x"})
    -> (tensor<2xf32> {replica.result = "g"}, tensor<f32> {replica.result = "b"}, tensor<f32> {replica.result = "o"}) {
  %r = tensor.expand_shape %x [] output_shape [1] : tensor<f32> into tensor<1xf32>
  %g, %b, %o = replica.merge_call (%x, %r : tensor<f32>, tensor<1xf32>) -> tensor<2xf32>, tensor<f32>, tensor<f32> {
  ^bb0(%p: !replica.per_replica<tensor<f32>>, %q: !replica.per_replica<tensor<1xf32>>):
    %s = replica.reduce_to mean %p, @w : !replica.per_replica<tensor<f32>> -> !replica.mirrored<tensor<f32>>
    %updated = replica.update @w (%s : !replica.mirrored<tensor<f32>>) -> tensor<f32> {
    ^bb1(%current: tensor<f32>, %d: tensor<f32>):
      %new = arith.subf %current, %d : tensor<f32>
      replica.yield %new, %new : tensor<f32>, tensor<f32>
    }
    %one = arith.constant dense<1> : tensor<i32>
    replica.assign_add @n, %one : tensor<i32>
    %all = replica.gather %q axis 0 : !replica.per_replica<tensor<1xf32>> -> tensor<2xf32>
    %m = replica.broadcast_to %updated : tensor<f32> -> !replica.mirrored<tensor<f32>>
    replica.yield %all, %m, %p : tensor<2xf32>, !replica.mirrored<tensor<f32>>, !replica.per_replica<tensor<f32>>
  }
  replica.return %g, %b, %o : tensor<2xf32>, tensor<f32>, tensor<f32>
}

//--- branches.mlir
// Replicas rendezvous in two merge_calls with the same region.
// BRANCHES: {"result":"y","replica":0,"type":"f32","shape":[],"values":[3]}
// BRANCHES: {"result":"y","replica":1,"type":"f32","shape":[],"values":[3]}
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "y"}) {
  %id = replica.id : tensor<i32>
  %i = tensor.extract %id[] : tensor<i32>
  %c0 = arith.constant 0 : i32
  %first = arith.cmpi eq, %i, %c0 : i32
  %y = scf.if %first -> tensor<f32> {
    %s = replica.merge_call (%x : tensor<f32>) -> tensor<f32> {
    ^bb0(%p: !replica.per_replica<tensor<f32>>):
      %r = replica.reduce sum %p : !replica.per_replica<tensor<f32>> -> tensor<f32>
      replica.yield %r : tensor<f32>
    }
    scf.yield %s : tensor<f32>
  } else {
    %s = replica.merge_call (%x : tensor<f32>) -> tensor<f32> {
    ^bb0(%p: !replica.per_replica<tensor<f32>>):
      %r = replica.reduce sum %p : !replica.per_replica<tensor<f32>> -> tensor<f32>
      replica.yield %r : tensor<f32>
    }
    scf.yield %s : tensor<f32>
  } {replica.static}
  replica.return %y : tensor<f32>
}

//--- others.mlir
// They do not rendezvous in merge_calls with different regions.
// OTHERS: error: blocked: replica 0 waits in 'replica.merge_call' for replica 1, which waits in 'replica.merge_call' [E_COLLECTIVE_DIVERGENCE]
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "y"}) {
  %id = replica.id : tensor<i32>
  %i = tensor.extract %id[] : tensor<i32>
  %c0 = arith.constant 0 : i32
  %first = arith.cmpi eq, %i, %c0 : i32
  %y = scf.if %first -> tensor<f32> {
    %s = replica.merge_call (%x : tensor<f32>) -> tensor<f32> {
    ^bb0(%p: !replica.per_replica<tensor<f32>>):
      %r = replica.reduce sum %p : !replica.per_replica<tensor<f32>> -> tensor<f32>
      replica.yield %r : tensor<f32>
    }
    scf.yield %s : tensor<f32>
  } else {
    %s = replica.merge_call (%x : tensor<f32>) -> tensor<f32> {
    ^bb0(%p: !replica.per_replica<tensor<f32>>):
      %r = replica.reduce mean %p : !replica.per_replica<tensor<f32>> -> tensor<f32>
      replica.yield %r : tensor<f32>
    }
    scf.yield %s : tensor<f32>
  } {replica.static}
  replica.return %y : tensor<f32>
}

//--- plain.mlir
// A plain argument has to be equal on all replicas.
// PLAIN: error: expected argument 0 to be equal on all replicas, found another value on replica 1 than on replica 0
replica.step @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "y"}) {
  %y = replica.merge_call (%x : tensor<f32>) -> tensor<f32> {
  ^bb0(%p: tensor<f32>):
    replica.yield %p : tensor<f32>
  }
  replica.return %y : tensor<f32>
}
