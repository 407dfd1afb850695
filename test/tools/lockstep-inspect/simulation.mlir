// The times of a step's commands on the topology of its schedule; what its replicas wait for, and what would change that. Numbers are round: a
// kernel takes 10 us, a message 1 us plus 1 us for each 100 bytes.

// RUN: lockstep-translate --emit-artifact %s -o %t.lockstep
// RUN: lockstep-inspect %t.lockstep --show=simulation | FileCheck %s --match-full-lines --strict-whitespace
// RUN: lockstep-inspect %t.lockstep --format=json -o %t.json
// RUN: %python %S/Inputs/simulation.py %t.json

//      CHECK:simulation of 'step' on 'pair' (times after the start of the program)
// CHECK-NEXT:  'step' takes 52.0 us with 2 replicas on 'pair': 40.0 us in kernels, and 12.0 us waiting for collectives.
// CHECK-NEXT:  No order of these kernels and collectives takes less than 40.0 us, which is the time of the kernels alone; this one takes 1.300 times as long.
// CHECK-NEXT:  2 tensors of 2.93 KiB in 2 collectives: the link is occupied for 32.0 us, and 62.5 % of it is hidden behind kernels.
// CHECK-NEXT:  The replicas wait longest for channel 1 (500xf32 of 1.95 KiB, model.py:9): 11.0 us. Its last operand, 500xf32 for w2 (model.py:3), is ready at 20.00 us, but the link is occupied by channel 0 until 21.00 us; it takes 21.0 us, and the kernels that do not need its result end at 31.00 us.
// CHECK-NEXT:  The critical path has 20.0 us of kernels and 32.0 us of collectives; most of them are at model.py:4 (10.0 us, 19.2 %), model.py:10 (10.0 us, 19.2 %).
// CHECK-NEXT:  What would help: kernels twice as fast: 42.0 us (19.2 % less); twice the bandwidth or half the bytes: 41.0 us (21.2 % less); half the latency: 51.0 us (1.9 % less).
// CHECK-NEXT:  Another order of the same kernels and collectives can save at most 12.0 us.

//      CHECK:  channel  collective      operands     bytes  ready from        to     begin       end     time  exposed  critical  line
// CHECK-NEXT:        0  all_reduce sum         1    1000 B    10.00 us  10.00 us  10.00 us  21.00 us  11.0 us  1.00 us   11.0 us  model.py:9
// CHECK-NEXT:        1  all_reduce sum         1  1.95 KiB    20.00 us  20.00 us  21.00 us  42.00 us  21.0 us  11.0 us   21.0 us  model.py:9

//      CHECK:  kernels on the critical path  executions     time  of the step
// CHECK-NEXT:  model.py:4                             1  10.0 us       19.2 %
// CHECK-NEXT:  model.py:10                            1  10.0 us       19.2 %

//      CHECK:  with the same kernels and buckets         time  kernels  communication  exposed
// CHECK-NEXT:  on 'pair'                              52.0 us  40.0 us        32.0 us  12.0 us
// CHECK-NEXT:  kernels twice as fast                  42.0 us  20.0 us        32.0 us  22.0 us
// CHECK-NEXT:  twice the bandwidth or half the bytes  41.0 us  40.0 us        17.0 us  1.00 us
// CHECK-NEXT:  half the latency                       51.0 us  40.0 us        31.0 us  11.0 us
// CHECK-NEXT:  on 'host' {{.*}}
// CHECK-NEXT:  on 'ethernet-25g' {{.*}}
// CHECK-NEXT:  on 'ethernet-100g' {{.*}}
// CHECK-NEXT:  on 'dgx-h100' {{.*}}
// CHECK-NEXT:  on 'torus-3d' {{.*}}
module @simulation attributes {device.replicas = 2 : i64, device.topology = "{\22name\22: \22pair\22, \22compute\22: {\22flops_per_second\22: 1e9, \22bytes_per_second\22: 1e12, \22launch_seconds\22: 1e-6}, \22reduces_on_compute\22: false, \22algorithm\22: \22direct\22, \22levels\22: [{\22name\22: \22link\22, \22latency_seconds\22: 1e-6, \22bytes_per_second\22: 1e8}]}"} {
  collective.group @all
  device.variable @w1 variable[0] : tensor<250xf32> {synchronization = 0 : i32, aggregation = 0 : i32}
  device.variable @w2 variable[1024] : tensor<500xf32> {synchronization = 0 : i32, aggregation = 0 : i32}
  device.entry @backward1 grid 1 flops 9000 bytes 0
  device.entry @backward2 grid 1 flops 9000 bytes 0
  device.entry @update grid 1 flops 9000 bytes 0
  device.binary @x86_64_v3 target "x86-64-v3" {object = dense<0> : tensor<4xi8>}
  device.program @step role "worker" replica 4096 shared 4096 input 64 registers 0 channels 4 {
    %x = device.slice input[0] "x" : <tensor<4xf32>>
    %w1 = device.slice variable[0] : <tensor<250xf32>>
    %w2 = device.slice variable[1024] : <tensor<500xf32>>
    %g1 = device.slice replica[0] : <tensor<250xf32>>
    %g2 = device.slice replica[1024] : <tensor<500xf32>>
    %s1 = device.slice shared[0] : <tensor<250xf32>>
    %s2 = device.slice shared[1024] : <tensor<500xf32>>
    device.launch @backward1 reads(%x, %w1 : !device.buffer<tensor<4xf32>>, !device.buffer<tensor<250xf32>>) writes(%g1 : !device.buffer<tensor<250xf32>>) loc("model.py":4:1)
    device.start all_reduce sum @all channel 0 (%g1 : !device.buffer<tensor<250xf32>>) to (%s1 : !device.buffer<tensor<250xf32>>) loc("model.py":9:1)
    device.launch @backward2 reads(%x, %w2 : !device.buffer<tensor<4xf32>>, !device.buffer<tensor<500xf32>>) writes(%g2 : !device.buffer<tensor<500xf32>>) loc("model.py":3:1)
    device.start all_reduce sum @all channel 1 (%g2 : !device.buffer<tensor<500xf32>>) to (%s2 : !device.buffer<tensor<500xf32>>) loc("model.py":9:1)
    device.wait channel 0 loc("model.py":9:1)
    device.once channel 2 {
      device.launch @update reads(%s1, %w1 : !device.buffer<tensor<250xf32>>, !device.buffer<tensor<250xf32>>) writes(%w1 : !device.buffer<tensor<250xf32>>) loc("model.py":10:1)
    } loc("model.py":10:1)
    device.wait channel 1 loc("model.py":9:1)
    device.once channel 3 {
      device.launch @update reads(%s2, %w2 : !device.buffer<tensor<500xf32>>, !device.buffer<tensor<500xf32>>) writes(%w2 : !device.buffer<tensor<500xf32>>) loc("model.py":10:1)
    } loc("model.py":10:1)
    device.return loc(unknown)
  }
  device.remark "bucket" "missed" "all_reduce sum of 500xf32 (1.95 KiB) begins a new bucket: it is ready at 20.0 us" in "step" loc("model.py":9:1)
  device.remark "schedule" "passed" "all_reduce sum of 250xf32 (1000 B) starts at 1 of 4 kernels" in "step" loc("model.py":9:1)
  device.remark "schedule" "missed" "all_reduce sum of 500xf32 (1.95 KiB) starts at 2 of 4 kernels" in "step" loc("model.py":9:1)
  device.remark "schedule" "analysis" "its bucket waits for the last member" in "step" loc("model.py":9:1)
}
