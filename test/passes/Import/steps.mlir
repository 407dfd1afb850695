// RUN: lockstep-opt %s --import-steps --split-input-file --verify-each | FileCheck %s

// State becomes variables: read at the beginning, assigned at the end; other results are returned in order.
// CHECK: replica.variable @"params/w" : tensor<4xf32>
// CHECK-NEXT: replica.variable @n : tensor<i32>
// CHECK-LABEL: replica.step @step
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32> {replica.batch = "x"}, %[[LR:.*]]: tensor<f32> {replica.default = 1.000000e-01 : f32, replica.scalar = "lr"})
// CHECK-SAME: -> (tensor<f32> {replica.metric = "loss"}, tensor<4xf32> {replica.result = "x"})
// CHECK-DAG: %[[W:.*]] = replica.read @"params/w" : tensor<4xf32>
// CHECK-DAG: %[[N:.*]] = replica.read @n : tensor<i32>
// CHECK: %[[NEW:.*]] = arith.addf %[[W]], %[[X]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[N]], %[[N]]
// CHECK: replica.assign @"params/w", %[[NEW]] : tensor<4xf32>
// CHECK-NEXT: replica.assign @n, %[[NEXT]] : tensor<i32>
// CHECK-NEXT: replica.return %[[LR]], %[[X]] : tensor<f32>, tensor<4xf32>
func.func @step(%w: tensor<4xf32> {replica.variable = "params/w"}, %x: tensor<4xf32> {replica.batch = "x"},
                %n: tensor<i32> {replica.variable = "n"},
                %lr: tensor<f32> {replica.scalar = "lr", replica.default = 1.0e-01 : f32})
    -> (tensor<4xf32> {replica.variable = "params/w"}, tensor<f32> {replica.metric = "loss"},
        tensor<i32> {replica.variable = "n"}, tensor<4xf32> {replica.result = "x"}) {
  %new = arith.addf %w, %x : tensor<4xf32>
  %next = arith.addi %n, %n : tensor<i32>
  return %new, %lr, %next, %x : tensor<4xf32>, tensor<f32>, tensor<i32>, tensor<4xf32>
}

// -----

// A variable that two functions name is declared once; a function reads only what it uses.
// CHECK: replica.variable @w : tensor<4xf32>
// CHECK-NOT: replica.variable @w
// CHECK: replica.variable @v : tensor<f32>
// CHECK-LABEL: replica.step @step
// CHECK-LABEL: replica.step @evaluate
// CHECK-SAME: -> (tensor<4xf32> {replica.sum = "a"}, tensor<4xf32> {replica.count = "a"})
// CHECK-NEXT: %[[W:.*]] = replica.read @w
// CHECK-NEXT: replica.return %[[W]], %[[W]]
func.func @step(%w: tensor<4xf32> {replica.variable = "w"}, %v: tensor<f32> {replica.variable = "v"})
    -> (tensor<4xf32> {replica.variable = "w"}) {
  %new = arith.addf %w, %w : tensor<4xf32>
  return %new : tensor<4xf32>
}
func.func @evaluate(%w: tensor<4xf32> {replica.variable = "w"}, %v: tensor<f32> {replica.variable = "v"})
    -> (tensor<4xf32> {replica.sum = "a"}, tensor<4xf32> {replica.count = "a"}) {
  return %w, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

// A variable that a step returns unchanged is not assigned; variables that exchange their values are.
// CHECK-LABEL: replica.step @step
// CHECK: %[[A:.*]] = replica.read @a
// CHECK: %[[B:.*]] = replica.read @b
// CHECK-NOT: replica.assign @kept
// CHECK: replica.assign @a, %[[B]]
// CHECK-NEXT: replica.assign @b, %[[A]]
// CHECK-NEXT: replica.return
func.func @step(%a: tensor<f32> {replica.variable = "a"}, %b: tensor<f32> {replica.variable = "b"},
                %k: tensor<f32> {replica.variable = "kept"})
    -> (tensor<f32> {replica.variable = "kept"}, tensor<f32> {replica.variable = "a"},
        tensor<f32> {replica.variable = "b"}) {
  return %k, %b, %a : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// An unsigned variable has an attribute that says so; types become signless in a later pass.
// CHECK: replica.variable @n : tensor<ui32> {is_unsigned}
// CHECK: replica.variable @m : tensor<i32>
// CHECK-LABEL: replica.step @step
func.func @step(%n: tensor<ui32> {replica.variable = "n"}, %m: tensor<i32> {replica.variable = "m"})
    -> (tensor<ui32> {replica.variable = "n"}) {
  return %n : tensor<ui32>
}

// -----

// Private functions are parts of steps, and stay until they are inlined.
// CHECK-LABEL: replica.step @step
// CHECK: call @part
// CHECK: func.func private @part
func.func @step(%x: tensor<f32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "y"}) {
  %0 = call @part(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @part(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// A variable with the name of a function gets another symbol, and keeps its name for files in an attribute.
// CHECK: replica.variable @step_0 : tensor<f32> {path = "step"}
// CHECK: replica.variable @w : tensor<f32>
// CHECK-LABEL: replica.step @step
// CHECK: %[[OLD:.*]] = replica.read @step_0
// CHECK: replica.assign @w, %[[OLD]]
// CHECK-LABEL: replica.step @evaluate
// CHECK: replica.read @step_0
func.func @step(%s: tensor<f32> {replica.variable = "step"}) -> (tensor<f32> {replica.variable = "w"}, tensor<f32> {replica.variable = "step"}) {
  return %s, %s : tensor<f32>, tensor<f32>
}
func.func @evaluate(%s: tensor<f32> {replica.variable = "step"}) -> (tensor<f32> {replica.sum = "a"}, tensor<f32> {replica.count = "a"}) {
  return %s, %s : tensor<f32>, tensor<f32>
}
