// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(bucket-collectives{plan}))" --split-input-file | FileCheck %s
// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(bucket-collectives{plan}))" --split-input-file \
// RUN:   --remark-format=emitRemark --remarks-filter=bucket -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The link has a latency of 1 s and sends 1 byte per second; the kernel takes 100 s. The first collective is exchanged during @slow. The third
// starts directly after the second and would wait for the link, so both are merged.
// REMARK:      g.py:1:1: remark: [Analysis] Plan | Category:bucket | Function=overlap |
// REMARK-SAME: 3 collectives, 24 B on the link, in 2 buckets for 'line': operands are ready from 0.00 us to 100 s, the exchange ends at 121 s; no plan ends before 121 s
// REMARK:      g.py:2:1: remark: [Missed] NotMerged | Category:bucket | Function=overlap |
// REMARK-SAME: all_reduce sum of 4xf32 (16 B) begins a new bucket: it is ready at 100 s, and the 4 B before it are sent from 0.00 us to 5.00 s
// CHECK-LABEL: func.func @overlap(
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<1xf32>)
// CHECK: collective.start all_reduce sum @all(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<1xf32>)
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 0.32, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 1}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<4xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
collective.group @all
func.func @overlap(%x: tensor<4xf32>, %one: tensor<1xf32>) -> (tensor<1xf32>, tensor<4xf32>, tensor<1xf32>) {
  %h0 = collective.start all_reduce sum @all (%one : tensor<1xf32>) -> <tensor<1xf32>> loc("g.py":1:1)
  %r0 = collective.wait %h0 (%one : tensor<1xf32>) : <tensor<1xf32>> -> tensor<1xf32>
  %g = device.invoke @slow(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %h1 = collective.start all_reduce sum @all (%g : tensor<4xf32>) -> <tensor<4xf32>> loc("g.py":2:1)
  %r1 = collective.wait %h1 (%g : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  %h2 = collective.start all_reduce sum @all (%one : tensor<1xf32>) -> <tensor<1xf32>> loc("g.py":3:1)
  %r2 = collective.wait %h2 (%one : tensor<1xf32>) : <tensor<1xf32>> -> tensor<1xf32>
  return %r0, %r1, %r2 : tensor<1xf32>, tensor<4xf32>, tensor<1xf32>
}
}

// -----

// With two streams, the latency of the second collective passes while the first one is sent: its bytes follow those at 5 s, and not at 6 s.
// REMARK:      s.py:1:1: remark: [Analysis] Plan | Category:bucket | Function=streams |
// REMARK-SAME: 2 collectives, 20 B on the link, in 2 buckets for 'line': operands are ready from 0.00 us to 2.00 s, the exchange ends at 21.0 s; no plan ends before 21.0 s
// REMARK:      s.py:2:1: remark: [Missed] NotMerged | Category:bucket | Function=streams |
// REMARK-SAME: all_reduce sum of 4xf32 (16 B) begins a new bucket: it is ready at 2.00 s, and the 4 B before it are sent from 0.00 us to 5.00 s
// CHECK-LABEL: func.func @streams(
// CHECK-COUNT-2: collective.start
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 16, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"streams\": 2, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 1}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<4xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
collective.group @all
func.func @streams(%x: tensor<4xf32>, %one: tensor<1xf32>) -> (tensor<1xf32>, tensor<4xf32>) {
  %h0 = collective.start all_reduce sum @all (%one : tensor<1xf32>) -> <tensor<1xf32>> loc("s.py":1:1)
  %r0 = collective.wait %h0 (%one : tensor<1xf32>) : <tensor<1xf32>> -> tensor<1xf32>
  %g = device.invoke @slow(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %h1 = collective.start all_reduce sum @all (%g : tensor<4xf32>) -> <tensor<4xf32>> loc("s.py":2:1)
  %r1 = collective.wait %h1 (%g : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  return %r0, %r1 : tensor<1xf32>, tensor<4xf32>
}
}

// -----

// On the host, which is the default topology, kernels hide no exchange: there is one bucket, as long as it fits in the cache of a core.
// CHECK-LABEL: func.func @host(
// CHECK: collective.start all_reduce sum @all(%{{.*}}, %{{.*}} : tensor<1xf32>, tensor<4xf32>)
// CHECK-NOT: collective.start
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<4xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
collective.group @all
func.func @host(%x: tensor<4xf32>, %one: tensor<1xf32>) -> (tensor<1xf32>, tensor<4xf32>) {
  %h0 = collective.start all_reduce sum @all (%one : tensor<1xf32>) -> <tensor<1xf32>>
  %r0 = collective.wait %h0 (%one : tensor<1xf32>) : <tensor<1xf32>> -> tensor<1xf32>
  %g = device.invoke @slow(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %h1 = collective.start all_reduce sum @all (%g : tensor<4xf32>) -> <tensor<4xf32>>
  %r1 = collective.wait %h1 (%g : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  return %r0, %r1 : tensor<1xf32>, tensor<4xf32>
}

// -----

// REMARK:      h.py:2:1: remark: [Missed] NotMerged | Category:bucket | Function=cache |
// REMARK-SAME: begins a new bucket: with the 800 KiB before it would exceed the cache of a core, 1.00 MiB
// CHECK-LABEL: func.func @cache(
// CHECK-COUNT-2: collective.start
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
collective.group @all
func.func @cache(%x: tensor<204800xf32>) -> (tensor<204800xf32>, tensor<204800xf32>) {
  %h0 = collective.start all_reduce sum @all (%x : tensor<204800xf32>) -> <tensor<204800xf32>> loc("h.py":1:1)
  %r0 = collective.wait %h0 (%x : tensor<204800xf32>) : <tensor<204800xf32>> -> tensor<204800xf32>
  %h1 = collective.start all_reduce sum @all (%x : tensor<204800xf32>) -> <tensor<204800xf32>> loc("h.py":2:1)
  %r1 = collective.wait %h1 (%x : tensor<204800xf32>) : <tensor<204800xf32>> -> tensor<204800xf32>
  return %r0, %r1 : tensor<204800xf32>, tensor<204800xf32>
}

// -----

// bf16 is reduced and sent as f32: 32 bytes on the link for 16 bytes of operands.
// REMARK:      Category:bucket | Function=narrow |
// REMARK-SAME: 2 collectives, 32 B on the link, in 1 bucket for 'line': operands are ready from 0.00 us to 0.00 us, the exchange ends at 33.0 s
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 1, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 1}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
collective.group @all
func.func @narrow(%x: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xbf16>) {
  %h0 = collective.start all_reduce sum @all (%x : tensor<4xbf16>) -> <tensor<4xbf16>>
  %r0 = collective.wait %h0 (%x : tensor<4xbf16>) : <tensor<4xbf16>> -> tensor<4xbf16>
  %h1 = collective.start all_reduce sum @all (%x : tensor<4xbf16>) -> <tensor<4xbf16>>
  %r1 = collective.wait %h1 (%x : tensor<4xbf16>) : <tensor<4xbf16>> -> tensor<4xbf16>
  return %r0, %r1 : tensor<4xbf16>, tensor<4xbf16>
}
}

// -----

// Gathers at the beginning of a step are all ready. The first kernel needs %a and the second, 125 s later, %b and %c, which are exchanged
// meanwhile: in one bucket, whose latency is paid once.
// REMARK:      n.py:1:1: remark: [Analysis] Plan | Category:bucket | Function=needed |
// REMARK-SAME: 3 collectives, 24 B on the link, in 2 buckets for 'line': all are ready at the same time, and needed after 0.00 us to 125 s of kernels, which wait 5.00 s for them; no plan makes them wait less than 5.00 s
// REMARK:      n.py:2:1: remark: [Missed] NotMerged | Category:bucket | Function=needed |
// REMARK-SAME: all_gather of 4xf32 (16 B) begins a new bucket: kernels need the 4 B before it, which arrive at 5.00 s, earlier
// CHECK-LABEL: func.func @needed(
// CHECK: collective.start all_gather none @all axis 0(%{{.*}} : tensor<1xf32>)
// CHECK: collective.start all_gather none @all axis 0(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<1xf32>)
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 0.32, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 1}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
device.kernel @last(%x: tensor<4xf32>, %y: tensor<8xf32>, %z: tensor<2xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
collective.group @all
func.func @needed(%x: tensor<4xf32>, %one: tensor<1xf32>) -> tensor<4xf32> {
  %ha = collective.start all_gather none @all axis 0 (%one : tensor<1xf32>) -> <tensor<2xf32>> loc("n.py":1:1)
  %a = collective.wait %ha (%one : tensor<1xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  %hb = collective.start all_gather none @all axis 0 (%x : tensor<4xf32>) -> <tensor<8xf32>> loc("n.py":2:1)
  %b = collective.wait %hb (%x : tensor<4xf32>) : <tensor<8xf32>> -> tensor<8xf32>
  %hc = collective.start all_gather none @all axis 0 (%one : tensor<1xf32>) -> <tensor<2xf32>> loc("n.py":3:1)
  %c = collective.wait %hc (%one : tensor<1xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  %g = device.invoke @slow(%x, %a) : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  %flat = tensor.expand_shape %b [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %same = tensor.collapse_shape %flat [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %n = device.invoke @last(%g, %same, %c) : (tensor<4xf32>, tensor<8xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %n : tensor<4xf32>
}
}

// -----

// The mean is needed for what the last collective sends: it does not wait for the gradient that is computed meanwhile.
// REMARK:      n.py:2:1: remark: [Missed] NotMerged | Category:bucket | Function=needed |
// REMARK-SAME: begins a new bucket: it is ready at 100 s, and another collective depends on what is before it
// CHECK-LABEL: func.func @needed(
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<4xf32>)
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<4xf32>)
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<4xf32>)
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 0.32, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 1}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<4xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
collective.group @all
func.func @needed(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %h0 = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> <tensor<4xf32>> loc("n.py":1:1)
  %mean = collective.wait %h0 (%x : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  %g = device.invoke @slow(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %h1 = collective.start all_reduce sum @all (%g : tensor<4xf32>) -> <tensor<4xf32>> loc("n.py":2:1)
  %r1 = collective.wait %h1 (%g : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  %f = device.invoke @slow(%mean) : (tensor<4xf32>) -> tensor<4xf32>
  %h2 = collective.start all_reduce sum @all (%f : tensor<4xf32>) -> <tensor<4xf32>> loc("n.py":3:1)
  %r2 = collective.wait %h2 (%f : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  return %r1, %r2 : tensor<4xf32>, tensor<4xf32>
}
}

// -----

// Collectives of two element types share the link. A collective takes 14 s, one of two members 18 s, and the second ones are ready at 16 s. Each type alone would
// send its first one at once and end at 30 s. With both, four collectives would end at 58 s, and two at 52 s.
// REMARK:      k.py:1:1: remark: [Analysis] Plan | Category:bucket | Function=types |
// REMARK-SAME: 2 collectives, 8 B on the link, in 2 buckets for 'late': operands are ready from 0.00 us to 16.0 s, the exchange, with 2 collectives of other keys, ends at 48.0 s; no plan ends before 44.0 s
// REMARK:      k.py:3:1: remark: [Missed] NotMerged | Category:bucket | Function=types |
// REMARK-SAME: begins a new bucket: it is ready at 16.0 s, and the 4 B before it are sent from 0.00 us to 14.0 s
// REMARK:      k.py:2:1: remark: [Analysis] Plan | Category:bucket | Function=types |
// REMARK-SAME: 2 collectives, 8 B on the link, in 1 bucket for 'late': operands are ready from 0.00 us to 16.0 s, the exchange, with 2 collectives of other keys, ends at 48.0 s; no plan ends before 44.0 s
// CHECK-LABEL: func.func @types(
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<1xf32>)
// CHECK: collective.start all_reduce sum @all(%{{.*}} : tensor<1xf32>)
// CHECK: collective.start all_reduce sum @all(%{{.*}}, %{{.*}} : tensor<1xi32>, tensor<1xi32>)
#late = "{\"name\": \"late\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 2, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 10, \"bytes_per_second\": 1}]}"
module attributes {device.topology = #late} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<4xf32>) -> (tensor<1xf32>, tensor<1xi32>, tensor<2xf32>) {
  %0 = tensor.empty() : tensor<1xf32>
  %1 = tensor.empty() : tensor<1xi32>
  %2 = tensor.empty() : tensor<2xf32>
  device.yield %0, %1, %2 : tensor<1xf32>, tensor<1xi32>, tensor<2xf32>
}
collective.group @all
func.func @types(%x: tensor<4xf32>, %f: tensor<1xf32>, %i: tensor<1xi32>) -> (tensor<1xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xi32>) {
  %h0 = collective.start all_reduce sum @all (%f : tensor<1xf32>) -> <tensor<1xf32>> loc("k.py":1:1)
  %r0 = collective.wait %h0 (%f : tensor<1xf32>) : <tensor<1xf32>> -> tensor<1xf32>
  %h1 = collective.start all_reduce sum @all (%i : tensor<1xi32>) -> <tensor<1xi32>> loc("k.py":2:1)
  %r1 = collective.wait %h1 (%i : tensor<1xi32>) : <tensor<1xi32>> -> tensor<1xi32>
  %g:3 = device.invoke @slow(%x) : (tensor<4xf32>) -> (tensor<1xf32>, tensor<1xi32>, tensor<2xf32>)
  %h2 = collective.start all_reduce sum @all (%g#0 : tensor<1xf32>) -> <tensor<1xf32>> loc("k.py":3:1)
  %r2 = collective.wait %h2 (%g#0 : tensor<1xf32>) : <tensor<1xf32>> -> tensor<1xf32>
  %h3 = collective.start all_reduce sum @all (%g#1 : tensor<1xi32>) -> <tensor<1xi32>> loc("k.py":4:1)
  %r3 = collective.wait %h3 (%g#1 : tensor<1xi32>) : <tensor<1xi32>> -> tensor<1xi32>
  return %r0, %r1, %r2, %r3 : tensor<1xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xi32>
}
}

// -----

// The same on two streams: what is needed first is still alone, since its bytes are sent first.
// REMARK:      m.py:1:1: remark: [Analysis] Plan | Category:bucket | Function=needed_on_streams |
// REMARK-SAME: 3 collectives, 24 B on the link, in 2 buckets for 'line': all are ready at the same time, and needed after 0.00 us to 125 s of kernels, which wait 5.00 s for them; no plan makes them wait less than 5.00 s
// REMARK:      m.py:2:1: remark: [Missed] NotMerged | Category:bucket | Function=needed_on_streams |
// REMARK-SAME: all_gather of 4xf32 (16 B) begins a new bucket: kernels need the 4 B before it, which arrive at 5.00 s, earlier
// CHECK-LABEL: func.func @needed_on_streams(
#line = "{\"name\": \"line\", \"compute\": {\"flops_per_second\": 1, \"bytes_per_second\": 0.32, \"launch_seconds\": 1e-9}, \"reduces_on_compute\": false, \"streams\": 2, \"algorithm\": \"direct\", \"levels\": [{\"name\": \"wire\", \"latency_seconds\": 1, \"bytes_per_second\": 1}]}"
module attributes {device.topology = #line} {
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.kernel @slow(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
device.kernel @last(%x: tensor<4xf32>, %y: tensor<8xf32>, %z: tensor<2xf32>) -> tensor<4xf32> {
  device.yield %x : tensor<4xf32>
}
collective.group @all
func.func @needed_on_streams(%x: tensor<4xf32>, %one: tensor<1xf32>) -> tensor<4xf32> {
  %ha = collective.start all_gather none @all axis 0 (%one : tensor<1xf32>) -> <tensor<2xf32>> loc("m.py":1:1)
  %a = collective.wait %ha (%one : tensor<1xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  %hb = collective.start all_gather none @all axis 0 (%x : tensor<4xf32>) -> <tensor<8xf32>> loc("m.py":2:1)
  %b = collective.wait %hb (%x : tensor<4xf32>) : <tensor<8xf32>> -> tensor<8xf32>
  %hc = collective.start all_gather none @all axis 0 (%one : tensor<1xf32>) -> <tensor<2xf32>> loc("m.py":3:1)
  %c = collective.wait %hc (%one : tensor<1xf32>) : <tensor<2xf32>> -> tensor<2xf32>
  %g = device.invoke @slow(%x, %a) : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  %flat = tensor.expand_shape %b [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %same = tensor.collapse_shape %flat [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %n = device.invoke @last(%g, %same, %c) : (tensor<4xf32>, tensor<8xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %n : tensor<4xf32>
}
}
