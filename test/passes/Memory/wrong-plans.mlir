// RUN: split-file %s %t
// RUN: lockstep-check-plan %t/step.mlir %t/plan.mlir

// lockstep-check-plan, which proves plans, refuses wrong ones: each command below violates one rule of a correct plan.

// Two values whose live ranges overlap share all their bytes.
// RUN: sed 's/replica\[192\]/replica[128]/' %t/plan.mlir > %t/1.mlir && not lockstep-check-plan %t/step.mlir %t/1.mlir 2>&1 | FileCheck %s --check-prefix=SHARE
// SHARE: error: result 0 overlaps with operand 1
// They share some of their bytes.
// RUN: sed 's/replica\[128\]/replica[120]/' %t/plan.mlir > %t/2.mlir && not lockstep-check-plan %t/step.mlir %t/2.mlir 2>&1 | FileCheck %s --check-prefix=PART
// PART: error: result 0 overlaps with operand 0
// The host reads another value.
// RUN: sed 's/<metric "c"> %%b/<metric "c"> %%d/' %t/plan.mlir > %t/3.mlir && not lockstep-check-plan %t/step.mlir %t/3.mlir 2>&1 | FileCheck %s --check-prefix=SHOWN
// SHOWN: error: expected metric c to be f/0(
// An operand of a collective in flight is written.
// RUN: sed 's/replica\[192\]/replica[0]/' %t/plan.mlir > %t/4.mlir && not lockstep-check-plan %t/step.mlir %t/4.mlir 2>&1 | FileCheck %s --check-prefix=FLIGHT
// FLIGHT: error: writes what belongs to the collective of channel 0
// A result is read before the wait.
// RUN: sed -e '/WAIT/d' -e 's/.. LATER/device.wait channel 0/' %t/plan.mlir > %t/5.mlir && not lockstep-check-plan %t/step.mlir %t/5.mlir 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: reads what the collective of channel 0 is writing
// The results of a bucket are not side by side.
// RUN: sed 's/shared\[64\]/shared[128]/' %t/plan.mlir > %t/6.mlir && not lockstep-check-plan %t/step.mlir %t/6.mlir 2>&1 | FileCheck %s --check-prefix=APART
// APART: error: expected result 1 at byte 64, found it at 128
// Shared memory is written without a rendezvous of the replicas.
// RUN: sed -e 's/device.once channel 1 {//' -e 's/} .*END//' %t/plan.mlir > %t/7.mlir && not lockstep-check-plan %t/step.mlir %t/7.mlir 2>&1 | FileCheck %s --check-prefix=MEET
// MEET: error: writes to memory that replicas share without having met
// One replica writes a per-replica value for all replicas.
// RUN: sed 's/reads(%%w, %%s/reads(%%w, %%b/' %t/plan.mlir > %t/8.mlir && not lockstep-check-plan %t/step.mlir %t/8.mlir 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: error: writes to memory that replicas share what differs between them: f/0(
// The kernel computes another value, and so another operand of a collective; an update is missing.
// RUN: sed 's/@k reads/@l reads/' %t/plan.mlir > %t/9.mlir && not lockstep-check-plan %t/step.mlir %t/9.mlir 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: exchanges something else than its step
// RUN: sed '/@f reads(%%w/d' %t/plan.mlir > %t/10.mlir && not lockstep-check-plan %t/step.mlir %t/10.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: expected variable w to be f/0({{.*}}), found variable w
// A variable that is synchronized on write is stored once per replica.
// RUN: sed 's/@w variable/@w replica_variable/' %t/plan.mlir > %t/11.mlir && not lockstep-check-plan %t/step.mlir %t/11.mlir 2>&1 | FileCheck %s --check-prefix=SPACE
// SPACE: error: is in space 'replica_variable'

//--- step.mlir
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<16xf32>
device.kernel @k(tensor<16xf32>) -> tensor<16xf32>
device.kernel @l(tensor<16xf32>) -> tensor<16xf32>
device.kernel @f(tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {in_place = array<i64: 0>}
collective.group @all
func.func @step(%w: tensor<16xf32> {device.binding = #device.binding<variable "w">}, %x: tensor<16xf32> {device.binding = #device.binding<batch "x">})
    -> (tensor<16xf32> {device.binding = #device.binding<variable "w">}, tensor<16xf32> {device.binding = #device.binding<metric "c">},
        tensor<16xf32> {device.binding = #device.binding<metric "t">}) {
  %a = device.invoke @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %a2 = device.invoke @l(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %h = collective.start all_reduce sum @all channel 0 (%a, %a2 : tensor<16xf32>, tensor<16xf32>) -> !collective.pending<tensor<16xf32>, tensor<16xf32>>
  %d = device.invoke @l(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %b = device.invoke @l(%a2) : (tensor<16xf32>) -> tensor<16xf32>
  %s:2 = collective.wait %h (%a, %a2 : tensor<16xf32>, tensor<16xf32>) : !collective.pending<tensor<16xf32>, tensor<16xf32>> -> tensor<16xf32>, tensor<16xf32>
  %c = device.invoke @f(%b, %d) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %v = device.invoke @f(%w, %s#0) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %v, %c, %s#1 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

//--- plan.mlir
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
device.variable @w variable[0] : tensor<16xf32> {synchronization = 0 : i32, aggregation = 0 : i32}
device.kernel @k(tensor<16xf32>) -> tensor<16xf32>
device.kernel @l(tensor<16xf32>) -> tensor<16xf32>
device.kernel @f(tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {in_place = array<i64: 0>}
collective.group @all
device.program @step role "worker" replica 320 shared 320 input 64 registers 0 channels 2 {
  %w = device.slice variable[0] : !device.buffer<tensor<16xf32>>
  %x = device.slice input[0] "x" : !device.buffer<tensor<16xf32>>
  %a = device.slice replica[0] : !device.buffer<tensor<16xf32>>
  %a2 = device.slice replica[64] : !device.buffer<tensor<16xf32>>
  %b = device.slice replica[128] : !device.buffer<tensor<16xf32>>
  %d = device.slice replica[192] : !device.buffer<tensor<16xf32>>
  %s = device.slice shared[0] : !device.buffer<tensor<16xf32>>
  %t = device.slice shared[64] : !device.buffer<tensor<16xf32>>
  device.launch @k reads(%x : !device.buffer<tensor<16xf32>>) writes(%a : !device.buffer<tensor<16xf32>>)
  device.launch @l reads(%x : !device.buffer<tensor<16xf32>>) writes(%a2 : !device.buffer<tensor<16xf32>>)
  device.start all_reduce sum @all channel 0 (%a, %a2 : !device.buffer<tensor<16xf32>>, !device.buffer<tensor<16xf32>>) to (%s, %t : !device.buffer<tensor<16xf32>>, !device.buffer<tensor<16xf32>>)
  device.launch @l reads(%x : !device.buffer<tensor<16xf32>>) writes(%d : !device.buffer<tensor<16xf32>>)
  device.launch @l reads(%a2 : !device.buffer<tensor<16xf32>>) writes(%b : !device.buffer<tensor<16xf32>>)
  device.wait channel 0 // WAIT
  device.once channel 1 {
  device.launch @f reads(%w, %s : !device.buffer<tensor<16xf32>>, !device.buffer<tensor<16xf32>>) writes(%w : !device.buffer<tensor<16xf32>>)
  } // END
  // LATER
  device.launch @f reads(%b, %d : !device.buffer<tensor<16xf32>>, !device.buffer<tensor<16xf32>>) writes(%b : !device.buffer<tensor<16xf32>>)
  device.output <metric "c"> %b : !device.buffer<tensor<16xf32>>
  device.output <metric "t"> %t : !device.buffer<tensor<16xf32>>
  device.return
}
