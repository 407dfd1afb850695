// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(order-kernels))" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(order-kernels))" --split-input-file \
// RUN:   --remark-format=emitRemark --remarks-filter=bucket -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The link has a latency of 1 s and sends an f32 per second; @slow takes 100 s, @fast 50 s. The large gradient is not the last one: it is exchanged
// while @fast computes the small one.
// REMARK:      g.py:2:1: remark: [Passed] KernelOrder | Category:bucket | Function=backward |
// REMARK-SAME: 1 kernel executed after others that were written later: @fast (g.py:2); the step ends at 268 s instead of 315 s, and the exchange at 268 s instead of 315 s; it ends in no order before 267 s
// CHECK-LABEL: func.func @backward(
// CHECK:         %[[DX:.*]] = device.invoke @slow
// CHECK:         %[[DW1:.*]] = device.invoke @slow(%[[DX]])
// CHECK:         collective.start all_reduce sum @all(%[[DW1]] : tensor<64xf32>)
// CHECK:         %[[DW2:.*]] = device.invoke @fast
// CHECK:         collective.start all_reduce sum @all(%[[DW2]] : tensor<2xf32>)
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 5.12, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 4}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<64xf32>) -> tensor<64xf32> {
  device.yield %x : tensor<64xf32>
}
device.kernel @fast(%x: tensor<62xf32>) -> tensor<2xf32> {
  %y = tensor.extract_slice %x[0] [2] [1] : tensor<62xf32> to tensor<2xf32>
  device.yield %y : tensor<2xf32>
}
collective.group @all
func.func @backward(%dy: tensor<64xf32>, %x: tensor<62xf32>) -> (tensor<64xf32>, tensor<2xf32>) {
  %dw2 = device.invoke @fast(%x) : (tensor<62xf32>) -> tensor<2xf32> loc("g.py":2:1)
  %h2 = collective.start all_reduce sum @all (%dw2 : tensor<2xf32>) -> <tensor<2xf32>>
  %dx = device.invoke @slow(%dy) : (tensor<64xf32>) -> tensor<64xf32>
  %dw1 = device.invoke @slow(%dx) : (tensor<64xf32>) -> tensor<64xf32>
  %h1 = collective.start all_reduce sum @all (%dw1 : tensor<64xf32>) -> <tensor<64xf32>>
  %r1 = collective.wait %h1 (%dw1 : tensor<64xf32>) : <tensor<64xf32>> -> tensor<64xf32>
  %r2 = collective.wait %h2 (%dw2 : tensor<2xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  return %r1, %r2 : tensor<64xf32>, tensor<2xf32>
}
}

// -----

// No collective moves before or behind a barrier.
// REMARK:      b.py:2:1: remark: [Analysis] KernelOrder | Category:bucket | Function=barrier |
// REMARK-SAME: kernels keep their order, in which the exchange ends at 216 s; it ends in no order before 167 s
// CHECK-LABEL: func.func @barrier(
// CHECK:         device.invoke @fast
// CHECK:         collective.start
// CHECK:         collective.barrier
// CHECK:         device.invoke @slow
// CHECK:         collective.start
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 5.12, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 4}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<64xf32>) -> tensor<64xf32> {
  device.yield %x : tensor<64xf32>
}
device.kernel @fast(%x: tensor<62xf32>) -> tensor<2xf32> {
  %y = tensor.extract_slice %x[0] [2] [1] : tensor<62xf32> to tensor<2xf32>
  device.yield %y : tensor<2xf32>
}
collective.group @all
func.func @barrier(%dy: tensor<64xf32>, %x: tensor<62xf32>) -> (tensor<64xf32>, tensor<2xf32>) {
  %dw2 = device.invoke @fast(%x) : (tensor<62xf32>) -> tensor<2xf32>
  %h2 = collective.start all_reduce sum @all (%dw2 : tensor<2xf32>) -> <tensor<2xf32>> loc("b.py":2:1)
  collective.barrier @all
  %dw1 = device.invoke @slow(%dy) : (tensor<64xf32>) -> tensor<64xf32>
  %h1 = collective.start all_reduce sum @all (%dw1 : tensor<64xf32>) -> <tensor<64xf32>>
  %r1 = collective.wait %h1 (%dw1 : tensor<64xf32>) : <tensor<64xf32>> -> tensor<64xf32>
  %r2 = collective.wait %h2 (%dw2 : tensor<2xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  return %r1, %r2 : tensor<64xf32>, tensor<2xf32>
}
}

// -----

// The large gradient is the first one already.
// REMARK:      k.py:1:1: remark: [Analysis] KernelOrder | Category:bucket | Function=kept |
// REMARK-SAME: kernels keep their order, in which the exchange ends at 168 s; it ends in no order before 167 s
// CHECK-LABEL: func.func @kept(
// CHECK:         device.invoke @slow
// CHECK:         device.invoke @fast
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 5.12, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 4}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<64xf32>) -> tensor<64xf32> {
  device.yield %x : tensor<64xf32>
}
device.kernel @fast(%x: tensor<62xf32>) -> tensor<2xf32> {
  %y = tensor.extract_slice %x[0] [2] [1] : tensor<62xf32> to tensor<2xf32>
  device.yield %y : tensor<2xf32>
}
collective.group @all
func.func @kept(%dy: tensor<64xf32>, %x: tensor<62xf32>) -> (tensor<64xf32>, tensor<2xf32>) {
  %dw1 = device.invoke @slow(%dy) : (tensor<64xf32>) -> tensor<64xf32>
  %h1 = collective.start all_reduce sum @all (%dw1 : tensor<64xf32>) -> <tensor<64xf32>> loc("k.py":1:1)
  %dw2 = device.invoke @fast(%x) : (tensor<62xf32>) -> tensor<2xf32>
  %h2 = collective.start all_reduce sum @all (%dw2 : tensor<2xf32>) -> <tensor<2xf32>>
  %r1 = collective.wait %h1 (%dw1 : tensor<64xf32>) : <tensor<64xf32>> -> tensor<64xf32>
  %r2 = collective.wait %h2 (%dw2 : tensor<2xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  return %r1, %r2 : tensor<64xf32>, tensor<2xf32>
}
}

// -----

// The last kernel, of whose results nothing is exchanged, hides all of it.
// REMARK-NOT: Function=hidden
// CHECK-LABEL: func.func @hidden(
// CHECK:         device.invoke @fast
// CHECK:         device.invoke @slow
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 5.12, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 4}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<64xf32>) -> tensor<64xf32> {
  device.yield %x : tensor<64xf32>
}
device.kernel @fast(%x: tensor<62xf32>) -> tensor<2xf32> {
  %y = tensor.extract_slice %x[0] [2] [1] : tensor<62xf32> to tensor<2xf32>
  device.yield %y : tensor<2xf32>
}
collective.group @all
func.func @hidden(%dy: tensor<64xf32>, %x: tensor<62xf32>) -> (tensor<64xf32>, tensor<2xf32>, tensor<64xf32>) {
  %dw2 = device.invoke @fast(%x) : (tensor<62xf32>) -> tensor<2xf32>
  %h2 = collective.start all_reduce sum @all (%dw2 : tensor<2xf32>) -> <tensor<2xf32>>
  %dw1 = device.invoke @slow(%dy) : (tensor<64xf32>) -> tensor<64xf32>
  %h1 = collective.start all_reduce sum @all (%dw1 : tensor<64xf32>) -> <tensor<64xf32>>
  %y = device.invoke @slow(%dy) : (tensor<64xf32>) -> tensor<64xf32>
  %r1 = collective.wait %h1 (%dw1 : tensor<64xf32>) : <tensor<64xf32>> -> tensor<64xf32>
  %r2 = collective.wait %h2 (%dw2 : tensor<2xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  return %r1, %r2, %y : tensor<64xf32>, tensor<2xf32>, tensor<64xf32>
}
}

// -----

// On the host, the default topology, kernels hide nothing.
// REMARK-NOT: Function=host
// CHECK-LABEL: func.func @host(
// CHECK:         device.invoke @fast
// CHECK:         device.invoke @slow
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<64xf32>) -> tensor<64xf32> {
  device.yield %x : tensor<64xf32>
}
device.kernel @fast(%x: tensor<62xf32>) -> tensor<2xf32> {
  %y = tensor.extract_slice %x[0] [2] [1] : tensor<62xf32> to tensor<2xf32>
  device.yield %y : tensor<2xf32>
}
collective.group @all
func.func @host(%dy: tensor<64xf32>, %x: tensor<62xf32>) -> (tensor<64xf32>, tensor<2xf32>) {
  %dw2 = device.invoke @fast(%x) : (tensor<62xf32>) -> tensor<2xf32>
  %h2 = collective.start all_reduce sum @all (%dw2 : tensor<2xf32>) -> <tensor<2xf32>>
  %dw1 = device.invoke @slow(%dy) : (tensor<64xf32>) -> tensor<64xf32>
  %h1 = collective.start all_reduce sum @all (%dw1 : tensor<64xf32>) -> <tensor<64xf32>>
  %r1 = collective.wait %h1 (%dw1 : tensor<64xf32>) : <tensor<64xf32>> -> tensor<64xf32>
  %r2 = collective.wait %h2 (%dw2 : tensor<2xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  return %r1, %r2 : tensor<64xf32>, tensor<2xf32>
}

// -----

// Two variables are gathered, in the order in which a metric and a kernel need them; only the kernel is followed by an exchange. Started in the order in
// which kernels need them, the second one does not wait for the first.
// REMARK:      a.py:1:1: remark: [Passed] KernelOrder | Category:bucket | Function=gathers |
// REMARK-SAME: 1 exchange started after others that were written later: all_gather of 32xf32 (128 B) (a.py:1); the step ends at 182 s instead of 214 s, and the exchange at 85.0 s instead of 118 s; it ends in no order before 66.0 s
// CHECK-LABEL: func.func @gathers(
// CHECK:         collective.start all_gather none @all axis 0(%{{.*}} : tensor<31xf32>)
// CHECK:         collective.start all_gather none @all axis 0(%{{.*}} : tensor<32xf32>)
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 5.12, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 4}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<64xf32>) -> tensor<64xf32> {
  device.yield %x : tensor<64xf32>
}
device.kernel @fast(%x: tensor<62xf32>) -> tensor<2xf32> {
  %y = tensor.extract_slice %x[0] [2] [1] : tensor<62xf32> to tensor<2xf32>
  device.yield %y : tensor<2xf32>
}
collective.group @all
func.func @gathers(%a: tensor<32xf32>, %b: tensor<31xf32>) -> (tensor<64xf32>, tensor<2xf32>) {
  %ha = collective.start all_gather none @all axis 0 (%a : tensor<32xf32>) -> <tensor<64xf32>> loc("a.py":1:1)
  %hb = collective.start all_gather none @all axis 0 (%b : tensor<31xf32>) -> <tensor<62xf32>> loc("a.py":2:1)
  %wb = collective.wait %hb (%b : tensor<31xf32>) : <tensor<62xf32>> -> tensor<62xf32>
  %g = device.invoke @fast(%wb) : (tensor<62xf32>) -> tensor<2xf32>
  %h = collective.start all_reduce sum @all (%g : tensor<2xf32>) -> <tensor<2xf32>>
  %wa = collective.wait %ha (%a : tensor<32xf32>) : <tensor<64xf32>> -> tensor<64xf32>
  %m = device.invoke @slow(%wa) : (tensor<64xf32>) -> tensor<64xf32>
  %r = collective.wait %h (%g : tensor<2xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  return %m, %r : tensor<64xf32>, tensor<2xf32>
}
}

// -----

// What is sent alone occupies the link, too, but only while @slow computes the large gradient.
// REMARK:      p.py:1:1: remark: [Passed] KernelOrder | Category:bucket | Function=alone |
// REMARK-SAME: 1 kernel executed after others that were written later: @fast (p.py:1); the step ends at 168 s instead of 215 s, and the exchange at 168 s instead of 215 s; it ends in no order before 167 s
// CHECK-LABEL: func.func @alone(
// CHECK:         collective.start permute
// CHECK:         device.invoke @slow
// CHECK:         device.invoke @fast
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 5.12, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 4}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<64xf32>) -> tensor<64xf32> {
  device.yield %x : tensor<64xf32>
}
device.kernel @fast(%x: tensor<62xf32>) -> tensor<2xf32> {
  %y = tensor.extract_slice %x[0] [2] [1] : tensor<62xf32> to tensor<2xf32>
  device.yield %y : tensor<2xf32>
}
collective.group @all
func.func @alone(%dy: tensor<64xf32>, %x: tensor<62xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<2xf32>) {
  %h0 = collective.start permute none @all (%dy : tensor<64xf32>) {sources = array<i64: 1, 0>} -> <tensor<64xf32>>
  %dw2 = device.invoke @fast(%x) : (tensor<62xf32>) -> tensor<2xf32> loc("p.py":1:1)
  %h2 = collective.start all_reduce sum @all (%dw2 : tensor<2xf32>) -> <tensor<2xf32>>
  %dw1 = device.invoke @slow(%dy) : (tensor<64xf32>) -> tensor<64xf32>
  %h1 = collective.start all_reduce sum @all (%dw1 : tensor<64xf32>) -> <tensor<64xf32>>
  %r0 = collective.wait %h0 (%dy : tensor<64xf32>) : <tensor<64xf32>> -> tensor<64xf32>
  %r1 = collective.wait %h1 (%dw1 : tensor<64xf32>) : <tensor<64xf32>> -> tensor<64xf32>
  %r2 = collective.wait %h2 (%dw2 : tensor<2xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  return %r0, %r1, %r2 : tensor<64xf32>, tensor<64xf32>, tensor<2xf32>
}
}

// -----

// A loop that communicates is not modelled beside kernels: nothing moves.
// REMARK-NOT: Function=loop
// CHECK-LABEL: func.func @loop(
// CHECK:         device.invoke @fast
// CHECK:         scf.for
// CHECK:         device.invoke @slow
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 5.12, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 4}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<64xf32>) -> tensor<64xf32> {
  device.yield %x : tensor<64xf32>
}
device.kernel @fast(%x: tensor<62xf32>) -> tensor<2xf32> {
  %y = tensor.extract_slice %x[0] [2] [1] : tensor<62xf32> to tensor<2xf32>
  device.yield %y : tensor<2xf32>
}
collective.group @all
func.func @loop(%dy: tensor<64xf32>, %x: tensor<62xf32>) -> (tensor<64xf32>, tensor<2xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %dw2 = device.invoke @fast(%x) : (tensor<62xf32>) -> tensor<2xf32>
  %h2 = collective.start all_reduce sum @all (%dw2 : tensor<2xf32>) -> <tensor<2xf32>>
  %y = scf.for %i = %zero to %one step %one iter_args(%v = %dy) -> (tensor<64xf32>) {
    %h = collective.start all_reduce sum @all (%v : tensor<64xf32>) -> <tensor<64xf32>>
    %r = collective.wait %h (%v : tensor<64xf32>) : <tensor<64xf32>> -> tensor<64xf32>
    scf.yield %r : tensor<64xf32>
  }
  %dw1 = device.invoke @slow(%dy) : (tensor<64xf32>) -> tensor<64xf32>
  %h1 = collective.start all_reduce sum @all (%dw1 : tensor<64xf32>) -> <tensor<64xf32>>
  %r1 = collective.wait %h1 (%dw1 : tensor<64xf32>) : <tensor<64xf32>> -> tensor<64xf32>
  %s = device.invoke @slow(%y) : (tensor<64xf32>) -> tensor<64xf32>
  %r2 = collective.wait %h2 (%dw2 : tensor<2xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  return %r1, %r2 : tensor<64xf32>, tensor<2xf32>
}
}
