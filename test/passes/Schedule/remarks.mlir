// RUN: lockstep-opt %s --pass-pipeline="builtin.module(func.func(schedule-collectives))" --split-input-file \
// RUN:   --remark-format=emitRemark --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

// Remarks on what a collective waits for, on what waits for it, and on the kernels that can hide it.
// CHECK: model.py:9:3: remark: [Passed] Overlapped | Category:schedule | Function=hidden |
// CHECK-SAME: all_reduce sum of 4xf32 (16 B) starts at 1 of 4 kernels, 1 earlier than written; its last operand is computed by @g (model.py:2);
// CHECK-SAME: its first use is @u (model.py:5); 2 kernels can hide it: @a, @b
device.kernel @g(tensor<4xf32>) -> tensor<4xf32>
device.kernel @a(tensor<4xf32>) -> tensor<4xf32>
device.kernel @b(tensor<4xf32>) -> tensor<4xf32>
device.kernel @u(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
collective.group @all
func.func @hidden(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) -> tensor<4xf32> {
  %g = device.invoke @g(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":2:3)
  %a = device.invoke @a(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":3:3)
  %h = collective.start all_reduce sum @all (%g : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":9:3)
  %s = collective.wait %h (%g : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %b = device.invoke @b(%a) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":4:3)
  %u = device.invoke @u(%s, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("model.py":5:3)
  return %u : tensor<4xf32>
}

// -----

// No kernel can hide it, since all later kernels need its result; some operands of its bucket are ready earlier.
// CHECK: model.py:9:3: remark: [Missed] Exposed | Category:schedule | Function=exposed |
// CHECK-SAME: all_reduce sum of 2 tensors (32 B) starts at 3 of 4 kernels; its last operand is computed by @b (model.py:4); its first use is @u (model.py:5);
// CHECK-SAME: no kernel hides it: every later kernel depends on its result
// CHECK: model.py:9:3: remark: [Analysis] BucketReadiness | Category:schedule | Function=exposed |
// CHECK-SAME: its bucket waits for the last member, 4xf32 (model.py:4): 16 B are ready earlier, the first of them 2 kernels earlier
device.kernel @g(tensor<4xf32>) -> tensor<4xf32>
device.kernel @a(tensor<4xf32>) -> tensor<4xf32>
device.kernel @b(tensor<4xf32>) -> tensor<4xf32>
device.kernel @u(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
collective.group @all
func.func @exposed(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) -> tensor<4xf32> {
  %g = device.invoke @g(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":2:3)
  %a = device.invoke @a(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":3:3)
  %b = device.invoke @b(%a) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":4:3)
  %h = collective.start all_reduce sum @all (%g, %b : tensor<4xf32>, tensor<4xf32>) -> !collective.pending<tensor<4xf32>, tensor<4xf32>> loc("model.py":9:3)
  %s:2 = collective.wait %h (%g, %b : tensor<4xf32>, tensor<4xf32>) : !collective.pending<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>
  %u = device.invoke @u(%s#0, %s#1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("model.py":5:3)
  return %u : tensor<4xf32>
}

// -----

// The second collective could start earlier, but with several roles, collectives keep their order.
// CHECK: model.py:8:3: remark: [Missed] Exposed
// CHECK: model.py:9:3: remark: [Missed] Delayed | Category:schedule | Function=delayed |
// CHECK-SAME: all_reduce sum of 4xf32 (16 B) could start 1 kernel earlier, after @g (model.py:2), but collectives keep their order,
// CHECK-SAME: and the all_reduce max of 4xf32 (16 B) before it is not ready
// CHECK: model.py:9:3: remark: [Missed] Exposed
device.kernel @g(tensor<4xf32>) -> tensor<4xf32>
device.kernel @a(tensor<4xf32>) -> tensor<4xf32>
collective.group @all
device.role @worker ranks 0 count 2
device.role @server0 ranks 2 count 1
func.func @delayed(%x: tensor<4xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<4xf32>, tensor<4xf32>) attributes {device.role = @worker} {
  %g = device.invoke @g(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":2:3)
  %a = device.invoke @a(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":3:3)
  %h0 = collective.start all_reduce max @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":8:3)
  %s0 = collective.wait %h0 (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %h1 = collective.start all_reduce sum @all (%g : tensor<4xf32>) -> !collective.pending<tensor<4xf32>> loc("model.py":9:3)
  %s1 = collective.wait %h1 (%g : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return %s0, %s1 : tensor<4xf32>, tensor<4xf32>
}
