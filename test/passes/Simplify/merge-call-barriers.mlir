// RUN: split-file %s %t
// RUN: lockstep-compile %t/empty.mlir --replicas=2 --stop-after=lower | FileCheck %s --check-prefix=LOWER
// RUN: lockstep-compile %t/empty.mlir --replicas=2 --target=x86-64-v3 --stop-after=memory | FileCheck %s --check-prefix=EMPTY
// RUN: lockstep-compile %t/reduce.mlir --replicas=2 --stop-after=simplify --remarks=simplify 2>&1 | FileCheck %s --check-prefix=REDUCE
// RUN: lockstep-compile %t/empty.mlir --replicas=1 --stop-after=lower | FileCheck %s --check-prefix=ONE --implicit-check-not=barrier

// A merge_call without operations is a rendezvous of all replicas. One of its two barriers is implied by the other one, which is
// executed.
// LOWER: collective.barrier @all
// LOWER: collective.barrier @all
// EMPTY: device.barrier @all channel 0
// EMPTY-NOT: device.barrier
// With one replica, there is no barrier.
// ONE: func.func @step

// A collective of all replicas implies both barriers.
// REDUCE-DAG: step.mlir:1: remark [simplify]: barrier is implied by the collective behind it (step.mlir:2)
// REDUCE-DAG: step.mlir:1: remark [simplify]: barrier is implied by the collective before it (step.mlir:2)
// REDUCE: func.func @step
// REDUCE-NOT: barrier

//--- empty.mlir
replica.step @step() {
  replica.merge_call {
    replica.yield
  }
  replica.return
}

//--- reduce.mlir
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {
  %r = replica.merge_call (%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%all: !replica.per_replica<tensor<4xf32>>):
    %s = replica.reduce sum %all : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32> loc("step.mlir":2:1)
    replica.yield %s : tensor<4xf32>
  } loc("step.mlir":1:1)
  replica.return %r : tensor<4xf32>
}
