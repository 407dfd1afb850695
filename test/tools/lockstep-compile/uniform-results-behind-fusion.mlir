// RUN: lockstep-compile %s --replicas=2 --stop-after=kernels --locations=full | FileCheck %s

// The product, which would be a kernel of its own, has no reader after fusion, so the loop becomes one kernel. The loop's uniform result must
// not depend on its varying one then.
// CHECK: func.func @step(%[[STATE:[a-z0-9]+]]: tensor<4xf32> {{.*}}, %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[VARYING:.*]] = device.invoke @step_0_for(%[[X]], %[[STATE]])
// CHECK-NEXT: %[[UNIFORM:.*]] = device.invoke @step_1_for(%[[STATE]])
// CHECK-NEXT: return %[[UNIFORM]], %[[VARYING]]
replica.variable @state : tensor<4xf32>
replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.result = "r"}) {
  %state = replica.read @state : tensor<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %r:2 = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x, %b = %state) -> (tensor<4xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %product = linalg.dot ins(%b, %b : tensor<4xf32>, tensor<4xf32>) outs(%f : tensor<f32>) -> tensor<f32>
    %next = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%b, %product : tensor<4xf32>, tensor<f32>) outs(%a : tensor<4xf32>) {
    ^bb0(%in: f32, %unread: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %twice = arith.addf %b, %b : tensor<4xf32>
    scf.yield %next, %twice : tensor<4xf32>, tensor<4xf32>
  }
  replica.assign @state, %r#1 : tensor<4xf32>
  replica.return %r#0 : tensor<4xf32>
}
