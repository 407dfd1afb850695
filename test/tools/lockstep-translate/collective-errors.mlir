// Collectives that no runtime can execute are errors at their line when an artifact is written, not when it is loaded.

// RUN: split-file %s %t
// RUN: not lockstep-translate --emit-artifact %t/root.mlir -o %t.lockstep 2>&1 | FileCheck %s --check-prefix=ROOT
// RUN: not lockstep-translate --emit-artifact %t/dynamic.mlir -o %t.lockstep 2>&1 | FileCheck %t/dynamic.mlir --check-prefix=DYNAMIC

//--- root.mlir
// ROOT: error: expected a root among the ranks of group 'all', found 2
module attributes {device.replicas = 2 : i64} {
  collective.group @all
  device.program @step role "worker" replica 64 shared 0 input 0 registers 0 channels 1 {
    %0 = device.slice replica[0] : <tensor<4xf32>>
    %1 = device.slice replica[16] : <tensor<4xf32>>
    device.start broadcast none @all channel 0 (%0 : !device.buffer<tensor<4xf32>>) to(%1 : !device.buffer<tensor<4xf32>>) {root = 2 : i64}
    device.wait channel 0
    device.return
  }
}

//--- dynamic.mlir
// DYNAMIC: dynamic.mlir:[[#@LINE+6]]:{{[0-9]+}}: error: expected operands of static shape for kind 'all_to_all', found 'tensor<?xf32>'
module attributes {device.replicas = 2 : i64} {
  collective.group @all
  device.program @step role "worker" replica 128 shared 0 input 0 registers 1 channels 1 {
    %0 = device.slice replica[0] {size_registers = array<i64: 0>, bound = 32 : i64} : !device.buffer<tensor<?xf32>>
    %1 = device.slice replica[64] {size_registers = array<i64: 0>, bound = 32 : i64} : !device.buffer<tensor<?xf32>>
    device.start all_to_all none @all channel 0 (%0 : !device.buffer<tensor<?xf32>>) to(%1 : !device.buffer<tensor<?xf32>>)
    device.wait channel 0
    device.return
  }
}
