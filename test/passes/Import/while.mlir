// RUN: lockstep-opt %s --allow-unregistered-dialect --import-stablehlo --canonicalize --split-input-file --verify-each | FileCheck %s

#scalar = affine_map<() -> ()>

// A counted loop becomes scf.for: its counter and values that grow along with it are computed from the induction variable,
// and loop invariants are not carried.
// CHECK-LABEL: func @fori
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C10:.*]] = arith.constant 10 : index
// CHECK: %[[R:.*]] = scf.for %[[I:.*]] = %[[C0]] to %[[C10]] step %[[C1]] iter_args(%[[A:.*]] = %[[X]]) -> (tensor<4xf32>)
// CHECK: %[[COUNT:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK: %[[TENSOR:.*]] = tensor.from_elements %[[COUNT]] : tensor<i32>
// CHECK: %[[FLOAT:.*]] = arith.sitofp %[[TENSOR]]
// CHECK: %[[SPLAT:.*]] = tensor.generate
// CHECK: tensor.extract %[[FLOAT]][]
// CHECK: %[[NEW:.*]] = math.fma %[[SPLAT]], %[[A]], %[[Y]]
// CHECK: scf.yield %[[NEW]]
// CHECK: return %[[R]]
func.func @fori(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant dense<0> : tensor<i32>
  %c1 = arith.constant 1 : i32
  %c10 = arith.constant 10 : i32
  %r:4 = "stablehlo.while"(%c0, %c0, %x, %y) ({
  ^bb0(%i: tensor<i32>, %j: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %e = tensor.empty() : tensor<i1>
    %less = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%i : tensor<i32>) outs(%e : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %0 = arith.cmpi slt, %in, %c10 : i32
      linalg.yield %0 : i1
    } -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %j: tensor<i32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %e = tensor.empty() : tensor<i32>
    %next = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%i : tensor<i32>) outs(%e : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.addi %in, %c1 : i32
      linalg.yield %0 : i32
    } -> tensor<i32>
    %other = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%j : tensor<i32>) outs(%e : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.addi %c1, %in : i32
      linalg.yield %0 : i32
    } -> tensor<i32>
    %float = arith.sitofp %j : tensor<i32> to tensor<f32>
    %splat = tensor.generate {
    ^bb0(%d: index):
      %0 = tensor.extract %float[] : tensor<f32>
      tensor.yield %0 : f32
    } : tensor<4xf32>
    %new = math.fma %splat, %a, %b : tensor<4xf32>
    "stablehlo.return"(%next, %other, %new, %b) : (tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>) -> ()
  }) : (tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>)
  return %r#2 : tensor<4xf32>
}

// -----

#scalar = affine_map<() -> ()>

// Bounds may be values: the loop ends where the counter, read as unsigned, reaches the bound. The counter's last value is
// computed after the loop, and is correct without iterations too.
// CHECK-LABEL: func @bounds
// CHECK-SAME: (%[[LOW:.*]]: tensor<i32>, %[[HIGH:.*]]: tensor<i32>)
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK: %[[L:.*]] = tensor.extract %[[LOW]][]
// CHECK: %[[LOWER:.*]] = arith.index_castui %[[L]] : i32 to index
// CHECK: %[[H:.*]] = tensor.extract %[[HIGH]][]
// CHECK: %[[UPPER:.*]] = arith.index_castui %[[H]] : i32 to index
// CHECK: scf.for %[[I:.*]] = %[[LOWER]] to %[[UPPER]] step %[[C3]] iter_args
// CHECK: %[[DISTANCE:.*]] = arith.subi %[[I]], %[[LOWER]]
// CHECK: arith.ceildivsi %[[DISTANCE]], %[[C3]]
// CHECK: %[[END:.*]] = arith.maxsi %[[LOWER]], %[[UPPER]]
// CHECK: %[[DISTANCE:.*]] = arith.subi %[[END]], %[[LOWER]]
// CHECK: arith.ceildivsi %[[DISTANCE]], %[[C3]]
func.func @bounds(%low: tensor<i32>, %high: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %c3 = arith.constant 3 : i32
  %r:2 = "stablehlo.while"(%low, %high) ({
  ^bb0(%i: tensor<i32>, %x: tensor<i32>):
    %e = tensor.empty() : tensor<i1>
    %less = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%i, %high : tensor<i32>, tensor<i32>) outs(%e : tensor<i1>) {
    ^bb0(%in: i32, %bound: i32, %out: i1):
      %0 = arith.cmpi ugt, %bound, %in : i32
      linalg.yield %0 : i1
    } -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %x: tensor<i32>):
    %e = tensor.empty() : tensor<i32>
    %next = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%i : tensor<i32>) outs(%e : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.addi %in, %c3 : i32
      linalg.yield %0 : i32
    } -> tensor<i32>
    %y = arith.muli %i, %x : tensor<i32>
    "stablehlo.return"(%next, %y) : (tensor<i32>, tensor<i32>) -> ()
  }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return %r#0, %r#1 : tensor<i32>, tensor<i32>
}

// -----

// Any other loop becomes scf.while: its condition is one scalar, read from a tensor.
// CHECK-LABEL: func @while
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: scf.while (%[[A:.*]] = %[[X]]) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[FIRST:.*]] = tensor.extract_slice %[[A]]
// CHECK: %[[SCALAR:.*]] = tensor.extract %{{.*}}[]
// CHECK: scf.condition(%[[SCALAR]]) %[[A]]
// CHECK: ^bb0(%[[B:.*]]: tensor<4xf32>):
// CHECK: %[[NEW:.*]] = math.exp %[[B]]
// CHECK: scf.yield %[[NEW]]
func.func @while(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    %first = tensor.extract_slice %a[0] [1] [1] : tensor<4xf32> to tensor<f32>
    %go = arith.cmpf olt, %first, %first : tensor<f32>
    "stablehlo.return"(%go) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>):
    %new = math.exp %a : tensor<4xf32>
    "stablehlo.return"(%new) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

#scalar = affine_map<() -> ()>

// A loop whose bound changes in it is no counted loop.
// CHECK-LABEL: func @moving_bound
// CHECK-NOT: scf.for
// CHECK: scf.while
func.func @moving_bound(%low: tensor<i32>, %high: tensor<i32>) -> tensor<i32> {
  %c1 = arith.constant 1 : i32
  %r:2 = "stablehlo.while"(%low, %high) ({
  ^bb0(%i: tensor<i32>, %bound: tensor<i32>):
    %e = tensor.empty() : tensor<i1>
    %less = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%i, %bound : tensor<i32>, tensor<i32>) outs(%e : tensor<i1>) {
    ^bb0(%a: i32, %b: i32, %out: i1):
      %0 = arith.cmpi slt, %a, %b : i32
      linalg.yield %0 : i1
    } -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %bound: tensor<i32>):
    %e = tensor.empty() : tensor<i32>
    %next = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%i : tensor<i32>) outs(%e : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.addi %in, %c1 : i32
      linalg.yield %0 : i32
    } -> tensor<i32>
    %moved = arith.muli %bound, %bound : tensor<i32>
    "stablehlo.return"(%next, %moved) : (tensor<i32>, tensor<i32>) -> ()
  }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return %r#0 : tensor<i32>
}
