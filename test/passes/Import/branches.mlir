// RUN: lockstep-opt %s --allow-unregistered-dialect --import-stablehlo --split-input-file --verify-each | FileCheck %s

// CHECK-LABEL: func @if
// CHECK-SAME: (%[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>)
// CHECK: %[[C:.*]] = tensor.extract %[[P]][] : tensor<i1>
// CHECK: scf.if %[[C]] -> (tensor<4xf32>) {
// CHECK: math.exp
// CHECK: } else {
// CHECK: scf.yield %[[X]]
func.func @if(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = math.exp %x : tensor<4xf32>
    "stablehlo.return"(%1) : (tensor<4xf32>) -> ()
  }, {
    "stablehlo.return"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#scalar = affine_map<() -> ()>

// lax.cond is captured as a case on a predicate that is converted to an index. It becomes a branch on the predicate; branch 1 is "true".
// CHECK-LABEL: func @cond
// CHECK-SAME: (%[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>)
// CHECK: %[[C:.*]] = tensor.extract %[[P]][] : tensor<i1>
// CHECK: scf.if %[[C]] -> (tensor<4xf32>) {
// CHECK: math.exp
// CHECK: } else {
// CHECK: math.sin
func.func @cond(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<i32>
  %index = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%p : tensor<i1>) outs(%e : tensor<i32>) {
  ^bb0(%in: i1, %out: i32):
    %1 = arith.extui %in : i1 to i32
    linalg.yield %1 : i32
  } -> tensor<i32>
  %0 = "stablehlo.case"(%index) ({
    %1 = math.sin %x : tensor<4xf32>
    "stablehlo.return"(%1) : (tensor<4xf32>) -> ()
  }, {
    %1 = math.exp %x : tensor<4xf32>
    "stablehlo.return"(%1) : (tensor<4xf32>) -> ()
  }) : (tensor<i32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The last branch of a case is taken for every index that is out of range.
// CHECK-LABEL: func @case
// CHECK: %[[I:.*]] = tensor.extract %{{.*}}[] : tensor<i32>
// CHECK: %[[C0:.*]] = arith.constant 0 : i32
// CHECK: %[[IS0:.*]] = arith.cmpi eq, %[[I]], %[[C0]]
// CHECK: scf.if %[[IS0]]
// CHECK: math.exp
// CHECK: } else {
// CHECK: %[[C1:.*]] = arith.constant 1 : i32
// CHECK: %[[IS1:.*]] = arith.cmpi eq, %{{.*}}, %[[C1]]
// CHECK: scf.if %[[IS1]]
// CHECK: math.sin
// CHECK: } else {
// CHECK: math.cos
func.func @case(%i: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %r = "stablehlo.case"(%i) ({
    %0 = math.exp %x : tensor<f32>
    "stablehlo.return"(%0) : (tensor<f32>) -> ()
  }, {
    %0 = math.sin %x : tensor<f32>
    "stablehlo.return"(%0) : (tensor<f32>) -> ()
  }, {
    %0 = math.cos %x : tensor<f32>
    "stablehlo.return"(%0) : (tensor<f32>) -> ()
  }) : (tensor<i32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// A case with a single branch is replaced by that branch.
// CHECK-LABEL: func @one_case
// CHECK-NEXT: %[[R:.*]] = math.exp
// CHECK-NEXT: return %[[R]]
func.func @one_case(%i: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.case"(%i) ({
    %1 = math.exp %x : tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// An optimization barrier only restricts rewrites of XLA, and is removed.
// CHECK-LABEL: func @barrier
// CHECK-SAME: (%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>)
// CHECK-NEXT: return %[[Y]], %[[X]]
func.func @barrier(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0:2 = "stablehlo.optimization_barrier"(%y, %x) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}
