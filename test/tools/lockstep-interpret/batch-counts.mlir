// All replicas of a program have the same number of batches, in each of its arrays: the interpreter checks what the compiled program checks.

// RUN: %python %S/Inputs/npz.py %t.less.npz x@0=f32[2]:1,2 x@1=f32[5]:1,2,3,4,5 y=f32[2]:1,2
// RUN: not lockstep-interpret %s --replicas=2 --inputs=%t.less.npz 2>&1 | FileCheck %s --check-prefix=MORE
// RUN: lockstep-compile %s --replicas=2 -o %t.lockstep
// RUN: not lockstep-run %t.lockstep --inputs=%t.less.npz 2>&1 | FileCheck %s --check-prefix=MORE-COMPILED
// MORE: error: program 'main': replica 1 has 5 batches, but replica 0 has 2
// MORE-COMPILED: error: {{.*}}array 'y': expected 5 batches as in 'x@1', found 2

// RUN: %python %S/Inputs/npz.py %t.more.npz x@0=f32[3]:1,2,3 x@1=f32[2]:1,2 y@0=f32[3]:1,2,3 y@1=f32[2]:1,2
// RUN: not lockstep-interpret %s --replicas=2 --inputs=%t.more.npz 2>&1 | FileCheck %s --check-prefix=LESS
// RUN: not lockstep-run %t.lockstep --inputs=%t.more.npz 2>&1 | FileCheck %s --check-prefix=LESS
// LESS: error: program 'main': replica 1 has 2 batches, but replica 0 has 3

// RUN: %python %S/Inputs/npz.py %t.arrays.npz x=f32[3]:1,2,3 y=f32[2]:1,2
// RUN: not lockstep-interpret %s --replicas=2 --inputs=%t.arrays.npz 2>&1 | FileCheck %s --check-prefix=ARRAYS
// RUN: not lockstep-run %t.lockstep --inputs=%t.arrays.npz 2>&1 | FileCheck %s --check-prefix=ARRAYS
// ARRAYS: array 'y': expected 3 batches as in 'x', found 2

// RUN: %python %S/Inputs/npz.py %t.same.npz x@0=f32[2]:1,2 x@1=f32[2]:3,4 y=f32[2]:1,1
// RUN: lockstep-interpret %s --replicas=2 --inputs=%t.same.npz | FileCheck %s --check-prefix=SAME
// SAME: {"result":"sum","replica":0,"type":"f32","shape":[],"values":[8]}

replica.step @train(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %z = arith.addf %x, %y : tensor<f32>
  replica.return %z : tensor<f32>
}
replica.program @main(%it: !replica.iterator<tensor<f32>, tensor<f32>> {replica.batches = ["x", "y"]}) -> (tensor<f32> {replica.result = "sum"}) {
  %s = replica.run_steps 2 @train(%it : !replica.iterator<tensor<f32>, tensor<f32>>) {reductions = ["sum"]} -> tensor<f32>
  replica.return %s : tensor<f32>
}
