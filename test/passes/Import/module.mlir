// RUN: lockstep-opt %s --allow-unregistered-dialect --import-stablehlo --split-input-file --verify-each --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Integers become signless: arguments keep the sign as an attribute, casts are erased, and operations remain unsigned ones.
// CHECK-LABEL: replica.variable @n : tensor<i32> {is_unsigned}
// CHECK: replica.step @unsigned(%[[X:.*]]: tensor<4xi32> {replica.batch = "x", replica.unsigned}
// CHECK-SAME: %{{.*}}: tensor<i8> {replica.default = -1 : i8, replica.scalar = "s", replica.unsigned}
// CHECK-SAME: %{{.*}}: tensor<i32> {replica.scalar = "t"}
// CHECK: replica.read @n : tensor<i32>
// CHECK: %[[M:.*]] = arith.maxui %[[X]], %[[X]] : tensor<4xi32>
// CHECK: replica.return %[[M]] : tensor<4xi32>
replica.variable @n : tensor<ui32> {is_unsigned}
replica.step @unsigned(%x: tensor<4xui32> {replica.batch = "x"}, %s: tensor<ui8> {replica.scalar = "s", replica.default = 255 : ui8}, %t: tensor<i32> {replica.scalar = "t"}) -> (tensor<4xui32> {replica.result = "x"}) {
  %n = replica.read @n : tensor<ui32>
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xui32> to tensor<4xi32>
  %1 = arith.maxui %0, %0 : tensor<4xi32>
  %2 = builtin.unrealized_conversion_cast %1 : tensor<4xi32> to tensor<4xui32>
  replica.return %2 : tensor<4xui32>
}

// -----

// Signs in unregistered operations are removed too.
// CHECK-LABEL: func @region
// CHECK: scf.while (%{{.*}} = %{{.*}}) : (tensor<4xi32>) -> tensor<4xi32>
// CHECK-NOT: ui32
func.func @region(%x: tensor<4xui32>) -> tensor<4xui32> {
  %r = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4xui32>):
    %true = arith.constant dense<true> : tensor<i1>
    "stablehlo.return"(%true) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4xui32>):
    %0 = builtin.unrealized_conversion_cast %a : tensor<4xui32> to tensor<4xi32>
    %1 = arith.addi %0, %0 : tensor<4xi32>
    %2 = builtin.unrealized_conversion_cast %1 : tensor<4xi32> to tensor<4xui32>
    "stablehlo.return"(%2) : (tensor<4xui32>) -> ()
  }) : (tensor<4xui32>) -> tensor<4xui32>
  return %r : tensor<4xui32>
}

// -----

// Calls are inlined, through several levels and in regions; locations keep the chain of calls. Functions without callers
// are erased.
// CHECK-LABEL: func @calls
// CHECK-SAME: (%[[X:.*]]: tensor<f32>
// CHECK: math.exp %[[X]] : tensor<f32> loc(callsite("exp.py":1:1 at callsite("inner.py":2:2 at "outer.py":3:3)))
// CHECK-NOT: func.func
func.func @calls(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @outer(%x) : (tensor<f32>) -> tensor<f32> loc("outer.py":3:3)
  return %0 : tensor<f32>
}
func.func private @outer(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @inner(%x) : (tensor<f32>) -> tensor<f32> loc("inner.py":2:2)
  return %0 : tensor<f32>
}
func.func private @inner(%x: tensor<f32>) -> tensor<f32> {
  %0 = math.exp %x : tensor<f32> loc("exp.py":1:1)
  return %0 : tensor<f32>
}

// -----

// Attributes for JAX and XLA are dropped; other attributes stay.
// CHECK-LABEL: module @attributes
// CHECK-NOT: {{mhlo|jax|tf\.}}
// CHECK: func.func @f(%{{.*}}: tensor<f32> {replica.batch = "x"}
// CHECK-NOT: {{mhlo|jax|tf\.}}
// CHECK: math.exp %{{.*}} {test.kept} : tensor<f32>
// CHECK-NOT: {{mhlo|jax|tf\.}}
module @attributes attributes {mhlo.num_partitions = 1 : i32, jax.uses_shape_polymorphism = false} {
  func.func @f(%x: tensor<f32> {replica.batch = "x", tf.aliasing_output = 0 : i32}) -> (tensor<f32> {jax.result_info = "result"}) {
    %0 = math.exp %x {mhlo.frontend_attributes = {}, test.kept} : tensor<f32>
    return %0 : tensor<f32>
  }
}
