// RUN: lockstep-opt %s --verify-uniformity --split-input-file --verify-diagnostics -o /dev/null

// Places where a value must be equal on all replicas: variables without aggregation, metrics, plain arguments of merge_calls.

// The gradient of the replica's own batch is subtracted from a mirrored variable: its copies would diverge. [5.2-uniform, 10-mirrored]
// expected-note@+1 {{the variable is declared here, without an aggregation}}
replica.variable @w : tensor<4xf32>
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @forgotten_reduction(%x: tensor<4xf32> {replica.batch = "x"}) {
  %w = replica.read @w : tensor<4xf32>
  // expected-note@+1 {{'arith.subf' makes it from a value that may differ}}
  %new = arith.subf %w, %x : tensor<4xf32>
  // expected-error@+1 {{variable 'w' is assigned a value that may differ between replicas, and has no aggregation: its copies would diverge [E_AGG_NONE]}}
  replica.assign @w, %new : tensor<4xf32>
  replica.return
}

// -----

// The correct step reduces the gradient first.
replica.variable @w : tensor<4xf32>
replica.step @reduced(%x: tensor<4xf32> {replica.batch = "x"}, %lr: tensor<4xf32> {replica.scalar = "lr"}) -> (tensor<4xf32> {replica.metric = "w"}) {
  %w = replica.read @w : tensor<4xf32>
  %g = replica.all_reduce mean %x : tensor<4xf32>
  %d = arith.mulf %g, %lr : tensor<4xf32>
  %new = arith.subf %w, %d : tensor<4xf32>
  replica.assign @w, %new : tensor<4xf32>
  replica.return %new : tensor<4xf32>
}

// -----

// With an aggregation, the assigned values may differ between replicas.
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<mean>}
replica.step @aggregated(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "w"}) {
  replica.assign_sub @w, %x : tensor<4xf32>
  %w = replica.read @w : tensor<4xf32>
  replica.return %w : tensor<4xf32>
}

// -----

// A constant is equal on all replicas, but only some of them assign it.
// expected-note@+1 {{the variable is declared here, without an aggregation}}
replica.variable @w : tensor<f32>
replica.step @some_assign() {
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-note@+1 {{'replica.id' is different on each replica}}
  %id = replica.id : tensor<i32>
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %i = tensor.extract %id[] : tensor<i32>
  // expected-note@+1 {{'arith.trunci' makes it from a value that may differ}}
  %odd = arith.trunci %i : i32 to i1
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %odd {
    // expected-error@+1 {{variable 'w' is assigned under control flow that may differ between replicas, and has no aggregation: its copies would diverge [E_AGG_NONE]}}
    replica.assign @w, %zero : tensor<f32>
  }
  replica.return
}

// -----

// Two errors in one step: a varying metric, and a varying value that is assigned to a variable without an aggregation.
// expected-note@+1 {{the variable is declared here}}
replica.variable @v : tensor<f32>
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @through_variable(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "m"}) {
  // expected-error@+2 {{metric 'm' may differ between replicas, expected a value that is equal on all of them; all_reduce it first}}
  // expected-note@+1 {{'arith.negf' makes it from a value that may differ}}
  %n = arith.negf %x : tensor<f32>
  // expected-error@+1 {{variable 'v' is assigned a value that may differ}}
  replica.assign @v, %x : tensor<f32>
  replica.return %n : tensor<f32>
}

// -----

// A metric is read from a variable to which the previous step has assigned a varying value.
// expected-note@+1 {{the variable is declared here}}
replica.variable @v : tensor<f32>
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @metric_of_variable(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "m"}) {
  // expected-error@+1 {{metric 'm' may differ between replicas}}
  %v = replica.read @v : tensor<f32>
  // expected-error@+2 {{variable 'v' is assigned a value that may differ}}
  // expected-note@+1 {{the variable that it is read from gets a value here that may differ}}
  replica.assign @v, %x : tensor<f32>
  replica.return %v : tensor<f32>
}

// -----

// Each replica has its own value of a variable that is synchronized on read. [5.3-own]
replica.variable @seen : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
replica.step @metric_on_read() -> (tensor<f32> {replica.metric = "seen"}) {
  // expected-error@+2 {{metric 'seen' may differ between replicas}}
  // expected-note@+1 {{variable 'seen' is synchronized on read: each replica has its own value}}
  %v = replica.read @seen : tensor<f32>
  replica.return %v : tensor<f32>
}

// -----

// In cross-replica context, the same read combines all copies. [4-read-var]
replica.variable @seen : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
replica.step @metric_combined() -> (tensor<f32> {replica.metric = "seen"}) {
  %r = replica.merge_call -> tensor<f32> {
    %v = replica.read @seen : tensor<f32>
    replica.yield %v : tensor<f32>
  }
  replica.return %r : tensor<f32>
}

// -----

// So does an aggregated read in replica context. [5.3-read-context]
replica.variable @seen : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
replica.step @metric_read_together() -> (tensor<f32> {replica.metric = "seen"}) {
  %v = replica.read @seen {aggregated} : tensor<f32>
  replica.return %v : tensor<f32>
}

// -----

// Sums and counts of an evaluation are added over the replicas, so they may differ.
replica.step @evaluate(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.sum = "loss"}, tensor<f32> {replica.count = "loss"}) {
  replica.return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// The number of replicas is the same for all of them.
replica.step @count() -> (tensor<i32> {replica.metric = "n"}) {
  %n = replica.num_in_sync : tensor<i32>
  replica.return %n : tensor<i32>
}

// -----

// A region that takes a plain value would see one replica's value only. [2.3-arguments]
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @plain_argument(%x: tensor<f32> {replica.batch = "x"}) {
  // expected-error@+1 {{argument 0 of 'replica.merge_call' may differ between replicas, but its region takes one value of type 'tensor<f32>'; expected '!replica.per_replica<tensor<f32>>'}}
  replica.merge_call (%x : tensor<f32>) {
  ^bb0(%v: tensor<f32>):
    replica.yield
  }
  replica.return
}

// -----

// The correct step takes the values of all replicas, and a uniform value as a plain argument. [2.3-arguments]
replica.variable @w : tensor<f32>
replica.step @merge(%x: tensor<f32> {replica.batch = "x"}, %lr: tensor<f32> {replica.scalar = "lr"}) -> (tensor<f32> {replica.metric = "sum"}) {
  %r = replica.merge_call (%x, %lr : tensor<f32>, tensor<f32>) -> tensor<f32> {
  ^bb0(%v: !replica.per_replica<tensor<f32>>, %rate: tensor<f32>):
    %s = replica.reduce_to sum %v, @w : !replica.per_replica<tensor<f32>> -> !replica.mirrored<tensor<f32>>
    replica.update @w (%s, %rate : !replica.mirrored<tensor<f32>>, tensor<f32>) {
    ^bb0(%current: tensor<f32>, %d: tensor<f32>, %f: tensor<f32>):
      %scaled = arith.mulf %d, %f : tensor<f32>
      %new = arith.subf %current, %scaled : tensor<f32>
      replica.yield %new : tensor<f32>
    }
    replica.yield %s : !replica.mirrored<tensor<f32>>
  }
  replica.return %r : tensor<f32>
}

// -----

// A per-replica value that a merge_call returns is the replica's own component again.
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @component(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "m"}) {
  // The value enters the region and leaves it, both on this line.
  // expected-error@+2 {{metric 'm' may differ between replicas}}
  // expected-note@+1 {{'replica.merge_call' makes it from a value that may differ}}
  %r = replica.merge_call (%x : tensor<f32>) -> tensor<f32> {
  ^bb0(%v: !replica.per_replica<tensor<f32>>):
    replica.yield %v : !replica.per_replica<tensor<f32>>
  }
  replica.return %r : tensor<f32>
}

// -----

// merge_calls that replicas issue in each other's place must have the same region and plain arguments. [2.3-different, 10-merge-function]
// expected-note@+1 {{batch argument 'c' is different on each replica}}
replica.step @other_plain_value(%c: tensor<i1> {replica.batch = "c"}) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %two = arith.constant dense<2.0> : tensor<f32>
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %b = tensor.extract %c[] : tensor<i1>
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %b {
    // expected-error@+2 {{'replica.merge_call' is issued by some replicas, while others issue a different 'replica.merge_call' in its place [E_COLLECTIVE_DIVERGENCE]}}
    // expected-note@+1 {{some replicas issue 'replica.merge_call' of 'tensor<f32>'}}
    replica.merge_call (%one : tensor<f32>) {
    ^bb0(%v: tensor<f32>):
      replica.yield
    }
  } else {
    // expected-note@+1 {{other replicas issue 'replica.merge_call' of 'tensor<f32>'}}
    replica.merge_call (%two : tensor<f32>) {
    ^bb0(%v: tensor<f32>):
      replica.yield
    }
  }
  replica.return
}

// -----

// Here the regions are the same, and the argument is not plain.
replica.step @same_merge_call(%c: tensor<i1> {replica.batch = "c"}, %x: tensor<f32> {replica.batch = "x"}) {
  %b = tensor.extract %c[] : tensor<i1>
  scf.if %b {
    replica.merge_call (%x : tensor<f32>) {
    ^bb0(%v: !replica.per_replica<tensor<f32>>):
      %s = replica.reduce_to sum %v : !replica.per_replica<tensor<f32>> -> !replica.mirrored<tensor<f32>>
      replica.yield
    }
  } else {
    %n = arith.negf %x : tensor<f32>
    replica.merge_call (%n : tensor<f32>) {
    ^bb0(%v: !replica.per_replica<tensor<f32>>):
      %s = replica.reduce_to sum %v : !replica.per_replica<tensor<f32>> -> !replica.mirrored<tensor<f32>>
      replica.yield
    }
  }
  replica.return
}

// -----

// Values whose number of rows may differ between replicas cannot be summed. [2.1-shape, 10-shape]
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @ragged_reduction(%x: tensor<?xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{operand 0 of 'replica.all_reduce' has type 'tensor<?xf32>', and the size of its dimension 0 may differ between replicas [E_SHAPE_MISMATCH]}}
  %0 = replica.all_reduce sum %x : tensor<?xf32>
  replica.return
}

// -----

// They can be gathered along that dimension; the result and its size are equal on all replicas. [2.2-ragged]
replica.step @ragged_gather(%x: tensor<?x3xf32> {replica.batch = "x"}) {
  %all = replica.all_gather %x axis 0 : tensor<?x3xf32> -> tensor<?x3xf32>
  %0 = replica.all_reduce sum %all : tensor<?x3xf32>
  replica.return
}

// -----

// They cannot be gathered along another dimension. [2.2-other-dims, 10-gather]
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @other_axis(%x: tensor<?x3xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{operand 0 of 'replica.all_gather' has type 'tensor<?x3xf32>', and the size of its dimension 0 may differ}}
  %all = replica.all_gather %x axis 1 : tensor<?x3xf32> -> tensor<?x?xf32>
  replica.return
}

// -----

// A dynamic size that is a host scalar is equal on all replicas, whatever the contents are.
#map = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>
replica.step @host_size(%n_of: tensor<index> {replica.scalar = "n"}, %x: tensor<f32> {replica.batch = "x"}) {
  %n = tensor.extract %n_of[] : tensor<index>
  %e = tensor.empty(%n) : tensor<?xf32>
  %v = linalg.generic {indexing_maps = [#scalar, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<f32>) outs(%e : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?xf32>
  %0 = replica.all_reduce sum %v : tensor<?xf32>
  replica.return
}

// -----

// An update cannot have a varying operand, since copies would diverge [E_PER_REPLICA_IN_UPDATE]. [4-update-per-replica, 10-mirrored]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<4xf32>
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.program @update(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{operand 0 of 'replica.update' may differ between replicas, with which the copies of variable 'w' would diverge; reduce it first [E_PER_REPLICA_IN_UPDATE]}}
  replica.update @w (%x : !replica.per_replica<tensor<4xf32>>) {
  ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>):
    replica.yield %d : tensor<4xf32>
  }
  replica.return
}

// -----

// update_non_slot cannot have a varying operand. [4-update-non-slot]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.program @update_non_slot(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{operand 0 of 'replica.update_non_slot' may differ between replicas, with which what is computed on each of them would diverge; reduce it first [E_PER_REPLICA_IN_UPDATE]}}
  replica.update_non_slot (%x : !replica.per_replica<tensor<4xf32>>) {
  ^bb0(%d: tensor<4xf32>):
    replica.yield
  }
  replica.return
}

// -----

// An assignment in cross-replica context cannot have a varying operand. [5.2-cross-per-replica, 10-mirrored]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<sum>}
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.program @assign(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{operand 0 of 'replica.assign' may differ between replicas, with which the copies of variable 'w' would diverge; reduce it first [E_PER_REPLICA_IN_UPDATE]}}
  replica.assign @w, %x : !replica.per_replica<tensor<4xf32>>
  replica.return
}

// -----

// The result of a run is per replica, unless it is equal on all of them. [1.2-regroup-said-equal]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.program @plain(%k: tensor<f32> {replica.scalar = "k"}) -> (tensor<f32> {replica.result = "k"}) {
  %0 = replica.run (%k : tensor<f32>) -> tensor<f32> {
  ^bb0(%mine: tensor<f32>):
    replica.yield %mine : tensor<f32>
  }
  replica.return %0 : tensor<f32>
}
replica.program @varying() -> (tensor<i32> {replica.result = "i"}) {
  // expected-note@+2 {{'replica.run' makes it from a value that may differ}}
  // expected-error@+1 {{result 0 of 'replica.run' may differ between replicas; expected type '!replica.per_replica<tensor<i32>>', found 'tensor<i32>'}}
  %0 = replica.run -> tensor<i32> {
    // expected-note@+1 {{'replica.id' is different on each replica}}
    %i = replica.id : tensor<i32>
    replica.yield %i : tensor<i32>
  }
  replica.return %0 : tensor<i32>
}

// -----

// Half of the replicas assign the variable: the copies of the others keep their old value. [5.2-uniform]
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4}
// expected-note@+1 {{the variable is declared here, without an aggregation}}
replica.variable @w : tensor<f32>
replica.step @half() {
  %one = arith.constant dense<1.0> : tensor<f32>
  %two = arith.constant 2 : i32
  // expected-note@+1 {{'replica.id' is different on each replica}}
  %id = replica.id : tensor<i32>
  // expected-note@+1 {{'tensor.extract' makes it}}
  %i = tensor.extract %id[] : tensor<i32>
  // expected-note@+1 {{'arith.cmpi' makes it}}
  %few = arith.cmpi slt, %i, %two : i32
  // expected-note@+1 {{the condition of this branch may differ}}
  scf.if %few {
    // expected-error@+1 {{variable 'w' is assigned under control flow that may differ between replicas, and has no aggregation: its copies would diverge [E_AGG_NONE]}}
    replica.assign @w, %one : tensor<f32>
    // There is no error for this read, since the assignment is refused already.
    %v = replica.read @w : tensor<f32>
  }
  replica.return
}

// -----

// All replicas assign the variable, although it depends on their numbers.
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<f32>
replica.step @both() {
  %one = arith.constant dense<1.0> : tensor<f32>
  %two = arith.constant 2 : i32
  %id = replica.id : tensor<i32>
  %i = tensor.extract %id[] : tensor<i32>
  %few = arith.cmpi slt, %i, %two : i32
  scf.if %few {
    replica.assign @w, %one : tensor<f32>
  }
  replica.return
}

// -----

// In a merge_call, which is executed once, a per-replica value cannot be assigned to all copies.
replica.variable @w : tensor<f32> {aggregation = #replica.aggregation<sum>}
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @merge_per_replica(%x: tensor<f32> {replica.batch = "x"}) {
  // expected-note@+1 {{'replica.merge_call' makes it from a value that may differ}}
  replica.merge_call (%x : tensor<f32>) {
  ^bb0(%v: !replica.per_replica<tensor<f32>>):
    // expected-error@+1 {{operand 0 of 'replica.assign' may differ between replicas, with which the copies of variable 'w' would diverge; reduce it first [E_PER_REPLICA_IN_UPDATE]}}
    replica.assign @w, %v : !replica.per_replica<tensor<f32>>
  }
  replica.return
}

// -----

// The result of a reduction can. [5.2-cross-per-replica]
replica.variable @w : tensor<f32>
replica.step @merge_reduced(%x: tensor<f32> {replica.batch = "x"}) {
  replica.merge_call (%x : tensor<f32>) {
  ^bb0(%v: !replica.per_replica<tensor<f32>>):
    %s = replica.reduce_to sum %v : !replica.per_replica<tensor<f32>> -> !replica.mirrored<tensor<f32>>
    replica.assign @w, %s : !replica.mirrored<tensor<f32>>
  }
  replica.return
}

// -----

// The variable is assigned in a loop whose trip count is the replica's number of rows.
// expected-note@+1 {{the variable is declared here, without an aggregation}}
replica.variable @w : tensor<f32>
// expected-note@+1 {{batch argument 'x' is different on each replica}}
replica.step @rows(%x: tensor<?xf32> {replica.batch = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant dense<1.0> : tensor<f32>
  // expected-note@+1 {{'tensor.dim' makes it}}
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  // expected-note@+1 {{the trip count of this loop may differ}}
  scf.for %i = %c0 to %n step %c1 {
    // expected-error@+1 {{variable 'w' is assigned under control flow that may differ}}
    replica.assign_add @w, %one : tensor<f32>
  }
  replica.return
}

// -----

// An unknown operation may have another result on each replica, also in the body of a generic.
replica.step @clock(%x: tensor<2xf32> {replica.batch = "x"}) {
  %e = tensor.empty() : tensor<i64>
  %zero = arith.constant 0 : i64
  // expected-note@+1 {{'linalg.generic' makes it from a value that may differ}}
  %time = linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%e : tensor<i64>) {
  ^bb0(%out: i64):
    // expected-note@+1 {{'llvm.call_intrinsic' is not known to give equal results for equal operands}}
    %0 = llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
    linalg.yield %0 : i64
  } -> tensor<i64>
  // expected-note@+1 {{'tensor.extract' makes it from a value that may differ}}
  %ticks = tensor.extract %time[] : tensor<i64>
  // expected-note@+1 {{'arith.cmpi' makes it from a value that may differ}}
  %c = arith.cmpi eq, %ticks, %zero : i64
  // expected-note@+1 {{the condition of this branch may differ between replicas}}
  scf.if %c {
    // expected-error@+1 {{'replica.all_reduce' is under a condition that may differ between replicas}}
    %s = replica.all_reduce sum %x : tensor<2xf32>
  }
  replica.return
}

// -----

// A kernel with such an operation.
device.kernel @time() -> tensor<i64> {
  %e = tensor.empty() : tensor<i64>
  %time = linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%e : tensor<i64>) {
  ^bb0(%out: i64):
    %0 = llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
    linalg.yield %0 : i64
  } -> tensor<i64>
  device.yield %time : tensor<i64>
}
func.func @step() -> (tensor<i64> {device.binding = #device.binding<metric "m">}) {
  // expected-error@+2 {{metric 'm' may differ between replicas}}
  // expected-note@+1 {{'device.invoke' invokes a kernel that is not known to give equal results for equal operands}}
  %0 = device.invoke @time() : () -> tensor<i64>
  return %0 : tensor<i64>
}
