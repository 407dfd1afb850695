// RUN: lockstep-opt %s | lockstep-opt | FileCheck %s
// RUN: lockstep-opt %s --mlir-print-op-generic | lockstep-opt | FileCheck %s

collective.group @all

// A kernel with all attributes, and one without a body.
// CHECK-LABEL: device.kernel @add(%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xf32>, %{{.*}}: index) -> tensor<8xf32>
// CHECK-SAME: attributes {bytes = 0 : i64, flops = 0 : i64, grid = 2 : i64, in_place = array<i64: 0>, scratch = 64 : i64}
// CHECK: device.yield %{{.*}} : tensor<8xf32>
device.kernel @add(%a: tensor<8xf32>, %b: tensor<8xf32>, %i: index) -> tensor<8xf32>
    attributes {grid = 2 : i64, in_place = array<i64: 0>, scratch = 64 : i64} {
  %0 = arith.addf %a, %b : tensor<8xf32>
  device.yield %0 : tensor<8xf32>
}

// CHECK: device.kernel @extern(tensor<8xf32>) -> tensor<8xf32>
device.kernel @extern(tensor<8xf32>) -> tensor<8xf32>

// CHECK-LABEL: func.func @step
// CHECK-SAME: device.binding = #device.binding<batch "x">
// CHECK-SAME: device.binding = #device.binding<metric "m">
func.func @step(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<8xf32> {device.binding = #device.binding<metric "m">}) {
  // CHECK: device.invoke @extern(%{{.*}}) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = device.invoke @extern(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: device.load_batch ["x", "n"] : tensor<8xf32>, tensor<i64>
  %1, %2 = device.load_batch ["x", "n"] : tensor<8xf32>, tensor<i64>
  return %0 : tensor<8xf32>
}

// CHECK: device.binary @x86_64_v3 target "x86-64-v3" {object = dense<[127, 69]> : tensor<2xi8>}
device.binary @x86_64_v3 target "x86-64-v3" {object = dense<[127, 69]> : tensor<2xi8>}
// CHECK: device.binary @sm_90 device "cuda" target "sm_90" {object = dense<1> : tensor<2xi8>}
device.binary @sm_90 device "cuda" target "sm_90" {object = dense<1> : tensor<2xi8>}
// CHECK: device.variable @w variable[64] : tensor<8xf32> {aggregation = 0 : i32, initial = dense<0.000000e+00> : tensor<8xf32>, synchronization = 0 : i32}
device.variable @w variable[64] : tensor<8xf32> {aggregation = 0 : i32, initial = dense<0.0> : tensor<8xf32>, synchronization = 0 : i32}
// CHECK: device.variable @seen replica_variable[0] : tensor<i64> {aggregation = 1 : i32, synchronization = 1 : i32}
device.variable @seen replica_variable[0] : tensor<i64> {aggregation = 1 : i32, synchronization = 1 : i32}
// CHECK: device.scalar "lr"[0] : tensor<f32> {default_value = dense<1.000000e-01> : tensor<f32>}
device.scalar "lr"[0] : tensor<f32> {default_value = dense<1.0e-01> : tensor<f32>}
// CHECK: device.constants {bytes = dense<[0, 1]> : tensor<2xi8>}
device.constants {bytes = dense<[0, 1]> : tensor<2xi8>}

// CHECK: device.entry @native grid 2 flops 64 bytes 128
device.entry @native grid 2 flops 64 bytes 128
// CHECK: device.entry @sized takes <reads [32, 4] writes [32] in_place [0] dynamic [0, 2, 0] scratch 64 registers 3> grid 2 flops 64 bytes 128
device.entry @sized takes <reads [32, 4] writes [32] in_place [0] dynamic [0, 2, 0] scratch 64 registers 3> grid 2 flops 64 bytes 128
// CHECK: device.remark "bucket" "missed" "the element types differ" in "program"
device.remark "bucket" "missed" "the element types differ" in "program"
// CHECK: device.remark "codegen" "analysis" "2 kernels"
device.remark "codegen" "analysis" "2 kernels"

// A program with every command, a loop and a branch.
// CHECK-LABEL: device.program @program role "worker" replica 256 shared 64 input 96 registers 3 channels 3 {
device.program @program role "worker" replica 256 shared 64 input 96 registers 3 channels 3 {
  // CHECK: device.slice input[0] "x" : <tensor<8xf32>>
  %x = device.slice input[0] "x" : !device.buffer<tensor<8xf32>>
  // CHECK: device.slice input[32] "d" {bound = 64 : i64, size_registers = array<i64: 2, -1>} : <tensor<?x2xf32>>
  %d = device.slice input[32] "d" {bound = 64 : i64, size_registers = array<i64: 2, -1>} : !device.buffer<tensor<?x2xf32>>
  // CHECK: device.slice replica[0] : <tensor<8xf32>>
  %g = device.slice replica[0] : !device.buffer<tensor<8xf32>>
  %s = device.slice replica[64] : !device.buffer<tensor<128xi8>>
  %r = device.slice shared[0] : !device.buffer<tensor<8xf32>>
  %w = device.slice variable[64] : !device.buffer<tensor<8xf32>>
  %n = device.slice scalar[0] : !device.buffer<tensor<i32>>
  %c = device.slice constant[0] : !device.buffer<tensor<i1>>
  // CHECK: device.set_register 0 to 4
  device.set_register 0 to 4
  // CHECK: device.load_register 1, %{{.*}} : <tensor<i32>>
  device.load_register 1, %n : !device.buffer<tensor<i32>>
  // CHECK: device.jump ^bb1
  device.jump ^bb1
^bb1:
  // CHECK: device.branch_ge 0, 1 ^bb3 else ^bb2
  device.branch_ge 0, 1 ^bb3 else ^bb2
^bb2:
  // CHECK: device.launch @add reads(%{{.*}}, %{{.*}} : !device.buffer<tensor<8xf32>>, !device.buffer<tensor<8xf32>>) writes(%{{.*}} : !device.buffer<tensor<8xf32>>) scratch(%{{.*}} : !device.buffer<tensor<128xi8>>) {registers = array<i64: 0>}
  device.launch @add reads(%x, %w : !device.buffer<tensor<8xf32>>, !device.buffer<tensor<8xf32>>)
      writes(%g : !device.buffer<tensor<8xf32>>) scratch(%s : !device.buffer<tensor<128xi8>>) {registers = array<i64: 0>}
  // CHECK: device.start all_reduce sum @all channel 0(%{{.*}} : !device.buffer<tensor<8xf32>>) to(%{{.*}} : !device.buffer<tensor<8xf32>>)
  device.start all_reduce sum @all channel 0 (%g : !device.buffer<tensor<8xf32>>) to (%r : !device.buffer<tensor<8xf32>>)
  // CHECK: device.wait channel 0
  device.wait channel 0
  // CHECK: device.once channel 1 {
  device.once channel 1 {
    // CHECK: device.copy %{{.*}} to %{{.*}} : <tensor<8xf32>>
    device.copy %r to %w : !device.buffer<tensor<8xf32>>
  }
  // CHECK: device.add_register 0, 1
  device.add_register 0, 1
  // CHECK: device.branch_unless %{{.*}} ^bb3 else ^bb1 : <tensor<i1>>
  device.branch_unless %c ^bb3 else ^bb1 : !device.buffer<tensor<i1>>
^bb3:
  // CHECK: device.barrier @all channel 2
  device.barrier @all channel 2
  // CHECK: device.output <metric "loss"> %{{.*}} : <tensor<8xf32>>
  device.output <metric "loss"> %r : !device.buffer<tensor<8xf32>>
  // CHECK: device.return
  device.return
}
