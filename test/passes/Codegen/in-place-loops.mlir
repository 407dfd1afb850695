// LLVM knows that a loop which updates memory in place has no dependences. It computes vectors without a check of whether operands overlap, which
// would always fail, and needs no loop of single elements for that case.

// RUN: lockstep-compile %s --replicas=2 --target=x86-64-v3 -o %t.lockstep
// RUN: lockstep-inspect %t.lockstep --show=schedule | FileCheck %s --check-prefix=IN-PLACE
// RUN: lockstep-inspect %t.lockstep --code x86-64-v3 -o %t.so
// RUN: llvm-objdump -d --no-show-raw-insn %t.so | FileCheck %s

// IN-PLACE: launch step_0_elementwise {{ *}}[[W:%[0-9]+]] %{{[0-9]+}} > [[W]] 
// CHECK-LABEL: <step_0_elementwise>:
// CHECK-NOT: mulss
// CHECK: vmulps {{.*}}%ymm
// CHECK-NOT: mulss
replica.variable @w : tensor<16x16xf32>
replica.step @step(%x: tensor<16x16xf32> {replica.batch = "x"}) {
  %g = replica.all_reduce sum %x : tensor<16x16xf32>
  %w = replica.read @w : tensor<16x16xf32>
  %new = arith.mulf %w, %g : tensor<16x16xf32>
  replica.assign @w, %new : tensor<16x16xf32>
  replica.return
}
