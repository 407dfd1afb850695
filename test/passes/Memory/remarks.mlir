// RUN: lockstep-opt %s --plan-memory --remark-format=emitRemark --remarks-filter=memory -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

// Remarks on how much memory there is and why, and on each copy with its reason.
replica.strategy @strategy {kind = #replica.kind<mirrored>, replicas = 4 : i64}
replica.variable @v : tensor<16xf32> 
replica.variable @w : tensor<16xf32> 
collective.group @all
device.kernel @gradient(tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
device.kernel @momentum(tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {in_place = array<i64: 0>}
device.kernel @update(tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {in_place = array<i64: 0>}

// CHECK: model.py:1:1: remark: [Analysis] Arena {{.*}}a replica's memory: 128 B, 0 % above the 128 B that are in use at one time
// CHECK: model.py:1:1: remark: [Analysis] Arena {{.*}}memory that all replicas of a process share: {{.*}} in use at one time
// CHECK: model.py:1:1: remark: [Passed] Shared {{.*}}3 values equal on all replicas: stored once per process, 192 B instead of 768 B
// CHECK: model.py:1:1: remark: [Passed] InPlace {{.*}}1 result of kernels in the memory of an operand
// CHECK: model.py:4:3: remark: [Missed] Copied {{.*}}16xf32 (64 B) (model.py:1) is copied to the operands of channel 0: it is a variable, an argument or a constant, whose address is fixed
// CHECK: model.py:4:3: remark: [Passed] Bucket {{.*}}1 of 2 operands of channel 0 computed in place, side by side
// CHECK: model.py:5:3: remark: [Missed] Copied {{.*}}the new value of variable v (64 B) is copied to its place: @update (model.py:6) still reads the old value after @momentum (model.py:5)
// CHECK: model.py:1:1: remark: [Passed] InPlace {{.*}}1 of 2 variables updated in place
// CHECK: model.py:5:3: remark: [Passed] Once {{.*}}2 kernels and 1 copy executed once for 4 replicas (channel 1): their results are equal on all replicas
func.func @step(%x: tensor<16xf32> {device.binding = #device.binding<batch "x">} loc("model.py":1:1),
                %v: tensor<16xf32> {device.binding = #device.binding<variable "v">} loc("model.py":1:1),
                %w: tensor<16xf32> {device.binding = #device.binding<variable "w">} loc("model.py":1:1))
    -> (tensor<16xf32> {device.binding = #device.binding<variable "v">}, tensor<16xf32> {device.binding = #device.binding<variable "w">}) {
  %g = device.invoke @gradient(%x, %w) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc("model.py":3:3)
  %h = collective.start all_reduce sum @all channel 0 (%g, %x : tensor<16xf32>, tensor<16xf32>) -> !collective.pending<tensor<16xf32>, tensor<16xf32>> loc("model.py":4:3)
  %s:2 = collective.wait %h (%g, %x : tensor<16xf32>, tensor<16xf32>) : !collective.pending<tensor<16xf32>, tensor<16xf32>> -> tensor<16xf32>, tensor<16xf32> loc("model.py":4:3)
  %nv = device.invoke @momentum(%v, %s#0) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc("model.py":5:3)
  %nw = device.invoke @update(%w, %v, %s#1) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc("model.py":6:3)
  return %nv, %nw : tensor<16xf32>, tensor<16xf32> loc("model.py":7:3)
} loc("model.py":1:1)
