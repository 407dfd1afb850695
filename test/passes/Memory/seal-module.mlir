// RUN: lockstep-opt %s --seal-module --split-input-file --verify-diagnostics | FileCheck %s

// Kernels become entries, and the strategy becomes an attribute; other attributes of the module are removed. A variable's symbol follows from
// its name. Operations are sorted by kind.
// CHECK-LABEL: module @kinds attributes {device.replicas = 3 : i64} {
// CHECK-NEXT: collective.group @all
// CHECK-NEXT: device.variable @w variable[0] : tensor<4xf32> {aggregation = 0 : i32, synchronization = 0 : i32}
// CHECK-NEXT: device.variable @p_0 variable[64] : tensor<4xf32> {aggregation = 0 : i32, path = "p", synchronization = 0 : i32}
// CHECK-NEXT: device.scalar "lr"
// CHECK-NEXT: device.entry @k takes <reads [32] writes [32] in_place [] dynamic [] scratch 0 registers 0> grid 2 flops 8 bytes 64
// CHECK-NEXT: device.entry @same code "k" takes
// CHECK-NEXT: device.binary @b
// CHECK-NEXT: device.program @p
// CHECK-NOT: replica.strategy
module @kinds attributes {mhlo.num_partitions = 1 : i32} {
  device.program @p role "worker" replica 0 shared 0 input 0 registers 0 channels 0 {
    device.return
  }
  device.binary @b target "x86-64-v3" {object = dense<1> : tensor<4xi8>}
  device.kernel private @k(%a: tensor<8xf32>) -> tensor<8xf32> attributes {grid = 2 : i64, flops = 8 : i64, bytes = 64 : i64, scratch = 0 : i64} {
    device.yield %a : tensor<8xf32>
  }
  device.kernel private @same(%a: tensor<8xf32>) -> tensor<8xf32> attributes {code = "k", grid = 2 : i64} {
    device.yield %a : tensor<8xf32>
  }
  replica.strategy @strategy {kind = #replica.kind<mirrored>, replicas = 3 : i64}
  device.scalar "lr"[0] : tensor<f32>
  device.variable @w variable[0] : tensor<4xf32> {synchronization = 0 : i32, aggregation = 0 : i32}
  device.variable @other variable[64] : tensor<4xf32> {synchronization = 0 : i32, aggregation = 0 : i32, path = "p"}
  collective.group @all
}

// -----

// A block without commands is erased, and a block that only follows another one is merged into it. Slices come first.
// CHECK-LABEL: module @blocks
// CHECK:      %[[C:.*]] = device.slice
// CHECK-NEXT: device.slice replica[4]
// CHECK-NEXT: device.set_register 0 to 1
// CHECK-NEXT: device.branch_unless %[[C]] ^bb2 else ^bb1
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: device.set_register 0 to 2
// CHECK-NEXT: device.jump ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: device.return
module @blocks attributes {device.replicas = 1 : i64} {
  device.program @p role "worker" replica 64 shared 0 input 0 registers 1 channels 0 {
    %c = device.slice replica[0] : <tensor<i1>>
    device.jump ^first
  ^first:
    device.set_register 0 to 1
    %late = device.slice replica[4] : <tensor<i32>>
    device.branch_unless %c ^otherwise else ^then : <tensor<i1>>
  ^then:
    device.set_register 0 to 2
    device.jump ^exit
  ^otherwise:
    device.jump ^exit
  ^exit:
    device.return
  ^unreachable:
    device.return
  }
}

// -----

// expected-error@+1 {{expected a 'replica.strategy' with a replica count}}
module {
}
