// RUN: lockstep-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Every rule of the verifiers. Classes in brackets are those of the error table.

// There is one strategy. [1.1-mixed]
replica.strategy @a {kind = #replica.kind<mirrored>}
// expected-error@+1 {{expected at most one strategy in a module}}
replica.strategy @b {kind = #replica.kind<mirrored>}

// -----

// One device holds one replica. [1.3-one-replica-kinds]
// expected-error@+1 {{expected 1 replica for strategy 'one_device', found 2}}
replica.strategy @a {kind = #replica.kind<one_device>, replicas = 2 : i64}

// -----

// There is at least one replica.
// expected-error@+1 {{attribute 'replicas' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
replica.strategy @a {kind = #replica.kind<mirrored>, replicas = 0 : i64}

// -----

// Only strategies whose variables live on servers have some ... [1.3-parameter-server]
// expected-error@+1 {{expected no servers for strategy 'mirrored', found 2 [E_CLUSTER]}}
replica.strategy @a {kind = #replica.kind<mirrored>, servers = 2 : i64}

// -----

// ... and split variables over them ...
// expected-error@+1 {{expected no partitioner for strategy 'central_storage', which has no servers}}
replica.strategy @a {kind = #replica.kind<central_storage>, partitioner = #replica.partitioner<fixed 2>}

// -----

// ... of which there is one at least. [1.3-parameter-server]
// expected-error@+1 {{expected a server at least, found 0 [E_CLUSTER]}}
replica.strategy @a {kind = #replica.kind<parameter_server_sync>, servers = 0 : i64}

// -----

// Workers that are on their own have a replica each. [1.3-one-replica-kinds]
// expected-error@+1 {{expected 1 replica for strategy 'parameter_server', found 2}}
replica.strategy @a {kind = #replica.kind<parameter_server>, replicas = 2 : i64, servers = 1 : i64}

// -----

// Numbers of a partitioner are positive ...
// expected-error@+1 {{expected a positive 'num_shards', found 0 [E_OPTION_VALUE]}}
replica.strategy @a {kind = #replica.kind<parameter_server>, partitioner = #replica.partitioner<fixed 0>}

// -----

// ... all of them ...
// expected-error@+1 {{expected a positive 'min_shard_bytes', found -1 [E_OPTION_VALUE]}}
replica.strategy @a {kind = #replica.kind<parameter_server>, partitioner = #replica.partitioner<min_size bytes -1 shards 2>}

// -----

// ... and a largest size is given.
// expected-error@+1 {{expected a positive 'max_shard_bytes', found 0 [E_OPTION_VALUE]}}
replica.strategy @a {kind = #replica.kind<parameter_server>, partitioner = #replica.partitioner<max_size shards 2>}

// -----

// A variable is beside another variable ... [8-colocate]
// expected-error@+1 {{unknown variable @w}}
replica.variable @v : tensor<4xf32> {colocate_with = @w}

// -----

// ... that has its place already.
// expected-error@+1 {{expected to be colocated with a variable that stands before it, found @w}}
replica.variable @v : tensor<4xf32> {colocate_with = @w}
replica.variable @w : tensor<4xf32>

// -----

// How copies are kept equal has a fixed set of names ... [5.1-unknown]
// expected-error@+2 {{expected ::lockstep::replica::Synchronization to be one of: on_write, on_read, auto, none}}
// expected-error@+1 {{failed to parse Replica_SynchronizationAttr parameter 'value'}}
replica.variable @v : tensor<f32> {synchronization = #replica.synchronization<on_demand>}

// -----

// ... and so has how they are combined. [5.1-unknown]
// expected-error@+2 {{expected ::lockstep::replica::Aggregation to be one of: none, sum, mean, only_first_replica, uniform}}
// expected-error@+1 {{failed to parse Replica_AggregationAttr parameter 'value'}}
replica.variable @v : tensor<f32> {aggregation = #replica.aggregation<median>}

// -----

// Variables hold numbers ...
// expected-error@+1 {{expected elements that are integers or floats, found 'index'}}
replica.variable @v : tensor<4xindex>

// -----

// ... of static shape ...
// expected-error@+1 {{attribute 'type' failed to satisfy constraint}}
replica.variable @v : tensor<?xf32>

// -----

// ... initial values have their type ...
// expected-error@+1 {{expected an initial value of type 'tensor<4xf32>', found 'tensor<2xf32>'}}
replica.variable @v : tensor<4xf32> {initial = dense<0.0> : tensor<2xf32>}

// -----

// ... and are small.
// expected-error@+1 {{expected an initial value of at most 4096 bytes, found 4100; give it by name in a safetensors file}}
replica.variable @v : tensor<1025xf32> {initial = sparse<0, 1.0> : tensor<1025xf32>}

// -----

// Bindings have names ...
// expected-error@+1 {{expected 'replica.batch' to be a non-empty string, found 3 : i32}}
replica.step @s(%x: tensor<4xf32> {replica.batch = 3 : i32}) {
  replica.return
}

// -----

// ... that are not empty ...
// expected-error@+1 {{expected 'replica.scalar' to be a non-empty string, found ""}}
replica.step @s(%x: tensor<4xf32> {replica.scalar = ""}) {
  replica.return
}

// -----

// ... and are of a known kind, for arguments ...
// expected-error@+1 {{unknown argument attribute 'replica.btach'}}
replica.step @s(%x: tensor<4xf32> {replica.btach = "x"}) {
  replica.return
}

// -----

// ... and for results.
// expected-error@+1 {{unknown result attribute 'replica.batch'}}
replica.step @s(%x: tensor<4xf32>) -> (tensor<4xf32> {replica.batch = "x"}) {
  replica.return %x : tensor<4xf32>
}

// -----

// A default belongs to a scalar ...
// expected-error@+1 {{expected 'replica.default' beside 'replica.scalar'}}
replica.step @s(%x: tensor<f32> {replica.batch = "x", replica.default = 1.0 : f32}) {
  replica.return
}

// -----

// ... of its type.
// expected-error@+1 {{expected 'replica.default' to be of type 'f32', found 1 : i32}}
replica.step @s(%x: tensor<f32> {replica.default = 1 : i32, replica.scalar = "x"}) {
  replica.return
}

// -----

// An argument is one thing.
// expected-error@+1 {{expected one of 'replica.batch', 'replica.scalar' and 'replica.variable' for argument 0, found 2}}
replica.step @s(%x: tensor<f32> {replica.batch = "x", replica.scalar = "x"}) {
  replica.return
}

// -----

// A step returns what it says.
replica.step @s(%x: tensor<4xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{expected operands of types ('tensor<2xf32>'), found ('tensor<4xf32>')}}
  replica.return %x : tensor<4xf32>
}

// -----

// Steps stand in a module.
replica.step @outer() {
  // expected-error@+1 {{expects parent op 'builtin.module'}}
  replica.step @inner() {
    replica.return
  }
  replica.return
}

// -----

// A step or program ends in a return.
func.func @f() {
  // expected-error@+1 {{expects parent op to be one of 'replica.step, replica.program'}}
  replica.return
}

// -----

// read: the variable exists ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{unknown variable @v}}
  %v = replica.read @v : tensor<4xf32>
  replica.return
}

// -----

// ... with this type.
// expected-note@+1 {{the variable is declared here}}
replica.variable @v : tensor<2xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a value of type 'tensor<2xf32>', found 'tensor<4xf32>'}}
  %v = replica.read @v : tensor<4xf32>
  replica.return
}

// -----

// assign: the variable exists ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{unknown variable @v}}
  replica.assign @v, %x : tensor<4xf32>
  replica.return
}

// -----

// ... with this type. [5.2-types]
// expected-note@+1 {{the variable is declared here}}
replica.variable @v : tensor<2xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a value of type 'tensor<2xf32>', found 'tensor<4xf32>'}}
  replica.assign @v, %x : tensor<4xf32>
  replica.return
}

// -----

// assign_add: the variable exists ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{unknown variable @v}}
  replica.assign_add @v, %x : tensor<4xf32>
  replica.return
}

// -----

// ... with this type.
// expected-note@+1 {{the variable is declared here}}
replica.variable @v : tensor<2xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a value of type 'tensor<2xf32>', found 'tensor<4xf32>'}}
  replica.assign_add @v, %x : tensor<4xf32>
  replica.return
}

// -----

// assign_sub: the variable exists ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{unknown variable @v}}
  replica.assign_sub @v, %x : tensor<4xf32>
  replica.return
}

// -----

// ... with this type.
// expected-note@+1 {{the variable is declared here}}
replica.variable @v : tensor<2xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a value of type 'tensor<2xf32>', found 'tensor<4xf32>'}}
  replica.assign_sub @v, %x : tensor<4xf32>
  replica.return
}

// -----

// id belongs to replica context [E_CONTEXT].
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{the context is opened by 'replica.merge_call'}}
  replica.merge_call (%x : tensor<4xf32>) {
  ^bb0(%v: tensor<4xf32>):
    // expected-error@+1 {{must be in replica context, but is in cross-replica context [E_CONTEXT]}}
    %0 = replica.id : tensor<i32>
  }
  replica.return
}

// -----

// all_reduce belongs to replica context [E_CONTEXT]. [1.1-wrong-context, 10-nesting]
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{the context is opened by 'replica.merge_call'}}
  replica.merge_call (%x : tensor<4xf32>) {
  ^bb0(%v: tensor<4xf32>):
    // expected-error@+1 {{must be in replica context, but is in cross-replica context [E_CONTEXT]}}
    %0 = replica.all_reduce sum %v : tensor<4xf32>
  }
  replica.return
}

// -----

// all_gather belongs to replica context [E_CONTEXT].
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{the context is opened by 'replica.merge_call'}}
  replica.merge_call (%x : tensor<4xf32>) {
  ^bb0(%v: tensor<4xf32>):
    // expected-error@+1 {{must be in replica context, but is in cross-replica context [E_CONTEXT]}}
    %0 = replica.all_gather %v axis 0 : tensor<4xf32> -> tensor<?xf32>
  }
  replica.return
}

// -----

// merge_call belongs to replica context [E_CONTEXT].
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{the context is opened by 'replica.merge_call'}}
  replica.merge_call (%x : tensor<4xf32>) {
  ^bb0(%v: tensor<4xf32>):
    // expected-error@+1 {{must be in replica context, but is in cross-replica context [E_CONTEXT]}}
    replica.merge_call {
    }
  }
  replica.return
}

// -----

// The region of an update is cross-replica context too [E_CONTEXT].
replica.variable @w : tensor<4xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call {
    // expected-note@+1 {{the context is opened by 'replica.update'}}
    replica.update @w {
    ^bb0(%c: tensor<4xf32>):
      // expected-error@+1 {{must be in replica context, but is in cross-replica context [E_CONTEXT]}}
      %0 = replica.all_reduce sum %c : tensor<4xf32>
      replica.yield %0 : tensor<4xf32>
    }
  }
  replica.return
}

// -----

// broadcast_to belongs to cross-replica context [E_CONTEXT]. [1.1-wrong-context, 10-nesting]
replica.variable @w : tensor<4xf32>
// expected-note@+1 {{the context is opened by 'replica.step'}}
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{must be in cross-replica context, but is in replica context [E_CONTEXT]}}
  %0 = replica.broadcast_to %x : tensor<4xf32> -> !replica.mirrored<tensor<4xf32>>
  replica.return
}

// -----

// reduce_to belongs to cross-replica context [E_CONTEXT].
replica.variable @w : tensor<4xf32>
// expected-note@+1 {{the context is opened by 'replica.step'}}
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{must be in cross-replica context, but is in replica context [E_CONTEXT]}}
  %0 = replica.reduce_to mean %x : tensor<4xf32> -> !replica.mirrored<tensor<4xf32>>
  replica.return
}

// -----

// update belongs to cross-replica context [E_CONTEXT].
replica.variable @w : tensor<4xf32>
// expected-note@+1 {{the context is opened by 'replica.step'}}
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{must be in cross-replica context, but is in replica context [E_CONTEXT]}}
  replica.update @w {
  ^bb0(%c: tensor<4xf32>):
    replica.yield %c : tensor<4xf32>
  }
  replica.return
}

// -----

// gather: so do the operations on values of all replicas [E_CONTEXT].
func.func @f(%p: !replica.per_replica<tensor<4xf32>>) {
  // expected-error@+1 {{must be in cross-replica context, but is in none [E_CONTEXT]}}
  %0 = "replica.gather"(%p) {axis = 0 : i64} : (!replica.per_replica<tensor<4xf32>>) -> tensor<?xf32>
  return
}

// -----

// local_results: so do the operations on values of all replicas [E_CONTEXT].
func.func @f(%p: !replica.per_replica<tensor<4xf32>>) {
  // expected-error@+1 {{must be in cross-replica context, but is in none [E_CONTEXT]}}
  %0 = "replica.local_results"(%p) : (!replica.per_replica<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----

// Reads and writes need one of the contexts [E_CONTEXT]. [1.1-wrong-context]
replica.variable @w : tensor<4xf32>
func.func @f() {
  // expected-error@+1 {{must be in replica or cross-replica context, but is in none [E_CONTEXT]}}
  %0 = replica.read @w : tensor<4xf32>
  return
}

// -----

// Even the number of replicas needs one [E_CONTEXT].
func.func @f() {
  // expected-error@+1 {{must be in replica or cross-replica context, but is in none [E_CONTEXT]}}
  %0 = replica.num_in_sync : tensor<i32>
  return
}

// -----

// There are five reductions [E_REDUCE_OP]. [2.1-op]
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a reduction 'sum', 'mean', 'product', 'min' or 'max', found 'median' [E_REDUCE_OP]}}
  %0 = replica.all_reduce median %x : tensor<4xf32>
  replica.return
}

// -----

// In cross-replica context there are sum and mean alone [E_REDUCE_OP].
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a reduction 'sum' or 'mean', found 'max' [E_REDUCE_OP]}}
  %0 = replica.reduce_to max %x : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
  replica.return
}

// -----

// Only a mean of integers has another type than the values.
replica.step @s(%x: tensor<4xi32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a max of type 'tensor<4xi32>', found 'tensor<4xf64>'}}
  %0 = replica.all_reduce max %x : tensor<4xi32> -> tensor<4xf64>
  replica.return
}

// -----

// A bound on the size of buckets is not negative [E_OPTION_VALUE]. [2.5-bytes-per-pack]
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected 'bytes_per_pack' of at least 0, found -1 [E_OPTION_VALUE]}}
  %0 = replica.all_reduce sum %x {bytes_per_pack = -1 : i64} : tensor<4xf32>
  replica.return
}

// -----

// The result of a sum is of the operand's type.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a sum of type 'tensor<4xf32>', found 'tensor<2xf32>'}}
  %0 = "replica.all_reduce"(%x) {reduction = #replica<reduction sum>} : (tensor<4xf32>) -> tensor<2xf32>
  replica.return
}

// -----

// The mean of integers is f64, or, where the strategy allows it, of their type. [2.1-mean-int]
replica.step @s(%x: tensor<4xi32> {replica.batch = "x"}) {
  // expected-error@+2 {{'replica.all_reduce' op failed to infer returned types}}
  // expected-error@+1 {{inferred type(s) 'tensor<4xf64>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  %0 = replica.all_reduce mean %x : tensor<4xi32> -> tensor<4xf32>
  replica.return
}

// -----

// The result has the rank of the operand ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a result of rank 1 and element type 'f32', found 'tensor<?x4xf32>'}}
  %0 = replica.all_gather %x axis 0 : tensor<4xf32> -> tensor<?x4xf32>
  replica.return
}

// -----

// ... and its other dimensions [E_SHAPE_MISMATCH] ... [2.2-other-dims]
replica.step @s(%x: tensor<2x3xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected dimension 1 of the result to be as in the operand 'tensor<2x3xf32>', found 'tensor<?x4xf32>' [E_SHAPE_MISMATCH]}}
  %0 = replica.all_gather %x axis 0 : tensor<2x3xf32> -> tensor<?x4xf32>
  replica.return
}

// -----

// ... and for each operand there is one.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected one result for each of 2 operands, found 1}}
  %0 = replica.all_gather %x, %x axis 0 : tensor<4xf32>, tensor<4xf32> -> tensor<?xf32>
  replica.return
}

// -----

// The region of a merge_call takes what is given ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected 1 arguments of the region, found 0}}
  replica.merge_call (%x : tensor<4xf32>) {
  }
  replica.return
}

// -----

// ... as it is, or per replica ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a region argument of type 'tensor<4xf32>' or per replica of it, found '!replica.mirrored<tensor<4xf32>>'}}
  replica.merge_call (%x : tensor<4xf32>) {
  ^bb0(%v: !replica.mirrored<tensor<4xf32>>):
    replica.yield
  }
  replica.return
}

// -----

// ... yields as much as there are results ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected the region to yield 1 values, found 0}}
  %r = replica.merge_call -> tensor<4xf32> {
  }
  replica.return
}

// -----

// ... and their components.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected the region to yield a component of type 'tensor<2xf32>', found '!replica.per_replica<tensor<4xf32>>'}}
  %r = replica.merge_call (%x : tensor<4xf32>) -> tensor<2xf32> {
  ^bb0(%v: !replica.per_replica<tensor<4xf32>>):
    replica.yield %v : !replica.per_replica<tensor<4xf32>>
  }
  replica.return
}

// -----

// Nothing is captured from the step around.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-note@+1 {{required by region isolation constraints}}
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{'arith.negf' op using value defined outside the region}}
    %0 = arith.negf %x : tensor<4xf32>
    replica.yield
  }
  replica.return
}

// -----

// The result of a reduction is mirrored, with the same components ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected a result with components of type 'tensor<4xf32>', found '!replica.mirrored<tensor<2xf32>>'}}
    %0 = replica.reduce_to sum %p : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<2xf32>>
    replica.yield
  }
  replica.return
}

// -----

// ... what is reduced is a value [E_ARG_TYPE] ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    %i = arith.constant 0 : index
    // expected-error@+1 {{expected a tensor, per-replica or mirrored value, found 'index' [E_ARG_TYPE]}}
    %0 = replica.reduce_to mean %i : index -> !replica.mirrored<tensor<4xf32>>
    replica.yield
  }
  replica.return
}

// -----

// ... and goes to a variable [E_ARG_TYPE]. [4-destinations]
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected the destination to be a variable, found @v [E_ARG_TYPE]}}
    %0 = replica.reduce_to sum %p, @v : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
    replica.yield
  }
  replica.return
}

// -----

// So does what is broadcast [E_ARG_TYPE] ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected the destination to be a variable, found @v [E_ARG_TYPE]}}
    %0 = replica.broadcast_to %v, @v : tensor<4xf32> -> !replica.mirrored<tensor<4xf32>>
    replica.yield
  }
  replica.return
}

// -----

// ... in components of its type.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected a result with components of type 'tensor<4xf32>', found '!replica.mirrored<tensor<2xf32>>'}}
    %0 = replica.broadcast_to %v : tensor<4xf32> -> !replica.mirrored<tensor<2xf32>>
    replica.yield
  }
  replica.return
}

// -----

// ... and results of their rank and element type.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected a result of rank 1 and element type 'f32', found 'tensor<?xf64>'}}
    %0 = replica.gather %p axis 0 : !replica.per_replica<tensor<4xf32>> -> tensor<?xf64>
    replica.yield
  }
  replica.return
}

// -----

// Local results are components ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected results of type 'tensor<4xf32>', found 'tensor<2xf32>'}}
    %0 = replica.local_results %p : !replica.per_replica<tensor<4xf32>> -> tensor<2xf32>
    replica.yield
  }
  replica.return
}

// -----

// ... one for each replica.
replica.strategy @s2 {kind = #replica.kind<mirrored>, replicas = 2 : i64}
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected one result for each of 2 replicas, found 1}}
    %0 = replica.local_results %p : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
    replica.yield
  }
  replica.return
}

// -----

// An update is of a variable ...
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{unknown variable @w}}
    replica.update @w {
    ^bb0(%c: tensor<4xf32>):
      replica.yield %c : tensor<4xf32>
    }
    replica.yield
  }
  replica.return
}

// -----

// ... its region takes the current value first ...
replica.variable @w : tensor<4xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected the first argument of the region to be the variable's value of type 'tensor<4xf32>'}}
    replica.update @w {
    ^bb0(%c: tensor<2xf32>):
      replica.yield %c : tensor<2xf32>
    }
    replica.yield
  }
  replica.return
}

// -----

// ... then the operands ...
replica.variable @w : tensor<4xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected 2 arguments of the region, found 1}}
    replica.update @w (%v : tensor<4xf32>) {
    ^bb0(%c: tensor<4xf32>):
      replica.yield %c : tensor<4xf32>
    }
    replica.yield
  }
  replica.return
}

// -----

// ... by their components ...
replica.variable @w : tensor<4xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected a region argument of type 'tensor<4xf32>', found 'tensor<2xf32>'}}
    replica.update @w (%v : tensor<4xf32>) {
    ^bb0(%c: tensor<4xf32>, %d: tensor<2xf32>):
      replica.yield %c : tensor<4xf32>
    }
    replica.yield
  }
  replica.return
}

// -----

// ... and yields the new value ...
replica.variable @w : tensor<4xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected the region to yield the variable's new value of type 'tensor<4xf32>' first}}
    replica.update @w (%v : tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>):
      %s = arith.constant dense<0.0> : tensor<2xf32>
      replica.yield %s, %d : tensor<2xf32>, tensor<4xf32>
    }
    replica.yield
  }
  replica.return
}

// -----

// ... then the results.
replica.variable @w : tensor<4xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: !replica.per_replica<tensor<4xf32>>, %v: tensor<4xf32>):
    // expected-error@+1 {{expected the region to yield 2 values, found 1}}
    %r = replica.update @w (%v : tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>):
      replica.yield %d : tensor<4xf32>
    }
    replica.yield
  }
  replica.return
}

// -----

// A yield ends a region of another context.
func.func @f() {
  // expected-error@+1 {{expects parent op to be one of 'replica.merge_call, replica.run, replica.update, replica.update_non_slot, replica.values_from_function'}}
  replica.yield
}

// -----

// A run is of a step or a region ...
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a step to call or a region, found neither}}
  %y = replica.run (%x : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<4xf32>>
  replica.return
}

// -----

// ... not of both.
replica.step @s(%x: tensor<4xf32>) {
  replica.return
}
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a step to call or a region, found both}}
  replica.run @s(%x : !replica.per_replica<tensor<4xf32>>) {
  ^bb0(%y: tensor<4xf32>):
    replica.yield
  }
  replica.return
}

// -----

// The step must be there ...
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{unknown step @absent}}
  replica.run @absent(%x : !replica.per_replica<tensor<4xf32>>)
  replica.return
}

// -----

// ... and take the components of the operands ...
replica.step @s(%x: tensor<2xf32>) {
  replica.return
}
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected operands for ('tensor<2xf32>'), found ('!replica.per_replica<tensor<4xf32>>')}}
  replica.run @s(%x : !replica.per_replica<tensor<4xf32>>)
  replica.return
}

// -----

// ... and give those of the results.
replica.step @s(%x: tensor<4xf32>) -> tensor<4xf32> {
  replica.return %x : tensor<4xf32>
}
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected results of ('tensor<4xf32>'), found ()}}
  replica.run @s(%x : !replica.per_replica<tensor<4xf32>>)
  replica.return
}

// -----

// The region of a run gets components ...
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a region argument of type 'tensor<4xf32>', found '!replica.per_replica<tensor<4xf32>>'}}
  replica.run (%x : !replica.per_replica<tensor<4xf32>>) {
  ^bb0(%y: !replica.per_replica<tensor<4xf32>>):
    replica.yield
  }
  replica.return
}

// -----

// ... as many as there are operands ...
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected 1 arguments of the region, found 0}}
  replica.run (%x : !replica.per_replica<tensor<4xf32>>) {
    replica.yield
  }
  replica.return
}

// -----

// ... and yields components.
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected the region to yield a component of '!replica.per_replica<tensor<2xf32>>', found 'tensor<4xf32>'}}
  %0 = replica.run (%x : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<2xf32>> {
  ^bb0(%y: tensor<4xf32>):
    replica.yield %y : tensor<4xf32>
  }
  replica.return
}

// -----

// What a run holds is in replica context, in which no run can be [E_CONTEXT]. [2.3-wrong-nesting, 10-nesting]
replica.program @p() {
  // expected-note@+1 {{the context is opened by 'replica.run'}}
  replica.run {
    // expected-error@+1 {{must be in cross-replica context, but is in replica context [E_CONTEXT]}}
    replica.run {
      replica.yield
    }
    replica.yield
  }
  replica.return
}

// -----

// Batches of programs are per replica ...
// expected-error@+1 {{expected a per-replica type beside 'replica.batch' for argument 0, found 'tensor<4xf32>'}}
replica.program @p(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.return
}

// -----

// ... scalars are not ...
// expected-error@+1 {{expected a tensor beside 'replica.scalar' for argument 0, found '!replica.per_replica<tensor<4xf32>>'}}
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.scalar = "x"}) {
  replica.return
}

// -----

// ... and there is nothing else.
// expected-error@+1 {{expected 'replica.batch' or 'replica.scalar' for argument 0}}
replica.program @p(%x: tensor<4xf32>) {
  replica.return
}

// -----

// A reduction is along axes of the value [E_AXIS_RANGE] ... [3.1-axis-list]
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected an axis in [0, 1), found 1 [E_AXIS_RANGE]}}
  %0 = replica.reduce sum %x axes [1] : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  replica.return
}

// -----

// ... different ones ... [3.1-axis-list]
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected different axes, found 0 twice}}
  %0 = replica.reduce sum %x axes [0, 0] : !replica.per_replica<tensor<4xf32>> -> tensor<f32>
  replica.return
}

// -----

// ... which the result no longer has; the mean of integers is f64.
replica.program @p(%x: !replica.per_replica<tensor<4x2xi32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a result of type 'tensor<2xf64>', found 'tensor<2xi32>'}}
  %0 = replica.reduce mean %x axes [0] : !replica.per_replica<tensor<4x2xi32>> -> tensor<2xi32>
  replica.return
}

// -----

// Several reductions have as many results ...
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected one result for each of 2 operands, found 1}}
  %0 = replica.batch_reduce_to sum %x, %x : !replica.per_replica<tensor<4xf32>>, !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  replica.return
}

// -----

// ... and, if any, as many destinations ...
replica.variable @v : tensor<4xf32>
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected one destination for each of 1 operands, found 2}}
  %0 = replica.batch_reduce_to sum %x to [@v, @v] : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  replica.return
}

// -----

// ... which are variables [E_ARG_TYPE].
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected the destination to be a variable, found @p [E_ARG_TYPE]}}
  %0 = replica.batch_reduce_to sum %x to [@p] : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  replica.return
}

// -----

// Slices are rows ...
replica.step @s(%v: tensor<f32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected values with rows, found 'tensor<f32>'}}
  %0, %1 = replica.all_reduce_slices sum %v at %i : tensor<f32>, tensor<2xi64> -> tensor<4xf32>, tensor<4xi64>
  replica.return
}

// -----

// ... at integer places ...
replica.step @s(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xf32> {replica.batch = "i"}) {
  // expected-error@+1 {{expected a vector of integer indices, found 'tensor<2xf32>'}}
  %0, %1 = replica.all_reduce_slices sum %v at %i : tensor<2xf32>, tensor<2xf32> -> tensor<4xf32>, tensor<4xf32>
  replica.return
}

// -----

// ... one for each [E_SHAPE_MISMATCH] ...
replica.step @s(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<3xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected as many indices as values, 2, found 3 [E_SHAPE_MISMATCH]}}
  %0, %1 = replica.all_reduce_slices sum %v at %i : tensor<2xf32>, tensor<3xi64> -> tensor<4xf32>, tensor<6xi64>
  replica.return
}

// -----

// ... of the shape of the variable's [E_SHAPE_MISMATCH] ...
replica.variable @t : tensor<8x4xf32>
replica.step @s(%v: tensor<2x3xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected rows of 'tensor<8x4xf32>', found 'tensor<2x3xf32>' [E_SHAPE_MISMATCH]}}
  replica.scatter add @t, %i, %v : tensor<2xi64>, tensor<2x3xf32>
  replica.return
}

// -----

// ... and type [E_DTYPE_MISMATCH].
replica.variable @t : tensor<8xf32>
replica.step @s(%v: tensor<2xf64> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected values of type 'f32', found 'tensor<2xf64>' [E_DTYPE_MISMATCH]}}
  replica.scatter add @t, %i, %v : tensor<2xi64>, tensor<2xf64>
  replica.return
}

// -----

// There are seven ways of scattering.
replica.variable @t : tensor<8xf32>
replica.step @s(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected 'add', 'sub', 'mul', 'div', 'min', 'max' or 'update', found 'power'}}
  replica.scatter power @t, %i, %v : tensor<2xi64>, tensor<2xf32>
  replica.return
}

// -----

// The function of replica numbers gets a number.
replica.program @p() {
  // expected-error@+1 {{expected the region to have one argument of type 'tensor<i32>', the number of a replica}}
  %0 = replica.values_from_function -> !replica.per_replica<tensor<f32>> {
  ^bb0(%id: tensor<f32>):
    replica.yield %id : tensor<f32>
  }
  replica.return
}

// -----

// What is not a variable's own is equal everywhere.
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{expected mirrored or plain results, found '!replica.per_replica<tensor<f32>>'}}
  %0 = replica.update_non_slot (%k : tensor<f32>) -> !replica.per_replica<tensor<f32>> {
  ^bb0(%a: tensor<f32>):
    replica.yield %a : tensor<f32>
  }
  replica.return
}

// -----

// The tensors of an iterator have names ...
// expected-error@+1 {{expected 'replica.batches' to name the 2 tensors of argument 0}}
replica.program @p(%it: !replica.iterator<tensor<f32>, tensor<f32>> {replica.batches = ["x"]}) {
  replica.return
}

// -----

// ... which are names ...
// expected-error@+1 {{expected 'replica.batches' to be an array of names, found [1]}}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = [1]}) {
  replica.return
}

// -----

// ... and bounds, as many as dynamic dimensions. [6.1-element-spec]
// expected-error@+1 {{expected 'replica.bounds' with a bound for each of 2 dynamic dimensions of argument 0}}
replica.program @p(%it: !replica.iterator<tensor<?xf32>, tensor<?xf32>> {replica.batches = ["x", "y"], replica.bounds = array<i64: 8>}) {
  replica.return
}

// -----

// A program has one iterator.
// expected-error@+1 {{expected at most one iterator, found argument 1 beside another one}}
replica.program @p(%a: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}, %b: !replica.iterator<tensor<f32>> {replica.batches = ["y"]}) {
  replica.return
}

// -----

// An iterator gives tensors with a rank.
// expected-error@+1 {{expected an iterator over ranked tensors, found 'tensor<*xf32>'}}
replica.program @p(%it: !replica.iterator<tensor<*xf32>> {replica.batches = ["x"]}) {
  replica.return
}

// -----

// Steps that are run on batches are there ...
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{unknown step @absent}}
  replica.run_steps 3 @absent(%it : !replica.iterator<tensor<f32>>) {reductions = []}
  replica.return
}

// -----

// ... take a batch and the parameters ...
replica.step @s(%x: tensor<f32>) {
  replica.return
}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}, %k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{expected a batch and parameters for ('tensor<f32>'), found ('tensor<f32>', 'tensor<f32>')}}
  replica.run_steps 3 @s(%it, %k : !replica.iterator<tensor<f32>>, tensor<f32>) {reductions = []}
  replica.return
}

// -----

// ... give results that are reduced, or not ...
replica.step @s(%x: tensor<f32>) -> tensor<f32> {
  replica.return %x : tensor<f32>
}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{expected a reduction and a result for each of 1 results of the step, found 0 and 0}}
  replica.run_steps 3 @s(%it : !replica.iterator<tensor<f32>>) {reductions = []}
  replica.return
}

// -----

// ... by sum or mean ... [7-last-output]
replica.step @s(%x: tensor<f32>) -> tensor<f32> {
  replica.return %x : tensor<f32>
}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{expected a reduction 'sum', 'mean' or 'none', found 'max' [E_REDUCE_OP]}}
  %0 = replica.run_steps 3 @s(%it : !replica.iterator<tensor<f32>>) {reductions = ["max"]} -> tensor<f32>
  replica.return
}

// -----

// ... to the type that this gives.
replica.step @s(%x: tensor<f32>) -> tensor<f32> {
  replica.return %x : tensor<f32>
}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{expected a result of type '!replica.per_replica<tensor<f32>>' for 'none' of 'tensor<f32>', found 'tensor<f32>'}}
  %0 = replica.run_steps 3 @s(%it : !replica.iterator<tensor<f32>>) {reductions = ["none"]} -> tensor<f32>
  replica.return
}

// -----

// What is no tensor can be said in JSON. [7-non-tensor]
replica.step @s(%x: tensor<f32>) {
  replica.return
}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{expected output 'rate' to be made of strings, booleans, i64 and finite f64, found [1.000000e+00 : f32]}}
  replica.run_steps 3 @s(%it : !replica.iterator<tensor<f32>>) {reductions = [], non_tensor_outputs = {rate = [1.0 : f32]}}
  replica.return
}

// -----

// A lookup is of a variable that exists ...
replica.step @s(%ids: tensor<3xi64> {replica.batch = "ids"}) {
  // expected-error@+1 {{unknown variable @t}}
  %r = replica.lookup @t, %ids : tensor<3xi64> -> tensor<3x2xf32>
  replica.return
}

// -----

// ... and has rows ...
replica.variable @t : tensor<f32>
replica.step @s(%ids: tensor<3xi64> {replica.batch = "ids"}) {
  // expected-error@+1 {{expected a variable with rows, found 'tensor<f32>' [E_RANK_MISMATCH]}}
  %r = replica.lookup @t, %ids : tensor<3xi64> -> tensor<3xf32>
  replica.return
}

// -----

// ... by a vector of numbers ...
replica.variable @t : tensor<5x2xf32>
replica.step @s(%ids: tensor<3x1xi64> {replica.batch = "ids"}) {
  // expected-error@+1 {{expected a vector of ids of type i32 or i64, found 'tensor<3x1xi64>'}}
  %r = replica.lookup @t, %ids : tensor<3x1xi64> -> tensor<3x2xf32>
  replica.return
}

// -----

// ... that are integers, ...
replica.variable @t : tensor<5x2xf32>
replica.step @s(%ids: tensor<3xf32> {replica.batch = "ids"}) {
  // expected-error@+1 {{expected a vector of ids of type i32 or i64, found 'tensor<3xf32>'}}
  %r = replica.lookup @t, %ids : tensor<3xf32> -> tensor<3x2xf32>
  replica.return
}

// -----

// ... and its result has its rows.
replica.variable @t : tensor<5x2xf32>
replica.step @s(%ids: tensor<3xi64> {replica.batch = "ids"}) {
  // expected-error@+1 {{expected a result of type 'tensor<3x2xf32>', found 'tensor<3x4xf32>' [E_SHAPE_MISMATCH]}}
  %r = replica.lookup @t, %ids : tensor<3xi64> -> tensor<3x4xf32>
  replica.return
}

// -----

// It is a replica that looks up.
replica.variable @t : tensor<5x2xf32>
// expected-note@+1 {{the context is opened by 'replica.program'}}
replica.program @p(%ids: tensor<3xi64> {replica.scalar = "ids"}) {
  // expected-error@+1 {{must be in replica context, but is in cross-replica context [E_CONTEXT]}}
  %r = replica.lookup @t, %ids : tensor<3xi64> -> tensor<3x2xf32>
  replica.return
}

// -----

// Slices have an index for each row ...
replica.step @s(%v: tensor<3x2xf32> {replica.batch = "v"}, %i: tensor<4xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected as many indices as values, 3, found 4 [E_SHAPE_MISMATCH]}}
  %r = replica.slices_to_dense %v at %i : tensor<3x2xf32>, tensor<4xi64> -> tensor<5x2xf32>
  replica.return
}

// -----

// ... and are rows of the tensor that they become.
replica.step @s(%v: tensor<3x2xf32> {replica.batch = "v"}, %i: tensor<3xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected a result with rows as in 'tensor<3x2xf32>', found 'tensor<5x4xf32>' [E_SHAPE_MISMATCH]}}
  %r = replica.slices_to_dense %v at %i : tensor<3x2xf32>, tensor<3xi64> -> tensor<5x4xf32>
  replica.return
}

// -----

// What a step exchanges with its environment is ranked tensors.
// expected-error@+1 {{expected a tensor beside 'replica.batch' for argument 0, found 'f32'}}
replica.step @s(%x: f32 {replica.batch = "x"}) {
  replica.return
}

// -----

// expected-error@+1 {{expected a tensor beside 'replica.scalar' for argument 1, found 'index'}}
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}, %s: index {replica.scalar = "s"}) {
  replica.return
}

// -----

// expected-error@+1 {{expected a tensor beside 'replica.batch' for argument 0, found 'tensor<*xf32>'}}
replica.step @s(%x: tensor<*xf32> {replica.batch = "x"}) {
  replica.return
}

// -----

// expected-error@+1 {{expected a tensor beside 'replica.batch' for argument 0, found 'memref<4xf32>'}}
replica.step @s(%x: memref<4xf32> {replica.batch = "x"}) {
  replica.return
}

// -----

// expected-error@+1 {{expected a tensor beside 'replica.metric' for result 0, found 'f32'}}
replica.step @s() -> (f32 {replica.metric = "m"}) {
  %c = arith.constant 0.0 : f32
  replica.return %c : f32
}

// -----

// Names tell them apart.
// expected-error@+1 {{expected different names in 'replica.batch', found "x" at 0 and 1}}
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}, %y: tensor<4xf32> {replica.batch = "x"}) {
  replica.return
}

// -----

// expected-error@+1 {{expected different names in 'replica.result', found "r" at 0 and 1}}
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.result = "r"}, tensor<4xf32> {replica.result = "r"}) {
  replica.return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error@+1 {{expected different names in 'replica.metric', found "m" at 0 and 1}}
replica.step @s(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "m"}, tensor<f32> {replica.metric = "m"}) {
  replica.return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// A size in bytes must not wrap.
// expected-error@+1 {{expected at most 140737488355328 bytes, which can be addressed, found more in 'tensor<4000000000x4000000000xf32>'}}
replica.variable @w : tensor<4000000000x4000000000xf32>

// -----

// expected-error@+1 {{found more in 'tensor<4611686018427387905xf32>'}}
replica.variable @w : tensor<4611686018427387905xf32> {initial = dense<0.0> : tensor<4611686018427387905xf32>}

// -----

// expected-error@+1 {{bytes, which can be addressed, for argument 0, found more in 'tensor<4000000000x4000000000xf32>'}}
replica.step @s(%x: tensor<4000000000x4000000000xf32> {replica.batch = "x"}) {
  replica.return
}
