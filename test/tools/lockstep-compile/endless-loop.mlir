// A loop whose condition is always true is refused.

// RUN: not lockstep-compile %s --replicas=2 -O0 -o %t.lockstep 2>&1 | FileCheck %s
// RUN: not lockstep-compile %s --replicas=2 -O2 -o %t.lockstep 2>&1 | FileCheck %s
// CHECK: endless-loop.mlir:[[#@LINE+5]]:8: error: expected a loop that ends, found one whose condition is always true

replica.variable @v : tensor<4xf32> {initial = dense<0.0> : tensor<4xf32>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %true = arith.constant true
  %w = scf.while (%p = %true) : (i1) -> (i1) {
    scf.condition(%p) %p : i1
  } do {
  ^bb0(%q: i1):
    %0 = replica.all_reduce sum %x : tensor<4xf32>
    replica.assign_add @v, %0 : tensor<4xf32>
    scf.yield %q : i1
  }
  replica.return
}
