// RUN: lockstep-translate --emit-artifact %s -o %t.lockstep
// RUN: lockstep-inspect %t.lockstep --show=summary,schedule,collectives,memory | FileCheck %s --match-full-lines --strict-whitespace

// Two collectives in flight at once, a loop, a once section, a barrier: lanes, loops, peaks, and kernels between start and wait.

//      CHECK:program 'step' (role worker)
// CHECK-NEXT:  memory         a replica: 256 B (peak 48 B at command 9), inputs 64 B; a process: 128 B (peak 32 B at command 10)
// CHECK-NEXT:  kernels        5 launches, 40 flops, 320 B read and written
// CHECK-NEXT:  communication  3 collectives, 32 B a replica; 1 with kernels between start and wait
// CHECK-NEXT:  copies         1, 16 B
// CHECK-NEXT:  once sections  1
// CHECK-NEXT:  loop           commands 5 to 8, 3 times
// CHECK-NEXT:  input          x : 4xf32
// CHECK-NEXT:  output         metric loss : 4xf32

//      CHECK:collectives of 'step' (bytes: of each replica; kernels between: what it can hide behind)
// CHECK-NEXT:  channel  collective      group  operands  bytes  start  wait  kernels between  flops  of all  bucket    line
// CHECK-NEXT:        0  all_reduce sum  all           1   16 B  4      11    1                   24    60 %            model.py:5
// CHECK-NEXT:        1  all_reduce max  all           1   16 B  10     12    none: exposed        0     0 %  1 copied  model.py:6
// CHECK-NEXT:        2  barrier         all           0    0 B  13                                0     0 %

//      CHECK:operands of the collectives of 'step' (ready: the command that writes it)
// CHECK-NEXT:  channel  operand  type   bytes  memory   offset  ready  by          line
// CHECK-NEXT:        0       %1  4xf32   16 B  replica       0      0  launch add  model.py:4
// CHECK-NEXT:        1       %2  4xf32   16 B  replica      64      9  copy

//      CHECK:  pc      command                         buffers     flops  bytes  line
// CHECK-NEXT:   0      launch add                      %0 %3 > %1      8   64 B  model.py:4
// CHECK-NEXT:   1      set_register 0 to 0
// CHECK-NEXT:   2      set_register 1 to 6
// CHECK-NEXT:   3      set_register 2 to 2
// CHECK-NEXT:   4  ┌   start all_reduce sum channel 0  %1 > %4             16 B  model.py:5
// CHECK-NEXT:   5  │   branch_ge 0, 1 to 9
// CHECK-NEXT:   6  │     launch add registers 0        %0 %3 > %5      8   64 B
// CHECK-NEXT:   7  │     add_register 0, 2
// CHECK-NEXT:   8  │     jump to 5
// CHECK-NEXT:   9  │   copy                            %5 > %2             16 B
// CHECK-NEXT:  10  │┌  start all_reduce max channel 1  %2 > %6             16 B  model.py:6
// CHECK-NEXT:  11  └│  wait channel 0                                            model.py:5
// CHECK-NEXT:  12   └  wait channel 1                                            model.py:6
// CHECK-NEXT:  13      barrier all channel 2
// CHECK-NEXT:  14      once channel 3                                            model.py:7
// CHECK-NEXT:  15        launch add                    %4 %6 > %3      8   64 B  model.py:7
// CHECK-NEXT:  16      end_once                                                  model.py:7
// CHECK-NEXT:  17      return
module @schedule attributes {device.replicas = 2 : i64} {
  collective.group @all
  device.variable @w variable[0] : tensor<4xf32> {synchronization = 0 : i32, aggregation = 0 : i32}
  device.entry @add grid 1 flops 8 bytes 64
  device.binary @x86_64_v3 target "x86-64-v3" {object = dense<0> : tensor<4xi8>}
  device.program @step role "worker" replica 256 shared 128 input 64 registers 3 channels 4 {
    %x = device.slice input[0] "x" : <tensor<4xf32>>
    %g = device.slice replica[0] : <tensor<4xf32>>
    %h = device.slice replica[64] : <tensor<4xf32>>
    %w = device.slice variable[0] : <tensor<4xf32>>
    %s = device.slice shared[0] : <tensor<4xf32>>
    %t = device.slice replica[128] : <tensor<4xf32>>
    %m = device.slice shared[64] : <tensor<4xf32>>
    device.launch @add reads(%x, %w : !device.buffer<tensor<4xf32>>, !device.buffer<tensor<4xf32>>) writes(%g : !device.buffer<tensor<4xf32>>) loc("model.py":4:1)
    device.set_register 0 to 0 loc(unknown)
    device.set_register 1 to 6 loc(unknown)
    device.set_register 2 to 2 loc(unknown)
    device.start all_reduce sum @all channel 0 (%g : !device.buffer<tensor<4xf32>>) to (%s : !device.buffer<tensor<4xf32>>) loc("model.py":5:1)
    device.jump ^head
  ^head:
    device.branch_ge 0, 1 ^exit else ^body loc(unknown)
  ^body:
    device.launch @add reads(%x, %w : !device.buffer<tensor<4xf32>>, !device.buffer<tensor<4xf32>>) writes(%t : !device.buffer<tensor<4xf32>>)
        {registers = array<i64: 0>} loc(unknown)
    device.add_register 0, 2 loc(unknown)
    device.jump ^head loc(unknown)
  ^exit:
    device.copy %t to %h : <tensor<4xf32>> loc(unknown)
    device.start all_reduce max @all channel 1 (%h : !device.buffer<tensor<4xf32>>) to (%m : !device.buffer<tensor<4xf32>>) loc("model.py":6:1)
    device.wait channel 0 loc("model.py":5:1)
    device.wait channel 1 loc("model.py":6:1)
    device.barrier @all channel 2 loc(unknown)
    device.once channel 3 {
      device.launch @add reads(%s, %m : !device.buffer<tensor<4xf32>>, !device.buffer<tensor<4xf32>>) writes(%w : !device.buffer<tensor<4xf32>>) loc("model.py":7:1)
    } loc("model.py":7:1)
    device.output <metric "loss"> %m : <tensor<4xf32>>
    device.return loc(unknown)
  }
}
