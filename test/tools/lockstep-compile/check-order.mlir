// The order of collectives is proven before lowering and at the end; with --check-order also after each pass that may move collectives.

// RUN: lockstep-compile %s --replicas=2 --strategy=parameter_server_sync --servers=1 --target=x86-64-v3 --timing -o %t.lockstep 2> %t.seldom
// RUN: FileCheck %s --check-prefix=SELDOM < %t.seldom
// RUN: lockstep-compile %s --replicas=2 --strategy=parameter_server_sync --servers=1 --target=x86-64-v3 --timing --check-order -o %t.checked 2> %t.often
// RUN: FileCheck %s --check-prefix=OFTEN < %t.often
// RUN: cmp %t.lockstep %t.checked

// SELDOM-COUNT-2: VerifyUniformity
// SELDOM-NOT: VerifyUniformity
// OFTEN-COUNT-6: VerifyUniformity
// OFTEN-NOT: VerifyUniformity

replica.variable @w : tensor<4xf32> {aggregation = #replica.aggregation<mean>, initial = dense<0.0> : tensor<4xf32>}
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
  %sum = replica.all_reduce sum %x : tensor<4xf32>
  replica.assign_add @w, %sum : tensor<4xf32>
  replica.return
}
