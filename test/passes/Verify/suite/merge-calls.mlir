// RUN: lockstep-opt %s --set-replicas=replicas=3 --apply-strategy --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Calls at which all replicas rendezvous, and work that is done once for all of them. The format of these files is in ../programs/SuiteTest.cpp.

// wrong, blocks: work that is to be done once for all replicas, under a condition of each replica
// Represents a section that one rank executes for all, and that not all ranks reach.
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}) {
  %limit = arith.constant 1.0 : f32
  %l = tensor.extract %loss[] : tensor<f32>
  %bad = arith.cmpf ogt, %l, %limit : f32
  %factor = arith.constant dense<0.5> : tensor<f32>
  scf.if %bad {
    // expected-error@+1 {{'replica.merge_call' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    replica.merge_call (%factor : tensor<f32>) {
    ^bb0(%f: tensor<f32>):
      %rate = replica.read @rate : tensor<f32>
      %r = replica.update_non_slot (%rate, %f : tensor<f32>, tensor<f32>) -> !replica.mirrored<tensor<f32>> {
      ^bb0(%old: tensor<f32>, %by: tensor<f32>):
        %new = arith.mulf %old, %by : tensor<f32>
        replica.yield %new : tensor<f32>
      }
      replica.assign @rate, %r : !replica.mirrored<tensor<f32>>
    }
  }
  replica.return
}
replica.variable @rate : tensor<f32>

// -----

// correct: the condition is equal on all replicas
replica.step @step(%loss: tensor<f32> {replica.batch = "loss"}) {
  %limit = arith.constant 1.0 : f32
  %mean = replica.all_reduce mean %loss : tensor<f32>
  %l = tensor.extract %mean[] : tensor<f32>
  %bad = arith.cmpf ogt, %l, %limit : f32
  %factor = arith.constant dense<0.5> : tensor<f32>
  scf.if %bad {
    replica.merge_call (%factor : tensor<f32>) {
    ^bb0(%f: tensor<f32>):
      %rate = replica.read @rate : tensor<f32>
      %r = replica.update_non_slot (%rate, %f : tensor<f32>, tensor<f32>) -> !replica.mirrored<tensor<f32>> {
      ^bb0(%old: tensor<f32>, %by: tensor<f32>):
        %new = arith.mulf %old, %by : tensor<f32>
        replica.yield %new : tensor<f32>
      }
      replica.assign @rate, %r : !replica.mirrored<tensor<f32>>
    }
  }
  replica.return
}
replica.variable @rate : tensor<f32>

// -----

// wrong, copies differ: a per-replica value is the argument for a plain value
// Represents cross-replica code that is called with a local number, of which one replica's happens to be taken.
// expected-note@+1 {{batch argument 'g' is different on each replica}}
replica.step @step(%g: tensor<2xf32> {replica.batch = "g"}) {
  // expected-error@+1 {{argument 0 of 'replica.merge_call' may differ between replicas, but its region takes one value of type 'tensor<2xf32>'}}
  replica.merge_call (%g : tensor<2xf32>) {
  ^bb0(%one: tensor<2xf32>):
    replica.assign_sub @w, %one : tensor<2xf32>
  }
  replica.return
}
replica.variable @w : tensor<2xf32>

// -----

// correct: the argument is per replica, and reduced in the region
replica.step @step(%g: tensor<2xf32> {replica.batch = "g"}) {
  replica.merge_call (%g : tensor<2xf32>) {
  ^bb0(%each: !replica.per_replica<tensor<2xf32>>):
    %one = replica.reduce_to mean %each, @w : !replica.per_replica<tensor<2xf32>> -> !replica.mirrored<tensor<2xf32>>
    replica.assign_sub @w, %one : !replica.mirrored<tensor<2xf32>>
  }
  replica.return
}
replica.variable @w : tensor<2xf32>

// -----

// wrong, copies differ: the copies of a variable are updated with per-replica values
// Represents optimizers that apply gradients before they are reduced, in the update of each device.
replica.step @step(%g: tensor<2xf32> {replica.batch = "g"}) {
  replica.merge_call (%g : tensor<2xf32>) {
  ^bb0(%each: !replica.per_replica<tensor<2xf32>>):
    // expected-error@+1 {{operand 0 of 'replica.update' may differ between replicas, with which the copies of variable 'w' would diverge; reduce it first [E_PER_REPLICA_IN_UPDATE]}}
    replica.update @w (%each : !replica.per_replica<tensor<2xf32>>) {
    ^bb0(%old: tensor<2xf32>, %d: tensor<2xf32>):
      %new = arith.subf %old, %d : tensor<2xf32>
      replica.yield %new : tensor<2xf32>
    }
  }
  replica.return
}
replica.variable @w : tensor<2xf32>

// -----

// correct: the values are reduced first
replica.step @step(%g: tensor<2xf32> {replica.batch = "g"}) {
  replica.merge_call (%g : tensor<2xf32>) {
  ^bb0(%each: !replica.per_replica<tensor<2xf32>>):
    %sum = replica.reduce_to sum %each, @w : !replica.per_replica<tensor<2xf32>> -> !replica.mirrored<tensor<2xf32>>
    replica.update @w (%sum : !replica.mirrored<tensor<2xf32>>) {
    ^bb0(%old: tensor<2xf32>, %d: tensor<2xf32>):
      %new = arith.subf %old, %d : tensor<2xf32>
      replica.yield %new : tensor<2xf32>
    }
  }
  replica.return
}
replica.variable @w : tensor<2xf32>

// -----

// wrong, blocks: the sides of a branch have merge_calls that do different things
// Represents replicas that rendezvous with different functions, of which one would have to be executed for all.
replica.step @step(%g: tensor<f32> {replica.batch = "g"}, %mean: tensor<i1> {replica.batch = "mean"}) {
  %c = tensor.extract %mean[] : tensor<i1>
  scf.if %c {
    // expected-error@+1 {{while others issue a different 'replica.merge_call' in its place [E_COLLECTIVE_DIVERGENCE]}}
    %0 = replica.merge_call (%g : tensor<f32>) -> tensor<f32> {
    ^bb0(%each: !replica.per_replica<tensor<f32>>):
      %r = replica.reduce mean %each : !replica.per_replica<tensor<f32>> -> tensor<f32>
      replica.yield %r : tensor<f32>
    }
  } else {
    %0 = replica.merge_call (%g : tensor<f32>) -> tensor<f32> {
    ^bb0(%each: !replica.per_replica<tensor<f32>>):
      %r = replica.reduce sum %each : !replica.per_replica<tensor<f32>> -> tensor<f32>
      replica.yield %r : tensor<f32>
    }
  }
  replica.return
}

// -----

// correct: the same merge_call on both sides, with different values
replica.step @step(%g: tensor<f32> {replica.batch = "g"}, %mean: tensor<i1> {replica.batch = "mean"}) {
  %c = tensor.extract %mean[] : tensor<i1>
  %zero = arith.constant dense<0.0> : tensor<f32>
  scf.if %c {
    %0 = replica.merge_call (%g : tensor<f32>) -> tensor<f32> {
    ^bb0(%each: !replica.per_replica<tensor<f32>>):
      %r = replica.reduce sum %each : !replica.per_replica<tensor<f32>> -> tensor<f32>
      replica.yield %r : tensor<f32>
    }
  } else {
    %0 = replica.merge_call (%zero : tensor<f32>) -> tensor<f32> {
    ^bb0(%each: !replica.per_replica<tensor<f32>>):
      %r = replica.reduce sum %each : !replica.per_replica<tensor<f32>> -> tensor<f32>
      replica.yield %r : tensor<f32>
    }
  }
  replica.return
}

// -----

// wrong, blocks: the front end has traced a merge_call for replica 0 only
// Represents a merge_call that is traced for some replicas: their programs are different ones.
replica.step @step(%g: tensor<f32> {replica.batch = "g"}) {
  %c0 = arith.constant 0 : i32
  %id = replica.id : tensor<i32>
  %rank = tensor.extract %id[] : tensor<i32>
  %first = arith.cmpi eq, %rank, %c0 : i32
  scf.if %first {
    // expected-error@+1 {{'replica.merge_call' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_DIVERGENCE]}}
    replica.merge_call (%g : tensor<f32>) {
    ^bb0(%each: !replica.per_replica<tensor<f32>>):
      %r = replica.reduce sum %each : !replica.per_replica<tensor<f32>> -> tensor<f32>
    }
  } {replica.static}
  replica.return
}

// -----

// correct: the programs of the replicas differ, but have the same merge_call
replica.step @step(%g: tensor<f32> {replica.batch = "g"}) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<f32>
  %id = replica.id : tensor<i32>
  %rank = tensor.extract %id[] : tensor<i32>
  %first = arith.cmpi eq, %rank, %c0 : i32
  %mine = scf.if %first -> tensor<f32> {
    scf.yield %g : tensor<f32>
  } else {
    scf.yield %zero : tensor<f32>
  } {replica.static}
  replica.merge_call (%mine : tensor<f32>) {
  ^bb0(%each: !replica.per_replica<tensor<f32>>):
    %r = replica.reduce sum %each : !replica.per_replica<tensor<f32>> -> tensor<f32>
  }
  replica.return
}
