// All operations and attributes of device IR are written to an artifact and read back unchanged: text and bytes.

// RUN: lockstep-translate --emit-artifact %s -o %t.lockstep
// RUN: lockstep-translate --import-artifact %t.lockstep --mlir-print-debuginfo=false -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: lockstep-translate --import-artifact %t.lockstep -o %t.located.mlir
// RUN: FileCheck %s --check-prefix=LINES < %t.located.mlir
// RUN: lockstep-translate --emit-artifact %t.located.mlir -o %t.again
// RUN: cmp %t.lockstep %t.again
// RUN: lockstep-translate --import-artifact %t.again --mlir-print-debuginfo=false | diff %t.mlir -

// CHECK-LABEL: module @everything attributes {device.replicas = 4 : i64} {
module @everything attributes {device.replicas = 4 : i64} {
// CHECK-NEXT: collective.group @all
// CHECK-NEXT: collective.group @even {ranks = array<i64: 0, 2>}
  collective.group @all
  collective.group @even {ranks = array<i64: 0, 2>}

// Variables of both memories, with all attributes; initial values, a splat and a mask among them; one with the name of a program.
// CHECK-NEXT: device.variable @w variable[0] : tensor<4xf32> {aggregation = 2 : i32, synchronization = 0 : i32}
// CHECK-NEXT: device.variable @counter variable[64] : tensor<3xi32> {aggregation = 0 : i32, initial = dense<[1, -2, 3]> : tensor<3xi32>, is_unsigned, synchronization = 0 : i32}
// CHECK-NEXT: device.variable @zeros variable[128] : tensor<4xf64> {aggregation = 0 : i32, initial = dense<0.000000e+00> : tensor<4xf64>, synchronization = 0 : i32}
// CHECK-NEXT: device.variable @flow_0 variable[192] : tensor<i32> {aggregation = 0 : i32, path = "flow", synchronization = 0 : i32}
// CHECK-NEXT: device.variable @mask replica_variable[0] : tensor<3xi1> {aggregation = 1 : i32, initial = dense<[true, false, true]> : tensor<3xi1>, synchronization = 1 : i32}
// CHECK-NEXT: device.variable @part replica_variable[64] : tensor<4xf32> {aggregation = 0 : i32, synchronization = 0 : i32, whole_shape = array<i64: 4, 4>}
  device.variable @w variable[0] : tensor<4xf32> {synchronization = 0 : i32, aggregation = 2 : i32}
  device.variable @counter variable[64] : tensor<3xi32> {synchronization = 0 : i32, aggregation = 0 : i32, initial = dense<[1, -2, 3]> : tensor<3xi32>, is_unsigned}
  device.variable @zeros variable[128] : tensor<4xf64> {synchronization = 0 : i32, aggregation = 0 : i32, initial = dense<0.0> : tensor<4xf64>}
  device.variable @flow_0 variable[192] : tensor<i32> {synchronization = 0 : i32, aggregation = 0 : i32, path = "flow"}
  device.variable @mask replica_variable[0] : tensor<3xi1> {synchronization = 1 : i32, aggregation = 1 : i32, initial = dense<[true, false, true]> : tensor<3xi1>}
  device.variable @part replica_variable[64] : tensor<4xf32> {synchronization = 0 : i32, aggregation = 0 : i32, whole_shape = array<i64: 4, 4>}

// CHECK-NEXT: device.scalar "lr"[0] : tensor<f32> {default_value = dense<1.000000e-01> : tensor<f32>}
// CHECK-NEXT: device.scalar "seed"[64] : tensor<i32> {is_unsigned}
// CHECK-NEXT: device.scalar "half"[128] : tensor<bf16> {default_value = dense<5.000000e-01> : tensor<bf16>}
// CHECK-NEXT: device.scalar "flag"[192] : tensor<i1> {default_value = dense<true> : tensor<i1>}
// CHECK-NEXT: device.constants {bytes = dense<[0, 0, -128, 63]> : tensor<4xi8>}
  device.scalar "lr"[0] : tensor<f32> {default_value = dense<0.1> : tensor<f32>}
  device.scalar "seed"[64] : tensor<i32> {is_unsigned}
  device.scalar "half"[128] : tensor<bf16> {default_value = dense<0.5> : tensor<bf16>}
  device.scalar "flag"[192] : tensor<i1> {default_value = dense<true> : tensor<i1>}
  device.constants {bytes = dense<[0, 0, -128, 63]> : tensor<4xi8>}

// CHECK-NEXT: device.entry @add code "sum" grid 1 flops 4 bytes 48
// CHECK-NEXT: device.entry @indexed takes <reads [16] writes [16] in_place [] dynamic [] scratch 0 registers 2> grid 2 flops 0 bytes 16
// CHECK-NEXT: device.binary @x86_64_v3 target "x86-64-v3" {object = dense<[127, 69, 76, 70]> : tensor<4xi8>}
// CHECK-NEXT: device.binary @x86_64_v4 target "x86-64-v4" {object = dense<[127, 69, 76, 70]> : tensor<4xi8>}
  device.entry @add code "sum" grid 1 flops 4 bytes 48 loc("model.py":3:1)
  device.entry @indexed takes <reads [16] writes [16] in_place [] dynamic [] scratch 0 registers 2> grid 2 flops 0 bytes 16 loc("models/layers.py":7:1)
  device.binary @x86_64_v3 target "x86-64-v3" {object = dense<[127, 69, 76, 70]> : tensor<4xi8>}
  device.binary @x86_64_v4 target "x86-64-v4" {object = dense<[127, 69, 76, 70]> : tensor<4xi8>}

// Commands without control flow: launches with scratch memory, collectives with an axis and of some ranks only, a barrier, a once section.
// CHECK-NEXT: device.program @straight role "worker" replica 512 shared 128 input 128 registers 0 channels 4 {
// CHECK-NEXT:   %0 = device.slice input[0] "x" : <tensor<4xf32>>
// CHECK-NEXT:   %1 = device.slice input[64] "labels" {is_unsigned} : <tensor<4xi32>>
// CHECK-NEXT:   %2 = device.slice replica[0] : <tensor<4xf32>>
// CHECK-NEXT:   %3 = device.slice replica[64] : <tensor<64xi8>>
// CHECK:        device.launch @add reads(%0, %5 : {{.*}}) writes(%2 : {{.*}}) scratch(%3 : {{.*}})
// CHECK-NEXT:   device.start all_reduce sum @all channel 0(%2 : {{.*}}) to(%6 : {{.*}})
// CHECK-NEXT:   device.start all_gather none @all channel 3(%2 : {{.*}}) to(%4 : {{.*}}) {axis = 0 : i64}
// CHECK-NEXT:   device.barrier @even channel 1
// CHECK-NEXT:   device.wait channel 0
// CHECK-NEXT:   device.wait channel 3
// CHECK-NEXT:   device.once channel 2 {
// CHECK-NEXT:     device.launch @add reads(%5, %6 : {{.*}}) writes(%5 : {{.*}})
// CHECK-NEXT:     device.copy %6 to %5 : <tensor<4xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT:   device.output <metric "loss"> %6 : <tensor<4xf32>>
// CHECK-NEXT:   device.output <sum "accuracy"> %6 : <tensor<4xf32>>
// CHECK-NEXT:   device.output <count "accuracy"> %2 : <tensor<4xf32>>
// CHECK-NEXT:   device.output <result "all"> %5 : <tensor<4xf32>>
// CHECK-NEXT:   device.return
// CHECK-NEXT: }
// LINES:        device.wait channel 0 loc([[LINE:#.*]])
  device.program @straight role "worker" replica 512 shared 128 input 128 registers 0 channels 4 {
    %x = device.slice input[0] "x" : <tensor<4xf32>>
    %y = device.slice input[64] "labels" {is_unsigned} : <tensor<4xi32>>
    %g = device.slice replica[0] : <tensor<4xf32>>
    %scratch = device.slice replica[64] : <tensor<64xi8>>
    %all = device.slice shared[64] : <tensor<16xf32>>
    %w = device.slice variable[0] : <tensor<4xf32>>
    %s = device.slice shared[0] : <tensor<4xf32>>
    device.launch @add reads(%x, %w : !device.buffer<tensor<4xf32>>, !device.buffer<tensor<4xf32>>) writes(%g : !device.buffer<tensor<4xf32>>)
        scratch(%scratch : !device.buffer<tensor<64xi8>>) loc("model.py":12:3)
    device.start all_reduce sum @all channel 0 (%g : !device.buffer<tensor<4xf32>>) to (%s : !device.buffer<tensor<4xf32>>) loc("model.py":13:3)
    device.start all_gather none @all channel 3 (%g : !device.buffer<tensor<4xf32>>) to (%all : !device.buffer<tensor<16xf32>>) {axis = 0 : i64} loc("model.py":14:3)
    device.barrier @even channel 1
    device.wait channel 0 loc("model.py":13:3)
    device.wait channel 3
    device.once channel 2 {
      device.launch @add reads(%w, %s : !device.buffer<tensor<4xf32>>, !device.buffer<tensor<4xf32>>) writes(%w : !device.buffer<tensor<4xf32>>)
      device.copy %s to %w : <tensor<4xf32>>
    } loc("model.py":15:3)
    device.output <metric "loss"> %s : <tensor<4xf32>>
    device.output <sum "accuracy"> %s : <tensor<4xf32>>
    device.output <count "accuracy"> %g : <tensor<4xf32>>
    device.output <result "all"> %w : <tensor<4xf32>>
    device.return
  }

// Control flow: a loop with a counter, a branch with two sides in it, registers that are loaded from memory. A jump to the next block
// is kept, although it needs no command.
// CHECK-NEXT: device.program @flow role "worker" replica 128 shared 0 input 0 registers 4 channels 0 {
// CHECK:        device.slice replica[64] {bound = 32 : i64, size_registers = array<i64: 1, -1>} : <tensor<?x2xf32>>
// CHECK:        device.set_register 0 to 0
// CHECK-NEXT:   device.load_register 1, %{{.*}} : <tensor<i32>>
// CHECK-NEXT:   device.set_register 2 to -3
// CHECK-NEXT:   device.jump ^bb1
// CHECK-NEXT: ^bb1:
// CHECK-NEXT:   device.branch_ge 0, 1 ^bb6 else ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT:   device.branch_unless %{{.*}} ^bb4 else ^bb3 : <tensor<i1>>
// CHECK-NEXT: ^bb3:
// CHECK-NEXT:   device.launch @indexed reads(%{{.*}}) writes(%{{.*}}) {registers = array<i64: 0, 2>}
// CHECK-NEXT:   device.jump ^bb5
// CHECK-NEXT: ^bb4:
// CHECK-NEXT:   device.copy
// CHECK-NEXT:   device.jump ^bb5
// CHECK-NEXT: ^bb5:
// CHECK-NEXT:   device.add_register 0, 3
// CHECK-NEXT:   device.jump ^bb1
// CHECK-NEXT: ^bb6:
// CHECK-NEXT:   device.output <result "r">
// CHECK-NEXT:   device.return
// CHECK-NEXT: }
  device.program @flow role "worker" replica 128 shared 0 input 0 registers 4 channels 0 {
    %a = device.slice replica[0] : <tensor<4xf32>>
    %b = device.slice replica[16] : <tensor<4xf32>>
    %n = device.slice replica[32] : <tensor<i32>>
    %c = device.slice replica[36] : <tensor<i1>>
    %k = device.slice constant[0] : <tensor<f32>>
    %r = device.slice rank[0] : <tensor<i32>>
    %d = device.slice replica[64] {bound = 32 : i64, size_registers = array<i64: 1, -1>} : <tensor<?x2xf32>>
    device.set_register 0 to 0
    device.load_register 1, %r : <tensor<i32>>
    device.set_register 2 to -3
    device.jump ^head
  ^head:
    device.branch_ge 0, 1 ^exit else ^body
  ^body:
    device.branch_unless %c ^otherwise else ^then : <tensor<i1>>
  ^then:
    device.launch @indexed reads(%a : !device.buffer<tensor<4xf32>>) writes(%b : !device.buffer<tensor<4xf32>>) {registers = array<i64: 0, 2>}
    device.jump ^join
  ^otherwise:
    device.copy %a to %b : <tensor<4xf32>>
    device.jump ^join
  ^join:
    device.add_register 0, 3
    device.jump ^head
  ^exit:
    device.output <result "r"> %b : <tensor<4xf32>>
    device.return
  }

// CHECK-NEXT: device.constant_output "about" = {epochs = 3 : i64, labels = ["cat", "d\22og"], rates = [2.000000e+00, 1.000000e-01, -0.000000e+00]} of "flow"
// CHECK-NEXT: device.constant_output "done" = true of "straight"
  device.constant_output "about" = {epochs = 3, labels = ["cat", "d\"og"], rates = [2.0, 0.1, -0.0]} of "flow"
  device.constant_output "done" = true of "straight"

// CHECK-NEXT: device.remark "schedule" "missed" "nothing hides it" in "straight"
// CHECK-NEXT: device.remark "codegen" "analysis" "2 kernels"
// CHECK-NEXT: }
// LINES:      device.remark "schedule" "missed" "nothing hides it" in "straight" loc([[LINE]])
// LINES-DAG:  [[LINE]] = loc("model.py":13:0)
// LINES-DAG:  = loc("models/layers.py":7:0)
  device.remark "schedule" "missed" "nothing hides it" in "straight" loc("model.py":13:3)
  device.remark "codegen" "analysis" "2 kernels" loc(unknown)
}
