// RUN: lockstep-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Each rule of the verifiers has a case that violates it. Names in brackets with E_ are the error classes of docs/semantics.md.

// A module has at most one strategy. [1.1-mixed]
replica.strategy @a {kind = #replica.kind<mirrored>}
// expected-error@+1 {{expected at most one strategy in a module}}
replica.strategy @b {kind = #replica.kind<mirrored>}

// -----

// Strategy 'one_device' has one replica. [1.3-one-replica-kinds]
// expected-error@+1 {{expected 1 replica for strategy 'one_device', found 2}}
replica.strategy @a {kind = #replica.kind<one_device>, replicas = 2 : i64}

// -----

// There is at least one replica.
// expected-error@+1 {{attribute 'replicas' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
replica.strategy @a {kind = #replica.kind<mirrored>, replicas = 0 : i64}

// -----

// Only strategies whose variables are on servers have servers. [1.3-parameter-server]
// expected-error@+1 {{expected no servers for strategy 'mirrored', found 2 [E_CLUSTER]}}
replica.strategy @a {kind = #replica.kind<mirrored>, servers = 2 : i64}

// -----

// A strategy without servers has no partitioner.
// expected-error@+1 {{expected no partitioner for strategy 'central_storage', which has no servers}}
replica.strategy @a {kind = #replica.kind<central_storage>, partitioner = #replica.partitioner<fixed 2>}

// -----

// A strategy with servers has at least one. [1.3-parameter-server]
// expected-error@+1 {{expected a server at least, found 0 [E_CLUSTER]}}
replica.strategy @a {kind = #replica.kind<parameter_server_sync>, servers = 0 : i64}

// -----

// Each worker of strategy 'parameter_server' has one replica. [1.3-one-replica-kinds]
// expected-error@+1 {{expected 1 replica for strategy 'parameter_server', found 2}}
replica.strategy @a {kind = #replica.kind<parameter_server>, replicas = 2 : i64, servers = 1 : i64}

// -----

// 'num_shards' of a partitioner is positive.
// expected-error@+1 {{expected a positive 'num_shards', found 0 [E_OPTION_VALUE]}}
replica.strategy @a {kind = #replica.kind<parameter_server>, partitioner = #replica.partitioner<fixed 0>}

// -----

// 'min_shard_bytes' of a partitioner is positive.
// expected-error@+1 {{expected a positive 'min_shard_bytes', found -1 [E_OPTION_VALUE]}}
replica.strategy @a {kind = #replica.kind<parameter_server>, partitioner = #replica.partitioner<min_size bytes -1 shards 2>}

// -----

// A max_size partitioner has a 'max_shard_bytes'.
// expected-error@+1 {{expected a positive 'max_shard_bytes', found 0 [E_OPTION_VALUE]}}
replica.strategy @a {kind = #replica.kind<parameter_server>, partitioner = #replica.partitioner<max_size shards 2>}

// -----

// A variable is colocated with a variable that the module declares. [8-colocate]
// expected-error@+1 {{unknown variable @w}}
replica.variable @v : tensor<4xf32> {colocate_with = @w}

// -----

// The other variable is declared first.
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

// The elements of a variable are integers or floats.
// expected-error@+1 {{expected elements that are integers or floats, found 'index'}}
replica.variable @v : tensor<4xindex>

// -----

// The shape of a variable is static.
// expected-error@+1 {{attribute 'type' failed to satisfy constraint}}
replica.variable @v : tensor<?xf32>

// -----

// An initial value has the type of its variable.
// expected-error@+1 {{expected an initial value of type 'tensor<4xf32>', found 'tensor<2xf32>'}}
replica.variable @v : tensor<4xf32> {initial = dense<0.0> : tensor<2xf32>}

// -----

// An initial value in a module is small.
// expected-error@+1 {{expected an initial value of at most 4096 bytes, found 4100; give it by name in a safetensors file}}
replica.variable @v : tensor<1025xf32> {initial = sparse<0, 1.0> : tensor<1025xf32>}

// -----

// The name of a binding is a string.
// expected-error@+1 {{expected 'replica.batch' to be a non-empty string, found 3 : i32}}
replica.step @s(%x: tensor<4xf32> {replica.batch = 3 : i32}) {
  replica.return
}

// -----

// The name of a binding is not empty.
// expected-error@+1 {{expected 'replica.scalar' to be a non-empty string, found ""}}
replica.step @s(%x: tensor<4xf32> {replica.scalar = ""}) {
  replica.return
}

// -----

// A binding of an argument is of a known kind.
// expected-error@+1 {{unknown argument attribute 'replica.btach'}}
replica.step @s(%x: tensor<4xf32> {replica.btach = "x"}) {
  replica.return
}

// -----

// A binding of a result is of a known kind.
// expected-error@+1 {{unknown result attribute 'replica.batch'}}
replica.step @s(%x: tensor<4xf32>) -> (tensor<4xf32> {replica.batch = "x"}) {
  replica.return %x : tensor<4xf32>
}

// -----

// Only a scalar has a default value.
// expected-error@+1 {{expected 'replica.default' beside 'replica.scalar'}}
replica.step @s(%x: tensor<f32> {replica.batch = "x", replica.default = 1.0 : f32}) {
  replica.return
}

// -----

// A default value has the scalar's type.
// expected-error@+1 {{expected 'replica.default' to be of type 'f32', found 1 : i32}}
replica.step @s(%x: tensor<f32> {replica.default = 1 : i32, replica.scalar = "x"}) {
  replica.return
}

// -----

// A default value that is no number has the scalar's shape.
// expected-error@+1 {{expected 'replica.default' to be of type 'tensor<2xi64>' or 'i64', found dense<[1, 2, 3]> : tensor<3xi64>}}
replica.step @s(%x: tensor<2xi64> {replica.default = dense<[1, 2, 3]> : tensor<3xi64>, replica.scalar = "x"}) {
  replica.return
}

// -----

// An argument has at most one binding.
// expected-error@+1 {{expected one of 'replica.batch', 'replica.scalar' and 'replica.variable' for argument 0, found 2}}
replica.step @s(%x: tensor<f32> {replica.batch = "x", replica.scalar = "x"}) {
  replica.return
}

// -----

// A step returns values of its result types.
replica.step @s(%x: tensor<4xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{expected operands of types ('tensor<2xf32>'), found ('tensor<4xf32>')}}
  replica.return %x : tensor<4xf32>
}

// -----

// A step is at the top level of a module.
replica.step @outer() {
  // expected-error@+1 {{expects parent op 'builtin.module'}}
  replica.step @inner() {
    replica.return
  }
  replica.return
}

// -----

// A replica.return terminates a step or a program only.
func.func @f() {
  // expected-error@+1 {{expects parent op to be one of 'replica.step, replica.program'}}
  replica.return
}

// -----

// read: the variable is declared.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{unknown variable @v}}
  %v = replica.read @v : tensor<4xf32>
  replica.return
}

// -----

// read: the value has the variable's type.
// expected-note@+1 {{the variable is declared here}}
replica.variable @v : tensor<2xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a value of type 'tensor<2xf32>', found 'tensor<4xf32>'}}
  %v = replica.read @v : tensor<4xf32>
  replica.return
}

// -----

// assign: the variable is declared.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{unknown variable @v}}
  replica.assign @v, %x : tensor<4xf32>
  replica.return
}

// -----

// assign: the value has the variable's type. [5.2-types]
// expected-note@+1 {{the variable is declared here}}
replica.variable @v : tensor<2xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a value of type 'tensor<2xf32>', found 'tensor<4xf32>'}}
  replica.assign @v, %x : tensor<4xf32>
  replica.return
}

// -----

// assign_add: the variable is declared.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{unknown variable @v}}
  replica.assign_add @v, %x : tensor<4xf32>
  replica.return
}

// -----

// assign_add: the value has the variable's type.
// expected-note@+1 {{the variable is declared here}}
replica.variable @v : tensor<2xf32>
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a value of type 'tensor<2xf32>', found 'tensor<4xf32>'}}
  replica.assign_add @v, %x : tensor<4xf32>
  replica.return
}

// -----

// assign_sub: the variable is declared.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{unknown variable @v}}
  replica.assign_sub @v, %x : tensor<4xf32>
  replica.return
}

// -----

// assign_sub: the value has the variable's type.
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

// gather belongs to cross-replica context, and is in no context here [E_CONTEXT].
func.func @f(%p: !replica.per_replica<tensor<4xf32>>) {
  // expected-error@+1 {{must be in cross-replica context, but is in none [E_CONTEXT]}}
  %0 = "replica.gather"(%p) {axis = 0 : i64} : (!replica.per_replica<tensor<4xf32>>) -> tensor<?xf32>
  return
}

// -----

// local_results belongs to cross-replica context, and is in no context here [E_CONTEXT].
func.func @f(%p: !replica.per_replica<tensor<4xf32>>) {
  // expected-error@+1 {{must be in cross-replica context, but is in none [E_CONTEXT]}}
  %0 = "replica.local_results"(%p) : (!replica.per_replica<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----

// Reads and writes of variables belong to either context, and are errors in none [E_CONTEXT]. [1.1-wrong-context]
replica.variable @w : tensor<4xf32>
func.func @f() {
  // expected-error@+1 {{must be in replica or cross-replica context, but is in none [E_CONTEXT]}}
  %0 = replica.read @w : tensor<4xf32>
  return
}

// -----

// num_in_sync belongs to either context, and is an error in none [E_CONTEXT].
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

// In cross-replica context, the only reductions are sum and mean [E_REDUCE_OP].
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a reduction 'sum' or 'mean', found 'max' [E_REDUCE_OP]}}
  %0 = replica.reduce_to max %x : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
  replica.return
}

// -----

// Only the mean of integers may have another element type than its operand.
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

// The result of an all_gather has the rank of its operand.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a result of rank 1 and element type 'f32', found 'tensor<?x4xf32>'}}
  %0 = replica.all_gather %x axis 0 : tensor<4xf32> -> tensor<?x4xf32>
  replica.return
}

// -----

// An all_gather changes the size of its axis only [E_SHAPE_MISMATCH]. [2.2-other-dims]
replica.step @s(%x: tensor<2x3xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected dimension 1 of the result to be as in the operand 'tensor<2x3xf32>', found 'tensor<?x4xf32>' [E_SHAPE_MISMATCH]}}
  %0 = replica.all_gather %x axis 0 : tensor<2x3xf32> -> tensor<?x4xf32>
  replica.return
}

// -----

// An all_gather has a result for each operand.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected one result for each of 2 operands, found 1}}
  %0 = replica.all_gather %x, %x axis 0 : tensor<4xf32>, tensor<4xf32> -> tensor<?xf32>
  replica.return
}

// -----

// The region of a merge_call has an argument for each operand.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected 1 arguments of the region, found 0}}
  replica.merge_call (%x : tensor<4xf32>) {
  }
  replica.return
}

// -----

// A region argument for an operand of type T is a T or a per-replica T.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a region argument of type 'tensor<4xf32>' or '!replica.per_replica<tensor<4xf32>>', found '!replica.mirrored<tensor<4xf32>>'}}
  replica.merge_call (%x : tensor<4xf32>) {
  ^bb0(%v: !replica.mirrored<tensor<4xf32>>):
    replica.yield
  }
  replica.return
}

// -----

// The region of a merge_call yields a value for each result.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected the region to yield 1 values, found 0}}
  %r = replica.merge_call -> tensor<4xf32> {
  }
  replica.return
}

// -----

// A result of a merge_call has the type of the components that the region yields.
replica.step @s(%x: tensor<4xf32> {replica.batch = "x"}) {
  // expected-error@+1 {{expected the region to yield a component of type 'tensor<2xf32>', found '!replica.per_replica<tensor<4xf32>>'}}
  %r = replica.merge_call (%x : tensor<4xf32>) -> tensor<2xf32> {
  ^bb0(%v: !replica.per_replica<tensor<4xf32>>):
    replica.yield %v : !replica.per_replica<tensor<4xf32>>
  }
  replica.return
}

// -----

// The region of a merge_call captures no value of the step.
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

// The result of reduce_to has components of the operand's type.
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

// The operand of reduce_to is a tensor, a per-replica or a mirrored value [E_ARG_TYPE].
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

// The destination of reduce_to is a variable [E_ARG_TYPE]. [4-destinations]
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

// The destination of broadcast_to is a variable [E_ARG_TYPE].
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

// The result of broadcast_to has components of the operand's type.
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

// The result of gather has the rank and the element type of the operand's components.
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

// The results of local_results have the type of the operand's components.
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

// local_results has a result for each replica.
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

// An update names a variable that the module declares.
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

// The first argument of an update's region is the variable's current value.
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

// Further arguments of an update's region are the update's operands.
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

// An argument of an update's region has the component type of its operand.
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

// The region of an update yields the variable's new value first.
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

// After the new value, the region of an update yields a value for each result.
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

// A replica.yield terminates regions of replica operations only.
func.func @f() {
  // expected-error@+1 {{expects parent op to be one of 'replica.merge_call, replica.run, replica.update, replica.update_non_slot, replica.values_from_function'}}
  replica.yield
}

// -----

// A run has a step or a region.
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a step to call or a region, found neither}}
  %y = replica.run (%x : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<4xf32>>
  replica.return
}

// -----

// A run does not have both a step and a region.
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

// A run names a step that the module has.
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{unknown step @absent}}
  replica.run @absent(%x : !replica.per_replica<tensor<4xf32>>)
  replica.return
}

// -----

// The arguments of the step have the component types of the run's operands.
replica.step @s(%x: tensor<2xf32>) {
  replica.return
}
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected operands for ('tensor<2xf32>'), found ('!replica.per_replica<tensor<4xf32>>')}}
  replica.run @s(%x : !replica.per_replica<tensor<4xf32>>)
  replica.return
}

// -----

// The results of the step are the components of the run's results.
replica.step @s(%x: tensor<4xf32>) -> tensor<4xf32> {
  replica.return %x : tensor<4xf32>
}
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected results of ('tensor<4xf32>'), found ()}}
  replica.run @s(%x : !replica.per_replica<tensor<4xf32>>)
  replica.return
}

// -----

// An argument of a run's region has the component type of its operand.
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a region argument of type 'tensor<4xf32>', found '!replica.per_replica<tensor<4xf32>>'}}
  replica.run (%x : !replica.per_replica<tensor<4xf32>>) {
  ^bb0(%y: !replica.per_replica<tensor<4xf32>>):
    replica.yield
  }
  replica.return
}

// -----

// The region of a run has an argument for each operand.
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected 1 arguments of the region, found 0}}
  replica.run (%x : !replica.per_replica<tensor<4xf32>>) {
    replica.yield
  }
  replica.return
}

// -----

// The region of a run yields components of the run's results.
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected the region to yield a component of '!replica.per_replica<tensor<2xf32>>', found 'tensor<4xf32>'}}
  %0 = replica.run (%x : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<2xf32>> {
  ^bb0(%y: tensor<4xf32>):
    replica.yield %y : tensor<4xf32>
  }
  replica.return
}

// -----

// The region of a run is replica context, which must not contain another run [E_CONTEXT]. [2.3-wrong-nesting, 10-nesting]
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

// A batch of a program is a per-replica value.
// expected-error@+1 {{expected a per-replica type beside 'replica.batch' for argument 0, found 'tensor<4xf32>'}}
replica.program @p(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.return
}

// -----

// A scalar of a program is a plain tensor.
// expected-error@+1 {{expected a tensor beside 'replica.scalar' for argument 0, found '!replica.per_replica<tensor<4xf32>>'}}
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.scalar = "x"}) {
  replica.return
}

// -----

// Each argument of a program is a batch or a scalar.
// expected-error@+1 {{expected 'replica.batch' or 'replica.scalar' for argument 0}}
replica.program @p(%x: tensor<4xf32>) {
  replica.return
}

// -----

// The axes of a reduction are axes of its operand [E_AXIS_RANGE]. [3.1-axis-list]
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected an axis in [0, 1), found 1 [E_AXIS_RANGE]}}
  %0 = replica.reduce sum %x axes [1] : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  replica.return
}

// -----

// The axes of a reduction are different. [3.1-axis-list]
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected different axes, found 0 twice}}
  %0 = replica.reduce sum %x axes [0, 0] : !replica.per_replica<tensor<4xf32>> -> tensor<f32>
  replica.return
}

// -----

// The result of a reduction does not have the reduced axes; a mean of integers is f64.
replica.program @p(%x: !replica.per_replica<tensor<4x2xi32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected a result of type 'tensor<2xf64>', found 'tensor<2xi32>'}}
  %0 = replica.reduce mean %x axes [0] : !replica.per_replica<tensor<4x2xi32>> -> tensor<2xi32>
  replica.return
}

// -----

// batch_reduce_to has a result for each operand.
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected one result for each of 2 operands, found 1}}
  %0 = replica.batch_reduce_to sum %x, %x : !replica.per_replica<tensor<4xf32>>, !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  replica.return
}

// -----

// batch_reduce_to has a destination for each operand, or none at all.
replica.variable @v : tensor<4xf32>
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected one destination for each of 1 operands, found 2}}
  %0 = replica.batch_reduce_to sum %x to [@v, @v] : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  replica.return
}

// -----

// The destinations of batch_reduce_to are variables [E_ARG_TYPE].
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) {
  // expected-error@+1 {{expected the destination to be a variable, found @p [E_ARG_TYPE]}}
  %0 = replica.batch_reduce_to sum %x to [@p] : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  replica.return
}

// -----

// The values of slices are rows: their rank is at least 1.
replica.step @s(%v: tensor<f32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected values with rows, found 'tensor<f32>'}}
  %0, %1 = replica.all_reduce_slices sum %v at %i : tensor<f32>, tensor<2xi64> -> tensor<4xf32>, tensor<4xi64>
  replica.return
}

// -----

// The indices of slices are a vector of integers.
replica.step @s(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xf32> {replica.batch = "i"}) {
  // expected-error@+1 {{expected a vector of integer indices, found 'tensor<2xf32>'}}
  %0, %1 = replica.all_reduce_slices sum %v at %i : tensor<2xf32>, tensor<2xf32> -> tensor<4xf32>, tensor<4xf32>
  replica.return
}

// -----

// There are as many indices as values [E_SHAPE_MISMATCH].
replica.step @s(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<3xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected as many indices as values, 2, found 3 [E_SHAPE_MISMATCH]}}
  %0, %1 = replica.all_reduce_slices sum %v at %i : tensor<2xf32>, tensor<3xi64> -> tensor<4xf32>, tensor<6xi64>
  replica.return
}

// -----

// Scattered rows have the shape of the variable's rows [E_SHAPE_MISMATCH].
replica.variable @t : tensor<8x4xf32>
replica.step @s(%v: tensor<2x3xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected rows of 'tensor<8x4xf32>', found 'tensor<2x3xf32>' [E_SHAPE_MISMATCH]}}
  replica.scatter add @t, %i, %v : tensor<2xi64>, tensor<2x3xf32>
  replica.return
}

// -----

// Scattered rows have the variable's element type [E_DTYPE_MISMATCH].
replica.variable @t : tensor<8xf32>
replica.step @s(%v: tensor<2xf64> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected values of type 'f32', found 'tensor<2xf64>' [E_DTYPE_MISMATCH]}}
  replica.scatter add @t, %i, %v : tensor<2xi64>, tensor<2xf64>
  replica.return
}

// -----

// There are seven kinds of scatter.
replica.variable @t : tensor<8xf32>
replica.step @s(%v: tensor<2xf32> {replica.batch = "v"}, %i: tensor<2xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected 'add', 'sub', 'mul', 'div', 'min', 'max' or 'update', found 'power'}}
  replica.scatter power @t, %i, %v : tensor<2xi64>, tensor<2xf32>
  replica.return
}

// -----

// The argument of the region of values_from_function is the number of a replica.
replica.program @p() {
  // expected-error@+1 {{expected the region to have one argument of type 'tensor<i32>', the number of a replica}}
  %0 = replica.values_from_function -> !replica.per_replica<tensor<f32>> {
  ^bb0(%id: tensor<f32>):
    replica.yield %id : tensor<f32>
  }
  replica.return
}

// -----

// Whether a replica's region would see what another one assigns is not defined.
replica.variable @n : tensor<f32>
replica.program @p() {
  // expected-error@+1 {{expected a region without effects, since it is executed for each replica, found 'replica.assign_add'}}
  %0 = replica.values_from_function -> !replica.per_replica<tensor<f32>> {
  ^bb0(%id: tensor<i32>):
    %one = arith.constant dense<1.0> : tensor<f32>
    // expected-note@+1 {{an operation with an effect}}
    replica.assign_add @n, %one : tensor<f32>
    %n = replica.read @n : tensor<f32>
    replica.yield %n : tensor<f32>
  }
  replica.return
}

// -----

// The same for the copies of an on_read variable.
replica.variable @n : tensor<f32>
replica.variable @v : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
replica.program @p() {
  // expected-error@+1 {{expected a region without effects, since it is executed for each replica, found 'replica.assign'}}
  replica.update @v {
  ^bb0(%current: tensor<f32>):
    // expected-note@+1 {{an operation with an effect}}
    replica.assign @n, %current : tensor<f32>
    replica.yield %current : tensor<f32>
  }
  replica.return
}

// -----

// The results of update_non_slot are equal on all replicas, hence mirrored or plain.
replica.program @p(%k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{expected mirrored or plain results, found '!replica.per_replica<tensor<f32>>'}}
  %0 = replica.update_non_slot (%k : tensor<f32>) -> !replica.per_replica<tensor<f32>> {
  ^bb0(%a: tensor<f32>):
    replica.yield %a : tensor<f32>
  }
  replica.return
}

// -----

// Each tensor of an iterator has a name.
// expected-error@+1 {{expected 'replica.batches' to name the 2 tensors of argument 0}}
replica.program @p(%it: !replica.iterator<tensor<f32>, tensor<f32>> {replica.batches = ["x"]}) {
  replica.return
}

// -----

// The names of an iterator's tensors are strings.
// expected-error@+1 {{expected 'replica.batches' to be an array of names, found [1]}}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = [1]}) {
  replica.return
}

// -----

// An iterator has a bound for each dynamic dimension. [6.1-element-spec]
// expected-error@+1 {{expected 'replica.bounds' with a bound for each of 2 dynamic dimensions of argument 0}}
replica.program @p(%it: !replica.iterator<tensor<?xf32>, tensor<?xf32>> {replica.batches = ["x", "y"], replica.bounds = array<i64: 8>}) {
  replica.return
}

// -----

// A program has at most one iterator.
// expected-error@+1 {{expected at most one iterator, found argument 1 beside another one}}
replica.program @p(%a: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}, %b: !replica.iterator<tensor<f32>> {replica.batches = ["y"]}) {
  replica.return
}

// -----

// The tensors of an iterator are ranked.
// expected-error@+1 {{expected an iterator over ranked tensors, found 'tensor<*xf32>'}}
replica.program @p(%it: !replica.iterator<tensor<*xf32>> {replica.batches = ["x"]}) {
  replica.return
}

// -----

// run_steps names a step that the module has.
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{unknown step @absent}}
  replica.run_steps 3 @absent(%it : !replica.iterator<tensor<f32>>) {reductions = []}
  replica.return
}

// -----

// The arguments of the step are a batch and the parameters of run_steps.
replica.step @s(%x: tensor<f32>) {
  replica.return
}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}, %k: tensor<f32> {replica.scalar = "k"}) {
  // expected-error@+1 {{expected a batch and parameters for ('tensor<f32>'), found ('tensor<f32>', 'tensor<f32>')}}
  replica.run_steps 3 @s(%it, %k : !replica.iterator<tensor<f32>>, tensor<f32>) {reductions = []}
  replica.return
}

// -----

// run_steps has a reduction, which may be 'none', and a result for each result of the step.
replica.step @s(%x: tensor<f32>) -> tensor<f32> {
  replica.return %x : tensor<f32>
}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{expected a reduction and a result for each of 1 results of the step, found 0 and 0}}
  replica.run_steps 3 @s(%it : !replica.iterator<tensor<f32>>) {reductions = []}
  replica.return
}

// -----

// The reduction is 'sum', 'mean' or 'none'. [7-last-output]
replica.step @s(%x: tensor<f32>) -> tensor<f32> {
  replica.return %x : tensor<f32>
}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{expected a reduction 'sum', 'mean' or 'none', found 'max' [E_REDUCE_OP]}}
  %0 = replica.run_steps 3 @s(%it : !replica.iterator<tensor<f32>>) {reductions = ["max"]} -> tensor<f32>
  replica.return
}

// -----

// The result has the type that the reduction has for the step's result.
replica.step @s(%x: tensor<f32>) -> tensor<f32> {
  replica.return %x : tensor<f32>
}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{expected a result of type '!replica.per_replica<tensor<f32>>' for 'none' of 'tensor<f32>', found 'tensor<f32>'}}
  %0 = replica.run_steps 3 @s(%it : !replica.iterator<tensor<f32>>) {reductions = ["none"]} -> tensor<f32>
  replica.return
}

// -----

// An output that is not a tensor has a value that JSON can represent. [7-non-tensor]
replica.step @s(%x: tensor<f32>) {
  replica.return
}
replica.program @p(%it: !replica.iterator<tensor<f32>> {replica.batches = ["x"]}) {
  // expected-error@+1 {{expected output 'rate' to be made of strings, booleans, i64 and finite f64, found [1.000000e+00 : f32]}}
  replica.run_steps 3 @s(%it : !replica.iterator<tensor<f32>>) {reductions = [], non_tensor_outputs = {rate = [1.0 : f32]}}
  replica.return
}

// -----

// A lookup names a variable that the module declares.
replica.step @s(%ids: tensor<3xi64> {replica.batch = "ids"}) {
  // expected-error@+1 {{unknown variable @t}}
  %r = replica.lookup @t, %ids : tensor<3xi64> -> tensor<3x2xf32>
  replica.return
}

// -----

// The variable of a lookup has rows: its rank is at least 1.
replica.variable @t : tensor<f32>
replica.step @s(%ids: tensor<3xi64> {replica.batch = "ids"}) {
  // expected-error@+1 {{expected a variable with rows, found 'tensor<f32>' [E_RANK_MISMATCH]}}
  %r = replica.lookup @t, %ids : tensor<3xi64> -> tensor<3xf32>
  replica.return
}

// -----

// The ids of a lookup are a vector.
replica.variable @t : tensor<5x2xf32>
replica.step @s(%ids: tensor<3x1xi64> {replica.batch = "ids"}) {
  // expected-error@+1 {{expected a vector of ids of type i32 or i64, found 'tensor<3x1xi64>'}}
  %r = replica.lookup @t, %ids : tensor<3x1xi64> -> tensor<3x2xf32>
  replica.return
}

// -----

// The ids of a lookup are integers.
replica.variable @t : tensor<5x2xf32>
replica.step @s(%ids: tensor<3xf32> {replica.batch = "ids"}) {
  // expected-error@+1 {{expected a vector of ids of type i32 or i64, found 'tensor<3xf32>'}}
  %r = replica.lookup @t, %ids : tensor<3xf32> -> tensor<3x2xf32>
  replica.return
}

// -----

// The result of a lookup consists of rows of the variable.
replica.variable @t : tensor<5x2xf32>
replica.step @s(%ids: tensor<3xi64> {replica.batch = "ids"}) {
  // expected-error@+1 {{expected a result of type 'tensor<3x2xf32>', found 'tensor<3x4xf32>' [E_SHAPE_MISMATCH]}}
  %r = replica.lookup @t, %ids : tensor<3xi64> -> tensor<3x4xf32>
  replica.return
}

// -----

// lookup belongs to replica context.
replica.variable @t : tensor<5x2xf32>
// expected-note@+1 {{the context is opened by 'replica.program'}}
replica.program @p(%ids: tensor<3xi64> {replica.scalar = "ids"}) {
  // expected-error@+1 {{must be in replica context, but is in cross-replica context [E_CONTEXT]}}
  %r = replica.lookup @t, %ids : tensor<3xi64> -> tensor<3x2xf32>
  replica.return
}

// -----

// slices_to_dense has as many indices as rows.
replica.step @s(%v: tensor<3x2xf32> {replica.batch = "v"}, %i: tensor<4xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected as many indices as values, 3, found 4 [E_SHAPE_MISMATCH]}}
  %r = replica.slices_to_dense %v at %i : tensor<3x2xf32>, tensor<4xi64> -> tensor<5x2xf32>
  replica.return
}

// -----

// The rows of the result of slices_to_dense have the shape of the rows of the operand.
replica.step @s(%v: tensor<3x2xf32> {replica.batch = "v"}, %i: tensor<3xi64> {replica.batch = "i"}) {
  // expected-error@+1 {{expected a result with rows as in 'tensor<3x2xf32>', found 'tensor<5x4xf32>' [E_SHAPE_MISMATCH]}}
  %r = replica.slices_to_dense %v at %i : tensor<3x2xf32>, tensor<3xi64> -> tensor<5x4xf32>
  replica.return
}

// -----

// An argument or result with a binding is a ranked tensor.
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

// So are values that a program or another step passes, except for their rank.
// expected-error@+1 {{expected a tensor for argument 0, found 'f32'}}
replica.step @s(%x: f32) {
  replica.return
}

// -----

// expected-error@+1 {{expected a tensor for result 0, found 'index'}}
replica.step @s(%x: tensor<*xf32>) -> index {
  %c = arith.constant 0 : index
  replica.return %c : index
}

// -----

// The size of what a program takes is checked, too.
// expected-error@+1 {{expected at most 140737488355328 bytes, which can be addressed, for argument 0, found more in 'tensor<1099511627776x1024xf32>'}}
replica.program @p(%it: !replica.iterator<tensor<1099511627776x1024xf32>> {replica.batches = ["x"]}) {
  replica.return
}

// -----

// expected-error@+1 {{expected at most 140737488355328 bytes, which can be addressed, for argument 0, found more in 'tensor<1099511627776x1024xf32>'}}
replica.program @p(%x: !replica.per_replica<tensor<1099511627776x1024xf32>> {replica.batch = "x"}) {
  replica.return
}

// -----

// Sizes that are not known count as their bounds.
// expected-error@+1 {{expected at most 140737488355328 bytes, which can be addressed, for argument 0, found more in 'tensor<?x1024xf32>' with the bounds 4611686018427387904}}
replica.program @p(%it: !replica.iterator<tensor<?xf32>, tensor<?x1024xf32>> {replica.batches = ["x", "y"], replica.bounds = array<i64: 8, 4611686018427387904>}) {
  replica.return
}

// -----

// expected-error@+1 {{expected at most 140737488355328 bytes, which can be addressed, for argument 0, found more in 'tensor<?x1024xf32>' with the bounds 4611686018427387904}}
replica.step @s(%x: tensor<?x1024xf32> {replica.batch = "x", replica.bounds = array<i64: 4611686018427387904>}) {
  replica.return
}

// -----

// A batch comes with its sizes.
// expected-error@+1 {{expected different names in 'replica.batches', found "x.dim0" at 0 and 0}}
replica.program @p(%it: !replica.iterator<tensor<?x3xf32>, tensor<100xf32>> {replica.batches = ["x", "x.dim0"], replica.bounds = array<i64: 8>}) {
  replica.return
}

// -----

// Bindings of one kind have different names.
// expected-error@+1 {{expected different names in 'replica.batches', found "x" at 0 and 1}}
replica.program @p(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}, %it: !replica.iterator<tensor<4xf32>> {replica.batches = ["x"]}) {
  replica.return
}

// -----

// expected-error@+1 {{expected different names in 'replica.result', found "r" at 0 and 1}}
replica.program @p(%x: tensor<4xf32> {replica.scalar = "x"}) -> (tensor<4xf32> {replica.result = "r"}, tensor<4xf32> {replica.result = "r"}) {
  replica.return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

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

// The size of a variable or argument in bytes is checked without overflow.
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

// -----

// expected-error@+1 {{expected a part of the elements of a variable of shape [4, 2], with one dimension and synchronization on_write, found 'tensor<9xf32>'}}
replica.variable @w : tensor<9xf32> {whole_shape = array<i64: 4, 2>}

// -----

// expected-error@+1 {{expected a part of the elements of a variable of shape [4, -2], with one dimension and synchronization on_write, found 'tensor<4xf32>'}}
replica.variable @w : tensor<4xf32> {whole_shape = array<i64: 4, -2>}

// -----

// expected-error@+1 {{expected a part of the elements of a variable of shape [4, 2], with one dimension and synchronization on_write, found 'tensor<4xf32>'}}
replica.variable @w : tensor<4xf32> {whole_shape = array<i64: 4, 2>, synchronization = #replica.synchronization<on_read>}
