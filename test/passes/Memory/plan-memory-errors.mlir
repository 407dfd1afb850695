// RUN: lockstep-opt %s --plan-memory --split-input-file -verify-diagnostics

// expected-error@+1 {{expected a 'replica.strategy' with a replica count}}
module {
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
// expected-error@+1 {{argument 1 has no 'device.binding'}}
func.func @unbound(%x: tensor<f32> {device.binding = #device.binding<batch "x">}, %y: tensor<f32>) {
  return
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
// expected-error@+1 {{result 0 has no 'device.binding'}}
func.func @unbound(%x: tensor<f32> {device.binding = #device.binding<batch "x">}) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
// expected-error@+1 {{unknown variable 'w' of argument 0}}
func.func @unknown(%w: tensor<f32> {device.binding = #device.binding<variable "w">}) {
  return
}

// -----

replica.strategy @two {kind = #replica.kind<mirrored>, replicas = 2}
collective.group @all
func.func @unnumbered() {
  // expected-error@+1 {{'collective.barrier' op expected a channel; run 'assign-channels' first}}
  collective.barrier @all
  return
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
// expected-error@+1 {{'func.func' op expected a body of one block; run 'structure-control-flow' first}}
func.func @blocks() {
  cf.br ^end
^end:
  return
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
func.func @first(%s: tensor<f32> {device.binding = #device.binding<scalar "s">}) {
  return
}
// expected-error@+1 {{scalar 's' has type 'tensor<i32>', but 'tensor<f32>' in another step}}
func.func @second(%s: tensor<i32> {device.binding = #device.binding<scalar "s">}) {
  return
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
// expected-error@+1 {{expected scalar 's' to have a static shape, found 'tensor<?xf32>'}}
func.func @rank(%s: tensor<?xf32> {device.binding = #device.binding<scalar "s">}) {
  return
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
func.func @dynamic(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) {
  // expected-error@+1 {{expected a tensor of static shape from 'tensor.cast', found 'tensor<?xf32>'}}
  %d = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  return
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
func.func @assert(%s: tensor<i32> {device.binding = #device.binding<scalar "s">}) {
  %i = tensor.extract %s[] : tensor<i32>
  %one = arith.constant 1 : i32
  %next = arith.addi %i, %one : i32
  %c = arith.cmpi sgt, %next, %one : i32
  // expected-error@+1 {{expected a kernel invocation, a collective or control flow, found 'cf.assert'}}
  cf.assert %c, "s is positive"
  return
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
func.func @compute(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<4xf32> {device.binding = #device.binding<metric "m">}) {
  // expected-error@+1 {{expected a kernel invocation, a collective or control flow, found 'arith.negf'}}
  %d = arith.negf %x : tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

// Loops and branches of a step carry tensors.
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
func.func @for(%x: tensor<i1> {device.binding = #device.binding<batch "x">}) {
  %zero = arith.constant 0 : index
  %half = arith.constant 0.5 : f32
  // expected-error@+1 {{expected values that loops and branches of a step carry to be tensors of static shape, found 'f32'}}
  %r = scf.for %i = %zero to %zero step %zero iter_args(%c = %half) -> f32 {
    scf.yield %c : f32
  }
  return
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
func.func @if(%x: tensor<i1> {device.binding = #device.binding<batch "x">}) {
  %half = arith.constant 0.5 : f32
  %c = tensor.extract %x[] : tensor<i1>
  // expected-error@+1 {{expected values that loops and branches of a step carry to be tensors of static shape, found 'f32'}}
  %r = scf.if %c -> f32 {
    scf.yield %half : f32
  } else {
    scf.yield %half : f32
  }
  return
}

// -----

// A condition must be in memory.
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
func.func @condition() {
  %true = arith.constant true
  // expected-error@+1 {{expected a condition that is in memory}}
  scf.if %true {
  }
  return
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
func.func @while(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) {
  %true = arith.constant true
  // expected-error@+1 {{expected a loop that ends, found one whose condition is always true}}
  scf.while : () -> () {
    scf.condition(%true)
  } do {
    scf.yield
  }
  return
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
func.func @bound(%x: tensor<4xi64> {device.binding = #device.binding<batch "x">}) {
  %zero = arith.constant 0 : index
  %e = tensor.extract %x[%zero] : tensor<4xi64>
  %n = arith.index_cast %e : i64 to index
  // expected-error@+1 {{expected bounds that are constants or integers in memory}}
  scf.for %i = %zero to %n step %n {
  }
  return
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
device.kernel @k(tensor<4xi64>, index) -> tensor<4xi64>
func.func @register(%x: tensor<4xi64> {device.binding = #device.binding<batch "x">}) {
  %zero = arith.constant 0 : index
  %e = tensor.extract %x[%zero] : tensor<4xi64>
  %n = arith.index_cast %e : i64 to index
  // expected-error@+1 {{expected an index that is a loop's induction variable, a constant or an integer in memory}}
  %r = device.invoke @k(%x, %n) : (tensor<4xi64>, index) -> tensor<4xi64>
  return
}

// -----

device.kernel @add(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: -1>} {
  %0 = arith.addf %x, %y : tensor<4xf32>
  device.yield %0 : tensor<4xf32>
}
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
func.func @two_batches() -> (tensor<4xf32> {device.binding = #device.binding<result "y">}) {
  // expected-error@+1 {{tensor 'x' of this batch is used after the next batch has been loaded, which is not supported}}
  %x = device.load_batch ["x"] : tensor<4xf32>
  %y = device.load_batch ["x"] : tensor<4xf32>
  %0 = device.invoke @add(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
func.func @beside(%z: tensor<4xf32> {device.binding = #device.binding<batch "z">}) -> (tensor<4xf32> {device.binding = #device.binding<result "y">}) {
  // expected-error@+1 {{expected all data of a program with an iterator to come from it, found batch tensor 'z'}}
  %x = device.load_batch ["x"] : tensor<4xf32>
  return %x : tensor<4xf32>
}
