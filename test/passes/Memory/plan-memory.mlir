// RUN: lockstep-opt %s --plan-memory --split-input-file | FileCheck %s --check-prefixes=CHECK,REUSE
// RUN: lockstep-opt %s --plan-memory=reuse=false --split-input-file | FileCheck %s --check-prefixes=CHECK,APART

// The operands of a bucket are side by side in each replica's memory, aligned to cache lines; the results exist once per process. Kernels
// write operands to where the collective reads them, without a copy.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
device.kernel @k(tensor<5xf32>) -> tensor<5xf32>
device.kernel @l(tensor<5xf32>) -> tensor<20xf32>
collective.group @all
// CHECK-LABEL: device.program @bucket role "worker" replica 192 shared 192 input 64 registers 0 channels 1 {
// CHECK-DAG: %[[A:.*]] = device.slice replica[0] : <tensor<5xf32>>
// CHECK-DAG: %[[B:.*]] = device.slice replica[64] : <tensor<20xf32>>
// CHECK-DAG: %[[RA:.*]] = device.slice shared[0] : <tensor<5xf32>>
// CHECK-DAG: %[[RB:.*]] = device.slice shared[64] : <tensor<20xf32>>
// CHECK: device.launch @k reads(%{{.*}}) writes(%[[A]] :
// CHECK-NEXT: device.launch @l reads(%{{.*}}) writes(%[[B]] :
// CHECK-NEXT: device.start all_reduce sum @all channel 0(%[[A]], %[[B]] : {{.*}}) to(%[[RA]], %[[RB]] :
// CHECK-NEXT: device.wait channel 0
// CHECK-NEXT: device.output <metric "a"> %[[RA]]
// CHECK-NEXT: device.output <metric "b"> %[[RB]]
// CHECK-NEXT: device.return
func.func @bucket(%x: tensor<5xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<5xf32> {device.binding = #device.binding<metric "a">}, tensor<20xf32> {device.binding = #device.binding<metric "b">}) {
  %a = device.invoke @k(%x) : (tensor<5xf32>) -> tensor<5xf32>
  %b = device.invoke @l(%x) : (tensor<5xf32>) -> tensor<20xf32>
  %h = collective.start all_reduce sum @all channel 0 (%a, %b : tensor<5xf32>, tensor<20xf32>) -> !collective.pending<tensor<5xf32>, tensor<20xf32>>
  %r:2 = collective.wait %h (%a, %b : tensor<5xf32>, tensor<20xf32>) : !collective.pending<tensor<5xf32>, tensor<20xf32>> -> tensor<5xf32>, tensor<20xf32>
  return %r#0, %r#1 : tensor<5xf32>, tensor<20xf32>
}

// -----

// A mirrored variable exists once per process and is updated in place, by one replica for all. A variable that is synchronized on read exists
// once per replica, and each replica updates its own.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
replica.variable @w : tensor<4xf32> {initial = dense<0.0> : tensor<4xf32>}
replica.variable @n : tensor<4xf32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
device.kernel @sgd(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0>}
collective.group @all
// CHECK: device.variable @w variable[0] : tensor<4xf32> {aggregation = 0 : i32, initial = dense<0.000000e+00> : tensor<4xf32>, synchronization = 0 : i32}
// CHECK: device.variable @n replica_variable[0] : tensor<4xf32> {aggregation = 1 : i32, synchronization = 1 : i32}
// CHECK-LABEL: device.program @update
// CHECK-DAG: %[[W:.*]] = device.slice variable[0] : <tensor<4xf32>>
// CHECK-DAG: %[[N:.*]] = device.slice replica_variable[0] : <tensor<4xf32>>
// CHECK-DAG: %[[X:.*]] = device.slice input[0] "x" : <tensor<4xf32>>
// CHECK: device.start all_reduce sum @all channel 0(%[[COPY:.*]] : {{.*}}) to(%[[G:.*]] :
// CHECK-NEXT: device.launch @sgd reads(%[[N]], %[[X]] : {{.*}}) writes(%[[N]] :
// CHECK-NEXT: device.wait channel 0
// CHECK-NEXT: device.once channel 1 {
// CHECK-NEXT: device.launch @sgd reads(%[[W]], %[[G]] : {{.*}}) writes(%[[W]] :
// CHECK-NEXT: }
func.func @update(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %n: tensor<4xf32> {device.binding = #device.binding<variable "n">},
                  %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<variable "n">}) {
  %h = collective.start all_reduce sum @all channel 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %m = device.invoke @sgd(%n, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %v = device.invoke @sgd(%w, %g) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %v, %m : tensor<4xf32>, tensor<4xf32>
}

// -----

// With one replica, there are no once sections and no collectives.
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
replica.variable @w : tensor<4xf32>
device.kernel @sgd(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0>}
// CHECK-LABEL: device.program @alone role "worker" replica 0 shared 0 input 64 registers 0 channels 0 {
// CHECK-NOT: device.once
// CHECK: device.launch @sgd reads(%[[W:[0-9]*]], %{{.*}}) writes(%[[W]] :
func.func @alone(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) {
  %v = device.invoke @sgd(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %v : tensor<4xf32>
}

// -----

// The old value of a variable is live after the new one is computed: the new value gets memory of its own, and is copied at the end.
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
replica.variable @w : tensor<4xf32>
device.kernel @sgd(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0>}
// CHECK-LABEL: device.program @old_value
// CHECK-DAG: %[[W:.*]] = device.slice variable[0] : <tensor<4xf32>>
// CHECK-DAG: %[[T:.*]] = device.slice replica[0] : <tensor<4xf32>>
// CHECK: device.launch @sgd reads(%[[W]], %{{.*}}) writes(%[[T]] :
// CHECK: device.launch @sgd reads(%[[T]], %[[W]] :
// CHECK: device.copy %[[T]] to %[[W]]
func.func @old_value(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<metric "m">}) {
  %v = device.invoke @sgd(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %m = device.invoke @sgd(%v, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %v, %m : tensor<4xf32>, tensor<4xf32>
}

// -----

// Values with disjoint live ranges share memory, unless reuse is disabled; a chain of kernels needs two buffers.
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
device.kernel @k(tensor<16xf32>) -> tensor<16xf32>
// REUSE-LABEL: device.program @chain role "worker" replica 128 shared 0 input 64
// APART-LABEL: device.program @chain role "worker" replica 256 shared 0 input 64
func.func @chain(%x: tensor<16xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<16xf32> {device.binding = #device.binding<metric "m">}) {
  %a = device.invoke @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %b = device.invoke @k(%a) : (tensor<16xf32>) -> tensor<16xf32>
  %c = device.invoke @k(%b) : (tensor<16xf32>) -> tensor<16xf32>
  %d = device.invoke @k(%c) : (tensor<16xf32>) -> tensor<16xf32>
  return %d : tensor<16xf32>
}

// -----

// An operand of a collective in flight is live until the wait: the chain of kernels before it needs other memory.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @k(tensor<16xf32>) -> tensor<16xf32>
collective.group @all
// REUSE-LABEL: device.program @in_flight role "worker" replica 192 shared 64 input 64
func.func @in_flight(%x: tensor<16xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<16xf32> {device.binding = #device.binding<metric "m">}, tensor<16xf32> {device.binding = #device.binding<result "r">}) {
  %a = device.invoke @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %h = collective.start all_reduce sum @all channel 0 (%a : tensor<16xf32>) -> !collective.pending<tensor<16xf32>>
  %b = device.invoke @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %c = device.invoke @k(%b) : (tensor<16xf32>) -> tensor<16xf32>
  %d = device.invoke @k(%c) : (tensor<16xf32>) -> tensor<16xf32>
  %r = collective.wait %h (%a : tensor<16xf32>) : !collective.pending<tensor<16xf32>> -> tensor<16xf32>
  return %r, %d : tensor<16xf32>, tensor<16xf32>
}

// -----

// An operand that is an input, or is already in a bucket, is copied to its place in the bucket; so is the second of two equal operands.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @k(tensor<16xf32>) -> tensor<16xf32>
collective.group @all
// CHECK-LABEL: device.program @copies
// CHECK-DAG: %[[X:.*]] = device.slice input[0] "x" : <tensor<16xf32>>
// CHECK-DAG: device.launch @k reads(%[[X]] : {{.*}}) writes(%[[A:.*]] :
// CHECK: device.copy %[[X]] to %[[C:.*]] :
// CHECK-NEXT: device.copy %[[A]] to %[[B:.*]] :
// CHECK-NEXT: device.start all_reduce sum @all channel 0(%[[A]], %[[C]], %[[B]] :
// CHECK: device.copy %[[A]] to %[[D:.*]] :
// CHECK-NEXT: device.start all_reduce max @all channel 1(%[[D]] :
func.func @copies(%x: tensor<16xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<16xf32> {device.binding = #device.binding<metric "m">}) {
  %a = device.invoke @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %h = collective.start all_reduce sum @all channel 0 (%a, %x, %a : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
      -> !collective.pending<tensor<16xf32>, tensor<16xf32>, tensor<16xf32>>
  %r:3 = collective.wait %h (%a, %x, %a : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
      : !collective.pending<tensor<16xf32>, tensor<16xf32>, tensor<16xf32>> -> tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  %i = collective.start all_reduce max @all channel 1 (%a : tensor<16xf32>) -> !collective.pending<tensor<16xf32>>
  %s = collective.wait %i (%a : tensor<16xf32>) : !collective.pending<tensor<16xf32>> -> tensor<16xf32>
  return %s : tensor<16xf32>
}

// -----

// Kernels on values that are stored once are executed once, and neighbours share a once section. A kernel on scalars alone is cheaper to repeat
// on each replica than to synchronize, unless it computes a variable's new value.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<4xf32>
device.kernel @k(tensor<4xf32>) -> tensor<4xf32>
device.kernel @fill(tensor<f32>) -> tensor<4xf32>
collective.group @all
// CHECK-LABEL: device.program @once
// CHECK: device.launch @fill reads(%[[S:[0-9]*]] :
// CHECK: device.wait channel 0
// CHECK-NEXT: device.once channel 1 {
// CHECK-NEXT: device.launch @k reads(%{{.*}}) writes(%[[A:.*]] :
// CHECK-NEXT: device.launch @k reads(%[[A]] :
// CHECK-NEXT: device.launch @fill reads(%[[S]] : {{.*}}) writes(%[[W:.*]] :
// CHECK-NEXT: }
func.func @once(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %s: tensor<f32> {device.binding = #device.binding<scalar "s">},
                %x: tensor<4xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}, tensor<4xf32> {device.binding = #device.binding<metric "m">},
        tensor<4xf32> {device.binding = #device.binding<metric "u">}) {
  %u = device.invoke @fill(%s) : (tensor<f32>) -> tensor<4xf32>
  %h = collective.start all_reduce sum @all channel 0 (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %g = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %a = device.invoke @k(%g) : (tensor<4xf32>) -> tensor<4xf32>
  %b = device.invoke @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %v = device.invoke @fill(%s) : (tensor<f32>) -> tensor<4xf32>
  return %v, %b, %u : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The scalars of all steps share one memory, by name; equal constants are stored once; a batch that is not read is still declared.
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
device.kernel @k(tensor<f32>, tensor<f32>, tensor<3xi8>, tensor<3xi8>) -> tensor<f32>
// CHECK-DAG: device.constants {bytes = dense<{{.*}}> : tensor<64xi8>}
// CHECK-DAG: device.scalar "lr"[0] : tensor<f32> {default_value = dense<1.000000e-01> : tensor<f32>}
// CHECK-DAG: device.scalar "step"[64] : tensor<i32>
// CHECK-LABEL: device.program @first
// CHECK-DAG: device.slice input[0] "x" {is_unsigned} : <tensor<3xi8>>
// CHECK-DAG: %[[L:.*]] = device.slice scalar[0] : <tensor<f32>>
// CHECK-DAG: %[[C:.*]] = device.slice constant[0] : <tensor<3xi8>>
// CHECK-DAG: %[[D:.*]] = device.slice constant[0] : <tensor<3xi8>>
// CHECK: device.launch @k reads(%[[L]], %[[L]], %[[C]], %[[D]] :
func.func @first(%lr: tensor<f32> {device.binding = #device.binding<scalar "lr">, replica.default = 1.0e-01 : f32},
                 %x: tensor<3xi8> {device.binding = #device.binding<batch "x">, replica.unsigned}) -> (tensor<f32> {device.binding = #device.binding<metric "m">}) {
  %c = arith.constant dense<[1, 2, 3]> : tensor<3xi8>
  %d = arith.constant dense<[1, 2, 3]> : tensor<3xi8>
  %r = device.invoke @k(%lr, %lr, %c, %d) : (tensor<f32>, tensor<f32>, tensor<3xi8>, tensor<3xi8>) -> tensor<f32>
  return %r : tensor<f32>
}
// CHECK-LABEL: device.program @second
// CHECK-DAG: %[[S:.*]] = device.slice scalar[64] : <tensor<i32>>
// CHECK-DAG: %[[L:.*]] = device.slice scalar[0] : <tensor<f32>>
// Outputs are in memory of the program: scalars are copied to it.
// CHECK-DAG: device.copy %[[S]] to %[[SC:.*]] :
// CHECK-DAG: device.copy %[[L]] to %[[LC:.*]] :
// CHECK: device.output <result "s"> %[[SC]]
// CHECK: device.output <result "l"> %[[LC]]
func.func @second(%step: tensor<i32> {device.binding = #device.binding<scalar "step">}, %lr: tensor<f32> {device.binding = #device.binding<scalar "lr">})
    -> (tensor<i32> {device.binding = #device.binding<result "s">}, tensor<f32> {device.binding = #device.binding<result "l">}) {
  return %step, %lr : tensor<i32>, tensor<f32>
}

// -----

// A result is placed in the memory of an operand whose live range ends, if the kernel can work in place.
replica.strategy @one {kind = #replica.kind<one_device>, replicas = 1}
device.kernel @k(tensor<16xf32>) -> tensor<16xf32>
device.kernel @in_place(tensor<16xf32>) -> tensor<16xf32> attributes {in_place = array<i64: 0>, scratch = 100 : i64, grid = 2 : i64}
// CHECK-LABEL: device.program @take_over
// CHECK: device.launch @k reads(%{{.*}}) writes(%[[A:.*]] :
// REUSE-NEXT: device.launch @in_place reads(%[[A]] : {{.*}}) writes(%[[A]] : {{.*}}) scratch(%{{.*}} : !device.buffer<tensor<200xi8>>)
// APART-NEXT: device.launch @in_place reads(%[[A]] : {{.*}}) writes(%[[B:.*]] : {{.*}}) scratch(%{{.*}} : !device.buffer<tensor<200xi8>>)
func.func @take_over(%x: tensor<16xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<16xf32> {device.binding = #device.binding<metric "m">}) {
  %a = device.invoke @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %b = device.invoke @in_place(%a) : (tensor<16xf32>) -> tensor<16xf32>
  return %b : tensor<16xf32>
}
