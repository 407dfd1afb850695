// RUN: lockstep-opt %s --import-steps --split-input-file --verify-diagnostics -o /dev/null

// expected-error @+1 {{cannot import '@step': expected a body of one block}}
func.func @step(%x: tensor<f32> {replica.batch = "x"}) {
  cf.br ^next
^next:
  return
}

// -----

// expected-error @+1 {{argument 1 of '@step' expected one of 'replica.variable', 'replica.batch', 'replica.scalar', found none}}
func.func @step(%x: tensor<f32> {replica.batch = "x"}, %y: tensor<f32>) {
  return
}

// -----

// expected-error @+1 {{argument 0 of '@step' expected one of 'replica.variable', 'replica.batch', 'replica.scalar', found 2}}
func.func @step(%x: tensor<f32> {replica.batch = "x", replica.variable = "x"}) {
  return
}

// -----

func.func @step(%x: tensor<f32> {replica.batch = "x"}) -> tensor<f32> {
  // expected-error @+1 {{result 0 of '@step' expected one of 'replica.variable', 'replica.metric', 'replica.sum', 'replica.count', 'replica.result', found none}}
  %0 = arith.addf %x, %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @+1 {{argument 1 of '@step' has the same 'replica.batch' as another one: "x"}}
func.func @step(%x: tensor<f32> {replica.batch = "x"}, %y: tensor<f32> {replica.batch = "x"}) {
  return
}

// -----

// expected-note @+1 {{the variable comes from here}}
func.func @step(%w: tensor<4xf32> {replica.variable = "w"}) {
  return
}
// expected-error @+1 {{variable "w" expected type 'tensor<4xf32>', found 'tensor<3xf32>'}}
func.func @evaluate(%w: tensor<3xf32> {replica.variable = "w"}) {
  return
}

// -----

// Signedness is a part of a variable's type.
// expected-note @+1 {{the variable comes from here}}
func.func @step(%w: tensor<i32> {replica.variable = "w"}) -> (tensor<ui32> {replica.variable = "w"}) {
  // expected-error @+1 {{variable "w" expected type 'tensor<i32>', found 'tensor<ui32>'}}
  %0 = builtin.unrealized_conversion_cast %w : tensor<i32> to tensor<ui32>
  return %0 : tensor<ui32>
}
