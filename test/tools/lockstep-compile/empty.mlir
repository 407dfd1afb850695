// A module without a step or a program is refused, at whatever stage compilation is to stop.

// RUN: not lockstep-compile %s --replicas=2 -o %t.lockstep 2>&1 | FileCheck %s
// RUN: not lockstep-compile %s --replicas=2 --stop-after=import -o %t.mlir 2>&1 | FileCheck %s
// CHECK: lockstep-compile: error: expected a step or a program to compile ('replica.step', 'replica.program' or a public 'func.func'), found none

replica.variable @w : tensor<4xf32>

// This function has no callers.
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
