// RUN: lockstep-compile %s -O0 --stop-after=memory --locations=full | FileCheck %s --check-prefixes=CHECK,O0
// RUN: lockstep-compile %s -O2 --stop-after=memory --locations=full | FileCheck %s --check-prefixes=CHECK,O2

// Asynchronous workers change variables at any time. A server that reads and writes a variable has no wait in between, and a path that changes
// nothing stores nothing. [8-asynchronous]
replica.strategy @ps {kind = #replica.kind<parameter_server>, replicas = 1 : i64, servers = 1 : i64}
replica.variable @n : tensor<4xf32> {initial = dense<0.0> : tensor<4xf32>}

// The new value is stored before it is sent to a worker.
// CHECK-LABEL: device.program @returned.server0
// CHECK: device.launch @returned.server0_0_elementwise
// CHECK-NOT: device.start
// CHECK: device.copy
// CHECK-NOT: device.copy
// CHECK: device.start broadcast
// CHECK-NOT: device.copy
// CHECK: device.return
replica.step @returned(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.result = "new"}) {
  %n = replica.read @n : tensor<4xf32>
  %m = arith.addf %n, %x : tensor<4xf32>
  replica.assign @n, %m : tensor<4xf32>
  replica.return %m : tensor<4xf32>
}

// A branch updates the variable itself, so that a branch that is not taken leaves it alone.
// CHECK-LABEL: device.program @branch.server0
// CHECK: %[[N:.*]] = device.slice variable[0]
// CHECK: device.branch_unless %{{.*}} ^[[END:bb[0-9]+]] else ^[[THEN:bb[0-9]+]]
// CHECK: ^[[THEN]]:
// CHECK: device.launch @branch.server0_0_elementwise reads(%[[N]],
// O0-NEXT: device.copy %[[SUM:.*]] to %[[N]]
// O2-SAME: writes(%[[N]] :
// O2-NEXT: device.copy %[[N]] to %[[SUM:.*]] :
// CHECK-NEXT: device.start broadcast {{.*}}(%[[SUM]]
// CHECK-NEXT: device.wait
// CHECK-NEXT: device.jump ^[[END]]
// CHECK-NEXT: ^[[END]]:
// CHECK-NEXT: device.return
replica.step @branch(%x: tensor<4xf32> {replica.batch = "x"}, %p: tensor<i1> {replica.scalar = "p"}) -> (tensor<4xf32> {replica.result = "seen"}) {
  %c = tensor.extract %p[] : tensor<i1>
  %n = replica.read @n : tensor<4xf32>
  %m, %seen = scf.if %c -> (tensor<4xf32>, tensor<4xf32>) {
    %sum = arith.addf %n, %x : tensor<4xf32>
    %product = arith.mulf %sum, %x : tensor<4xf32>
    scf.yield %sum, %product : tensor<4xf32>, tensor<4xf32>
  } else {
    scf.yield %n, %x : tensor<4xf32>, tensor<4xf32>
  }
  replica.assign @n, %m : tensor<4xf32>
  replica.return %seen : tensor<4xf32>
}

// So does a loop: in each iteration, the worker receives the variable's current value, not the one that the loop has computed.
// CHECK-LABEL: device.program @loop.server0
// CHECK: %[[N:.*]] = device.slice variable[0]
// CHECK: device.branch_ge
// CHECK: device.copy %[[N]] to %[[GIVEN:.*]] :
// CHECK-NEXT: device.start broadcast {{.*}}(%[[GIVEN]]
// CHECK-NEXT: device.wait
// CHECK-NEXT: device.launch @loop.server0_0_elementwise reads(%[[N]],
// CHECK-NOT: device.start
// CHECK-NOT: device.start
// CHECK: ^bb3:
// CHECK-NEXT: device.return
replica.step @loop(%x: tensor<4xf32> {replica.batch = "x"}, %times: tensor<i32> {replica.scalar = "times"}) -> (tensor<4xf32> {replica.result = "seen"}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %t = tensor.extract %times[] : tensor<i32>
  %end = arith.index_cast %t : i32 to index
  %n = replica.read @n : tensor<4xf32>
  %m, %seen = scf.for %i = %zero to %end step %one iter_args(%k = %n, %s = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    %sum = arith.addf %k, %x : tensor<4xf32>
    %next = arith.mulf %s, %k : tensor<4xf32>
    scf.yield %sum, %next : tensor<4xf32>, tensor<4xf32>
  }
  replica.assign @n, %m : tensor<4xf32>
  replica.return %seen : tensor<4xf32>
}
