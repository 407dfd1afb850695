// RUN: lockstep-opt %s --set-replicas=replicas=3 --verify-uniformity --split-input-file --verify-diagnostics=only-expected -o /dev/null

// Steps in collective form: groups of ranks, channels, and operations between a start and its wait. The format of these files is in
// ../programs/SuiteTest.cpp.

// wrong, blocks: two groups in opposite order
// Represents ranks that are in two communicators and use them in different orders (NCCL asks its users to keep one order, even across
// communicators): each waits in one of them for ranks that wait in the other.
collective.group @data
collective.group @model
func.func @step(%c: tensor<i1> {device.binding = #device.binding<batch "c">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) {
  %i = tensor.extract %c[] : tensor<i1>
  scf.if %i {
    // expected-error@+2 {{'collective.start' is issued by some replicas, while others issue a different 'collective.start' in its place [E_COLLECTIVE_DIVERGENCE]}}
    // expected-note@+1 {{some replicas issue 'collective.start' all_reduce sum in group @data}}
    %h = collective.start all_reduce sum @data (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %k = collective.start all_reduce sum @model (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %l = collective.wait %k (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  } else {
    // expected-note@+1 {{other replicas issue 'collective.start' all_reduce sum in group @model}}
    %h = collective.start all_reduce sum @model (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %k = collective.start all_reduce sum @data (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %l = collective.wait %k (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  }
  return
}

// -----

// correct, lowered: two groups in one order
collective.group @data
collective.group @model
func.func @step(%c: tensor<i1> {device.binding = #device.binding<batch "c">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) {
  %i = tensor.extract %c[] : tensor<i1>
  %twice = arith.addf %x, %x : tensor<4xf32>
  scf.if %i {
    %h = collective.start all_reduce sum @data (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %k = collective.start all_reduce sum @model (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %l = collective.wait %k (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  } else {
    %h = collective.start all_reduce sum @data (%twice : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = collective.wait %h (%twice : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %k = collective.start all_reduce sum @model (%g : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %l = collective.wait %k (%g : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  }
  return
}

// -----

// wrong, blocks: some ranks issue a broadcast before a barrier, the others after it
// Represents a wait that a scheduler hoists over a barrier: the rank waits for a message that is sent after the barrier.
collective.group @all
func.func @step(%c: tensor<i1> {device.binding = #device.binding<batch "c">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) {
  %i = tensor.extract %c[] : tensor<i1>
  scf.if %i {
    // expected-error@+1 {{'collective.start' is issued by some replicas, while others issue 'collective.barrier' in its place [E_COLLECTIVE_DIVERGENCE]}}
    %h = collective.start broadcast none @all root 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    collective.barrier @all
  } else {
    collective.barrier @all
    %h = collective.start broadcast none @all root 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  }
  return
}

// -----

// correct, lowered: all ranks start before the barrier, and wait before or after it
collective.group @all
func.func @step(%c: tensor<i1> {device.binding = #device.binding<batch "c">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) {
  %i = tensor.extract %c[] : tensor<i1>
  scf.if %i {
    %h = collective.start broadcast none @all root 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    collective.barrier @all
  } else {
    %h = collective.start broadcast none @all root 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    collective.barrier @all
    %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  }
  return
}

// -----

// wrong, blocks: channels in opposite order
// Represents tags that sender and receiver number differently.
collective.group @all
func.func @step(%c: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  %i = tensor.extract %c[] : tensor<i1>
  scf.if %i {
    // expected-error@+2 {{while others issue a different 'collective.barrier' in its place [E_COLLECTIVE_DIVERGENCE]}}
    // expected-note@+1 {{some replicas issue 'collective.barrier' barrier in group @all on channel 0}}
    collective.barrier @all channel 0
    collective.barrier @all channel 1
  } else {
    // expected-note@+1 {{other replicas issue 'collective.barrier' barrier in group @all on channel 1}}
    collective.barrier @all channel 1
    collective.barrier @all channel 0
  }
  return
}

// -----

// correct, lowered: channels in one order
collective.group @all
func.func @step(%c: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  %i = tensor.extract %c[] : tensor<i1>
  scf.if %i {
    collective.barrier @all channel 0
    collective.barrier @all channel 1
  } else {
    collective.barrier @all channel 0
    collective.barrier @all channel 1
  }
  return
}

// -----

// wrong, blocks: each rank decides by its own part of an exchange whether to continue
// Represents experts without tokens that skip the exchange that returns the tokens.
collective.group @all
func.func @step(%tokens: tensor<12xi32> {device.binding = #device.binding<batch "tokens">}) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %h = collective.start all_to_all none @all axis 0 (%tokens : tensor<12xi32>) -> !collective.pending<tensor<12xi32>>
  // expected-note@+1 {{'collective.wait' is different on each replica}}
  %mine = collective.wait %h (%tokens : tensor<12xi32>) : !collective.pending<tensor<12xi32>> -> tensor<12xi32>
  %first = tensor.extract %mine[%c0] : tensor<12xi32>
  %any = arith.cmpi sgt, %first, %one : i32
  scf.if %any {
    // expected-error@+1 {{'collective.start' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %b = collective.start all_to_all none @all axis 0 (%mine : tensor<12xi32>) -> !collective.pending<tensor<12xi32>>
    %back = collective.wait %b (%mine : tensor<12xi32>) : !collective.pending<tensor<12xi32>> -> tensor<12xi32>
  }
  return
}

// -----

// correct, lowered: a sum over all ranks decides
collective.group @all
func.func @step(%tokens: tensor<12xi32> {device.binding = #device.binding<batch "tokens">}) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %h = collective.start all_to_all none @all axis 0 (%tokens : tensor<12xi32>) -> !collective.pending<tensor<12xi32>>
  %mine = collective.wait %h (%tokens : tensor<12xi32>) : !collective.pending<tensor<12xi32>> -> tensor<12xi32>
  %s = collective.start all_reduce sum @all (%mine : tensor<12xi32>) -> !collective.pending<tensor<12xi32>>
  %all = collective.wait %s (%mine : tensor<12xi32>) : !collective.pending<tensor<12xi32>> -> tensor<12xi32>
  %first = tensor.extract %all[%c0] : tensor<12xi32>
  %any = arith.cmpi sgt, %first, %one : i32
  scf.if %any {
    %b = collective.start all_to_all none @all axis 0 (%mine : tensor<12xi32>) -> !collective.pending<tensor<12xi32>>
    %back = collective.wait %b (%mine : tensor<12xi32>) : !collective.pending<tensor<12xi32>> -> tensor<12xi32>
  }
  return
}

// -----

// wrong, blocks: only the root issues its broadcast
// Represents "if rank == 0: broadcast(x)", where the other ranks have to receive.
collective.group @all
func.func @step(%rank: tensor<i32> {device.binding = #device.binding<rank "">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) {
  %zero = arith.constant 0 : i32
  %r = tensor.extract %rank[] : tensor<i32>
  %first = arith.cmpi eq, %r, %zero : i32
  scf.if %first {
    // expected-error@+1 {{'collective.start' is under a condition that may differ between replicas: some would wait in it for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW]}}
    %h = collective.start broadcast none @all root 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  }
  return
}

// -----

// correct, lowered: the root chooses the value, and all ranks issue the broadcast
collective.group @all
func.func @step(%rank: tensor<i32> {device.binding = #device.binding<rank "">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<metric "x">}) {
  %zero = arith.constant 0 : i32
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %r = tensor.extract %rank[] : tensor<i32>
  %first = arith.cmpi eq, %r, %zero : i32
  %mine = arith.select %first, %x, %zeros : tensor<4xf32>
  %h = collective.start broadcast none @all root 0 (%mine : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %g = collective.wait %h (%mine : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// wrong, blocks: a sum that only one rank has decides for all
// Represents "loss = reduce(loss, dst=0); if loss > limit: barrier()": the other ranks still have their own loss.
collective.group @all
func.func @step(%x: tensor<f32> {device.binding = #device.binding<batch "x">}) {
  %limit = arith.constant 0.0 : f32
  %h = collective.start reduce sum @all root 0 (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  %sum = tensor.extract %g[] : tensor<f32>
  %skip = arith.cmpf ogt, %sum, %limit : f32
  scf.if %skip {
    // expected-error@+1 {{'collective.barrier' is under a condition that may differ between replicas}}
    collective.barrier @all
  }
  return
}

// -----

// correct, lowered: a sum that the root has broadcast decides for all
collective.group @all
func.func @step(%x: tensor<f32> {device.binding = #device.binding<batch "x">}) {
  %limit = arith.constant 0.0 : f32
  %h = collective.start reduce sum @all root 0 (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
  %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  %b = collective.start broadcast none @all root 0 (%g : tensor<f32>) -> !collective.pending<tensor<f32>>
  %all = collective.wait %b (%g : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  %sum = tensor.extract %all[] : tensor<f32>
  %skip = arith.cmpf ogt, %sum, %limit : f32
  scf.if %skip {
    collective.barrier @all
  }
  return
}

// -----

// wrong, copies differ: only the root has the gathered rows
collective.group @all
replica.variable @w : tensor<1xf32>
func.func @step(%w: tensor<1xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<1xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<1xf32> {device.binding = #device.binding<variable "w">}) {
  %one = arith.constant dense<1> : tensor<i64>
  %n = collective.start all_reduce sum @all (%one : tensor<i64>) -> !collective.pending<tensor<i64>>
  %count = collective.wait %n (%one : tensor<i64>) : !collective.pending<tensor<i64>> -> tensor<i64>
  %ranks = tensor.extract %count[] : tensor<i64>
  %rows = arith.index_cast %ranks : i64 to index
  %h = collective.start gather none @all root 0 axis 0 (%x : tensor<1xf32>) sizes(%rows) -> !collective.pending<tensor<?xf32>>
  %g = collective.wait %h (%x : tensor<1xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
  // expected-error@+1 {{the new value of variable 'w' may differ between replicas}}
  %first = tensor.extract_slice %g[0] [1] [1] : tensor<?xf32> to tensor<1xf32>
  return %first : tensor<1xf32>
}

// -----

// correct, lowered: all ranks have the gathered rows
collective.group @all
replica.variable @w : tensor<1xf32>
func.func @step(%w: tensor<1xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<1xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<1xf32> {device.binding = #device.binding<variable "w">}) {
  %one = arith.constant dense<1> : tensor<i64>
  %n = collective.start all_reduce sum @all (%one : tensor<i64>) -> !collective.pending<tensor<i64>>
  %count = collective.wait %n (%one : tensor<i64>) : !collective.pending<tensor<i64>> -> tensor<i64>
  %ranks = tensor.extract %count[] : tensor<i64>
  %rows = arith.index_cast %ranks : i64 to index
  %h = collective.start all_gather none @all axis 0 (%x : tensor<1xf32>) sizes(%rows) -> !collective.pending<tensor<?xf32>>
  %g = collective.wait %h (%x : tensor<1xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
  %first = tensor.extract_slice %g[0] [1] [1] : tensor<?xf32> to tensor<1xf32>
  return %first : tensor<1xf32>
}

// -----

// wrong, copies differ: the new value of a variable is computed before the wait for its gradient
// Represents an optimizer that reads a gradient before its reduction has ended.
collective.group @all
replica.variable @w : tensor<4xf32>
func.func @step(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  // expected-error@+1 {{the new value of variable 'w' may differ between replicas}}
  %new = arith.subf %w, %x : tensor<4xf32>
  %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// correct, lowered: the new value is computed after the wait
collective.group @all
replica.variable @w : tensor<4xf32>
func.func @step(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %new = arith.subf %w, %g : tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// wrong, cannot be executed: a call of a function without a body
// Represents libraries that communicate by themselves: no order can be proven.
func.func private @helper(tensor<4xf32>)
func.func @step(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) {
  // expected-error@+1 {{'func.call' is not inlined, so the order of collectives cannot be proven}}
  func.call @helper(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

// correct, lowered: the collective is inlined where it was called
collective.group @all
func.func @step(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) {
  collective.barrier @all
  return
}

// -----

// wrong, blocks: two groups that share ranks, in opposite order
// Represents a model-parallel pair that is also part of the data-parallel group.
collective.group @pair {ranks = array<i64: 0, 1>}
collective.group @all
func.func @step(%c: tensor<i1> {device.binding = #device.binding<batch "c">}) {
  %b = tensor.extract %c[] : tensor<i1>
  scf.if %b {
    // expected-error@+2 {{'collective.barrier' is issued by some replicas, while others issue a different 'collective.barrier' in its place [E_COLLECTIVE_DIVERGENCE]}}
    // expected-note@+1 {{some replicas issue 'collective.barrier' barrier in group @pair}}
    collective.barrier @pair
    collective.barrier @all
  } else {
    // expected-note@+1 {{other replicas issue 'collective.barrier' barrier in group @all}}
    collective.barrier @all
    collective.barrier @pair
  }
  return
}

// -----

// correct, lowered: collectives of a pair before and after the one that all ranks issue
collective.group @pair {ranks = array<i64: 0, 1>}
collective.group @all
func.func @step(%rank: tensor<i32> {device.binding = #device.binding<rank "">}) {
  %two = arith.constant 2 : i32
  %i = tensor.extract %rank[] : tensor<i32>
  %member = arith.cmpi slt, %i, %two : i32
  scf.if %member {
    collective.barrier @pair
    collective.barrier @all
    collective.barrier @pair
  } else {
    collective.barrier @all
  }
  return
}

// -----

// wrong, blocks: each member of a pair decides by itself about the pair's barrier
// Represents ranks of a subgroup that skip what is not finite.
collective.group @pair {ranks = array<i64: 0, 1>}
func.func @step(%x: tensor<f32> {device.binding = #device.binding<batch "x">}, %rank: tensor<i32> {device.binding = #device.binding<rank "">}) {
  %limit = arith.constant 0.0 : f32
  %two = arith.constant 2 : i32
  %i = tensor.extract %rank[] : tensor<i32>
  %member = arith.cmpi slt, %i, %two : i32
  scf.if %member {
    %own = tensor.extract %x[] : tensor<f32>
    %skip = arith.cmpf olt, %own, %limit : f32
    scf.if %skip {
      // expected-error@+1 {{'collective.barrier' is under a condition that may differ between replicas}}
      collective.barrier @pair
    }
  }
  return
}

// -----

// correct, lowered: the sum of a pair decides about the pair's barrier
collective.group @pair {ranks = array<i64: 0, 1>}
func.func @step(%x: tensor<f32> {device.binding = #device.binding<batch "x">}, %rank: tensor<i32> {device.binding = #device.binding<rank "">}) {
  %limit = arith.constant 0.0 : f32
  %two = arith.constant 2 : i32
  %i = tensor.extract %rank[] : tensor<i32>
  %member = arith.cmpi slt, %i, %two : i32
  scf.if %member {
    %h = collective.start all_reduce sum @pair (%x : tensor<f32>) -> !collective.pending<tensor<f32>>
    %g = collective.wait %h (%x : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
    %sum = tensor.extract %g[] : tensor<f32>
    %skip = arith.cmpf olt, %sum, %limit : f32
    scf.if %skip {
      collective.barrier @pair
    }
  }
  return
}
