// Nested branches: the replicas take part in the inner one only, the server in both. All roles test the same conditions.

// RUN: env LOCKSTEP_CACHE=%t.cache lockstep-verify %s --replicas=2 --strategy=parameter_server_sync --servers=1 | FileCheck %s
// CHECK: program 'step': proven

replica.variable @total : tensor<2xf32> {aggregation = #replica.aggregation<sum>}
replica.variable @count : tensor<i32>
replica.step @step(%x: tensor<2xf32> {replica.batch = "x"}, %s: tensor<i1> {replica.scalar = "s"}, %t: tensor<i1> {replica.scalar = "t"}) {
  %one = arith.constant dense<1> : tensor<i32>
  %outer = tensor.extract %s[] : tensor<i1>
  %inner = tensor.extract %t[] : tensor<i1>
  scf.if %outer {
    scf.if %inner {
      replica.assign_add @total, %x : tensor<2xf32>
    }
    replica.assign_add @count, %one : tensor<i32>
  }
  replica.return
}
