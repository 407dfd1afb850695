// A function has the context of its caller: it is inlined, and then checked.

// RUN: split-file %s %t
// RUN: lockstep-compile %t/right.mlir --replicas=3 --stop-after=verify -o - | FileCheck %s
// RUN: not lockstep-compile %t/wrong.mlir --replicas=3 -o %t/wrong.lockstep 2>&1 | FileCheck %s --check-prefix=ERROR

// CHECK-NOT: func.call
// CHECK: replica.all_reduce
// CHECK: replica.merge_call
// CHECK: replica.reduce

// ERROR: wrong.mlir:3:8: error: 'replica.all_reduce' op must be in replica context, but is in cross-replica context [E_CONTEXT]
// ERROR: wrong.mlir:9:10: note: called from
// ERROR: wrong.mlir:7:3: note: the context is opened by 'replica.merge_call'

//--- right.mlir
replica.variable @v : tensor<4xf32> {initial = dense<0.0> : tensor<4xf32>}
func.func private @of_all(%e: !replica.per_replica<tensor<4xf32>>) -> tensor<4xf32> {
  %0 = replica.reduce sum %e : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @of_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = replica.all_reduce sum %x : tensor<4xf32>
  %1 = replica.merge_call (%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%e: !replica.per_replica<tensor<4xf32>>):
    %s = func.call @of_all(%e) : (!replica.per_replica<tensor<4xf32>>) -> tensor<4xf32>
    replica.yield %s : tensor<4xf32>
  }
  %2 = arith.addf %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %0 = func.call @of_one(%x) : (tensor<4xf32>) -> tensor<4xf32>
  replica.assign @v, %0 : tensor<4xf32>
  replica.return
}

//--- wrong.mlir
func.func private @of_all(%e: !replica.per_replica<tensor<4xf32>>) -> tensor<4xf32> {
  %0 = replica.reduce sum %e : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
  %1 = replica.all_reduce sum %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  replica.merge_call (%x : tensor<4xf32>) {
  ^bb0(%e: !replica.per_replica<tensor<4xf32>>):
    %s = func.call @of_all(%e) : (!replica.per_replica<tensor<4xf32>>) -> tensor<4xf32>
    replica.yield
  }
  replica.return
}
