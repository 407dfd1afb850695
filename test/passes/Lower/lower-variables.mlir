// RUN: lockstep-opt %s --lower-variables --split-input-file | FileCheck %s

// Variables come first among the arguments, in the order of their first use, then the rank, then what the step declared; the new
// values come first among the results. A variable that is only read is no result.
replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 2}
replica.variable @w : tensor<4xf32>
replica.variable @b : tensor<4xf32>
replica.variable @untouched : tensor<4xf32>
// CHECK-NOT: replica.step
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[B:[a-z0-9]*]]: tensor<4xf32> {device.binding = #device.binding<variable "b">}
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<4xf32> {device.binding = #device.binding<variable "w">}
// CHECK-SAME: %[[RANK:[a-z0-9]*]]: tensor<i32> {device.binding = #device.binding<rank "">}
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xi32> {device.binding = #device.binding<batch "x">, replica.unsigned}
// CHECK-SAME: %[[LR:[a-z0-9]*]]: tensor<f32> {device.binding = #device.binding<scalar "lr">, replica.default = 1.000000e-01 : f32}
// CHECK-SAME: -> (tensor<4xf32> {device.binding = #device.binding<variable "w">},
// CHECK-SAME: tensor<f32> {device.binding = #device.binding<metric "loss">},
// CHECK-SAME: tensor<f32> {device.binding = #device.binding<sum "s">},
// CHECK-SAME: tensor<f32> {device.binding = #device.binding<count "c">},
// CHECK-SAME: tensor<i32> {device.binding = #device.binding<result "id">},
// CHECK-SAME: tensor<4xf32> {device.binding = #device.binding<result "result4">})
replica.step @step(%x: tensor<4xi32> {replica.batch = "x", replica.unsigned}, %lr: tensor<f32> {replica.scalar = "lr", replica.default = 1.0e-01 : f32})
    -> (tensor<f32> {replica.metric = "loss"}, tensor<f32> {replica.sum = "s"}, tensor<f32> {replica.count = "c"}, tensor<i32> {replica.result = "id"}, tensor<4xf32>) {
  %b = replica.read @b : tensor<4xf32>
  %id = replica.id : tensor<i32>
  replica.assign @w, %b : tensor<4xf32>
  // A read after an assignment is the new value.
  // CHECK-NEXT: return %[[B]], %[[LR]], %[[LR]], %[[LR]], %[[RANK]], %[[B]]
  %w = replica.read @w : tensor<4xf32>
  replica.return %lr, %lr, %lr, %id, %w : tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>, tensor<4xf32>
}

// -----

// An assignment that adds or subtracts is arithmetic on the current value, of floats and of integers.
replica.variable @f : tensor<4xf32>
replica.variable @i : tensor<i64>
// CHECK-LABEL: func.func @arithmetic(
// CHECK-SAME: %[[F:[a-z0-9]*]]: tensor<4xf32> {{.*}}, %[[I:[a-z0-9]*]]: tensor<i64> {{.*}}, %[[X:[a-z0-9]*]]: tensor<4xf32> {{.*}}, %[[N:[a-z0-9]*]]: tensor<i64>
replica.step @arithmetic(%x: tensor<4xf32> {replica.scalar = "x"}, %n: tensor<i64> {replica.scalar = "n"}) {
  // CHECK: %[[F1:.*]] = linalg.generic {{.*}} ins(%[[F]], %[[X]]
  // CHECK: arith.addf
  replica.assign_add @f, %x : tensor<4xf32>
  // CHECK: %[[F2:.*]] = linalg.generic {{.*}} ins(%[[F1]], %[[X]]
  // CHECK: arith.subf
  replica.assign_sub @f, %x : tensor<4xf32>
  // CHECK: %[[I1:.*]] = linalg.generic {{.*}} ins(%[[I]], %[[N]]
  // CHECK: arith.addi
  replica.assign_add @i, %n : tensor<i64>
  // CHECK: %[[I2:.*]] = linalg.generic {{.*}} ins(%[[I1]], %[[N]]
  // CHECK: arith.subi
  replica.assign_sub @i, %n : tensor<i64>
  // CHECK: return %[[F2]], %[[I2]]
  replica.return
}

// -----

// A loop carries the variables that it assigns, after its own iteration arguments. It does not carry variables that it only reads.
replica.variable @w : tensor<4xf32>
replica.variable @r : tensor<4xf32>
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<4xf32> {{.*}} %[[R:[a-z0-9]*]]: tensor<4xf32> {device.binding = #device.binding<variable "r">}, %[[X:[a-z0-9]*]]: tensor<4xf32>
replica.step @loop(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  // CHECK: %[[L:.*]]:2 = scf.for {{.*}} iter_args(%[[C:.*]] = %[[X]], %[[CW:.*]] = %[[W]]) -> (tensor<4xf32>, tensor<4xf32>)
  %l = scf.for %i = %zero to %four step %one iter_args(%c = %x) -> tensor<4xf32> {
    %w = replica.read @w : tensor<4xf32>
    %r = replica.read @r : tensor<4xf32>
    // CHECK: %[[NEW:.*]] = arith.addf %[[CW]], %[[R]]
    %new = arith.addf %w, %r : tensor<4xf32>
    replica.assign @w, %new : tensor<4xf32>
    // CHECK: scf.yield %[[CW]], %[[NEW]]
    scf.yield %w : tensor<4xf32>
  }
  // CHECK: return %[[L]]#1, %[[L]]#0
  replica.return %l : tensor<4xf32>
}

// -----

// Both sides of a branch yield a variable that one of them assigns; the other side yields the value before the branch.
replica.variable @w : tensor<4xf32>
// CHECK-LABEL: func.func @branch(
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<4xf32> {device.binding = #device.binding<variable "w">}
replica.step @branch(%c: tensor<i1> {replica.scalar = "c"}, %x: tensor<4xf32> {replica.scalar = "x"}) {
  %i = tensor.extract %c[] : tensor<i1>
  // CHECK: %[[R:.*]] = scf.if
  // CHECK-NEXT: scf.yield %[[X:.*]] : tensor<4xf32>
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[W]] : tensor<4xf32>
  scf.if %i {
    replica.assign @w, %x : tensor<4xf32>
  }
  // CHECK: return %[[R]]
  replica.return
}

// -----

// A branch keeps the results that it has, and a loop in it carries the variable too.
replica.variable @w : tensor<4xf32>
// CHECK-LABEL: func.func @nested(
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<4xf32>
replica.step @nested(%c: tensor<i1> {replica.scalar = "c"}, %x: tensor<4xf32> {replica.scalar = "x"}) -> (tensor<4xf32> {replica.metric = "m"}) {
  %i = tensor.extract %c[] : tensor<i1>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  // CHECK: %[[R:.*]]:2 = scf.if
  %r = scf.if %i -> tensor<4xf32> {
    // CHECK: %[[L:.*]] = scf.for {{.*}} iter_args(%[[CW:.*]] = %[[W]])
    scf.for %k = %zero to %four step %one {
      %w = replica.read @w : tensor<4xf32>
      // CHECK: %[[NEW:.*]] = arith.mulf %[[CW]]
      %new = arith.mulf %w, %x : tensor<4xf32>
      replica.assign @w, %new : tensor<4xf32>
      // CHECK: scf.yield %[[NEW]]
    }
    // CHECK: scf.yield %[[X:.*]], %[[L]]
    scf.yield %x : tensor<4xf32>
  } else {
    %w = replica.read @w : tensor<4xf32>
    // CHECK: scf.yield %[[W]], %[[W]]
    scf.yield %w : tensor<4xf32>
  }
  // CHECK: return %[[R]]#1, %[[R]]#0
  replica.return %r : tensor<4xf32>
}

// -----

// A while loop carries variables through both regions: the value that the condition assigns is read in the body, and is the result of the loop.
replica.variable @n : tensor<4xf32>
// CHECK-LABEL: func.func @while(
// CHECK-SAME: %[[N:[a-z0-9]*]]: tensor<4xf32> {{.*}}, %[[C:[a-z0-9]*]]: tensor<i1> {{.*}}, %[[X:[a-z0-9]*]]: tensor<4xf32>
replica.step @while(%c: tensor<i1> {replica.scalar = "c"}, %x: tensor<4xf32> {replica.scalar = "x"}) {
  // CHECK: %[[LOOP:.*]]:2 = scf.while (%[[A:.*]] = %[[X]], %[[BEFORE:.*]] = %[[N]])
  %r = scf.while (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: %[[ASSIGNED:.*]] = linalg.generic {{.*}} ins(%[[BEFORE]], %[[A]] :
    replica.assign_add @n, %a : tensor<4xf32>
    %b = tensor.extract %c[] : tensor<i1>
    // CHECK: scf.condition(%{{.*}}) %[[A]], %[[ASSIGNED]]
    scf.condition(%b) %a : tensor<4xf32>
  } do {
  // CHECK: ^bb0(%[[FORWARDED:.*]]: tensor<4xf32>, %[[AFTER:.*]]: tensor<4xf32>):
  ^bb0(%a: tensor<4xf32>):
    // CHECK-NEXT: scf.yield %[[AFTER]], %[[FORWARDED]]
    %n = replica.read @n : tensor<4xf32>
    replica.assign @n, %a : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  // CHECK: return %[[LOOP]]#1
  replica.return
}
