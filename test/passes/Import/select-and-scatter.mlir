// RUN: lockstep-opt %s --allow-unregistered-dialect --import-stablehlo --canonicalize --cse --split-input-file --verify-each | FileCheck %s

#scalar = affine_map<() -> ()>

// The gradient of a max-pool of large, overlapping windows: for each window, the position of its first maximum is found, and the
// gradient is added there. Windows without padding need no bounds test.
// CHECK-LABEL: func @large
// CHECK-SAME: (%[[X:.*]]: tensor<67xf32>, %[[G:.*]]: tensor<2xf32>)
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[C3:.*]] = arith.constant 65 : index
// CHECK: %[[ZERO:.*]] = linalg.fill
// CHECK: scf.for %[[W:.*]] = %{{.*}} to %[[C2]] {{.*}} iter_args(%[[R:.*]] = %[[ZERO]])
// CHECK: %[[BEST:.*]]:3 = scf.for %[[D:.*]] = %{{.*}} to %[[C3]] {{.*}} iter_args(%[[HAS:.*]] = %false, %[[VALUE:.*]] = %{{.*}}, %[[PLACE:.*]] = %{{.*}}) -> (i1, f32, index)
// CHECK: %[[FIRST:.*]] = arith.muli %[[W]], %[[C2]]
// CHECK: %[[HERE:.*]] = arith.addi %[[FIRST]], %[[D]]
// CHECK-NOT: scf.if
// CHECK: %[[E:.*]] = tensor.extract %[[X]][%[[HERE]]]
// CHECK: %[[GE:.*]] = arith.cmpf oge, %[[VALUE]], %[[E]]
// CHECK: %[[KEEP:.*]] = arith.andi %[[HAS]], %[[GE]]
// CHECK: %[[V:.*]] = arith.select %[[KEEP]], %[[VALUE]], %[[E]]
// CHECK: %[[P:.*]] = arith.select %[[KEEP]], %[[PLACE]], %[[HERE]]
// CHECK: scf.yield %true, %[[V]], %[[P]]
// CHECK: %[[OLD:.*]] = tensor.extract %[[R]][%[[BEST]]#2]
// CHECK: %[[NEW:.*]] = tensor.extract %[[G]][%[[W]]]
// CHECK: %[[SUM:.*]] = arith.addf %[[NEW]], %[[OLD]]
// CHECK: tensor.insert %[[SUM]] into %[[R]][%[[BEST]]#2]
func.func @large(%x: tensor<67xf32>, %g: tensor<2xf32>) -> tensor<67xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %g, %zero) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 65>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %e = tensor.empty() : tensor<i1>
    %s = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%a, %b : tensor<f32>, tensor<f32>) outs(%e : tensor<i1>) {
    ^bb0(%in: f32, %in2: f32, %out: i1):
      %1 = arith.cmpf oge, %in, %in2 : f32
      linalg.yield %1 : i1
    } -> tensor<i1>
    "stablehlo.return"(%s) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %e = tensor.empty() : tensor<f32>
    %s = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%a, %b : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %1 = arith.addf %in, %in2 : f32
      linalg.yield %1 : f32
    } -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<67xf32>, tensor<2xf32>, tensor<f32>) -> tensor<67xf32>
  return %0 : tensor<67xf32>
}

// -----

// With padding, positions outside of the operand are no candidates, and a window entirely outside scatters nothing.
// CHECK-LABEL: func @large_padded
// CHECK-DAG: %[[C4:.*]] = arith.constant 68 : index
// CHECK: %[[BEST:.*]]:3 = scf.for
// CHECK: %[[HERE:.*]] = arith.subi
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[HERE]], %[[C4]]
// CHECK: scf.if %[[INSIDE]]
// CHECK: scf.if %[[BEST]]#0
func.func @large_padded(%x: tensor<68xf32>, %g: tensor<4xf32>) -> tensor<68xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %g, %zero) <{padding = dense<[[2, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 65>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = arith.cmpf oge, %a, %b : tensor<f32>
    "stablehlo.return"(%s) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = arith.addf %a, %b : tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<68xf32>, tensor<4xf32>, tensor<f32>) -> tensor<68xf32>
  return %0 : tensor<68xf32>
}

// -----

#scalar = affine_map<() -> ()>

// Small windows: the number of the position that each one selects is found first.
// CHECK-DAG: #[[SCALAR:.*]] = affine_map<(d0) -> ()>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func @pool
// CHECK-SAME: (%[[X:.*]]: tensor<5xf32>, %[[G:.*]]: tensor<2xf32>)
// CHECK: %[[SELECTED:.*]] = linalg.generic {indexing_maps = [#[[ID]]], iterator_types = ["parallel"]} outs(%{{.*}} : tensor<2xi8>)
// CHECK: %[[W:.*]] = linalg.index 0
// CHECK: %[[FIRST:.*]] = arith.muli %[[W]], %c2
// CHECK: %[[A:.*]] = tensor.extract %[[X]][%[[FIRST]]]
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1
// CHECK: %[[B:.*]] = tensor.extract %[[X]][%[[SECOND]]]
// CHECK: %[[KEEP:.*]] = arith.cmpf oge, %[[A]], %[[B]]
// CHECK: %[[BEST:.*]] = arith.select %[[KEEP]], %[[A]], %[[B]]
// CHECK: %[[WORSE:.*]] = arith.xori %[[KEEP]], %true
// CHECK: %[[NUMBER:.*]] = arith.extui %[[WORSE]] : i1 to i8
// CHECK: %[[C:.*]] = tensor.extract %[[X]]
// CHECK: %[[LAST:.*]] = arith.cmpf oge, %[[BEST]], %[[C]]
// CHECK: %[[RESULT:.*]] = arith.select %[[LAST]], %[[NUMBER]], %c2_i8
// CHECK: linalg.yield %[[RESULT]] : i8
// Each element then adds the gradients of the windows that have selected it: window i / 2 - 1, where it may be at position 2, and then window i / 2.
// CHECK: linalg.generic {indexing_maps = [#[[SCALAR]], #[[ID]]], iterator_types = ["parallel"]}
// CHECK: ^bb0(%[[ZERO:.*]]: f32,
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[WINDOW:.*]] = arith.divui %[[I]], %c2
// CHECK: %[[REST:.*]] = arith.remui %[[I]], %c2
// CHECK: %[[BEFORE:.*]] = arith.subi %[[WINDOW]], %c1
// CHECK: %[[AT:.*]] = arith.addi %[[REST]], %c2
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[AT]], %c3
// CHECK: %[[IS:.*]] = arith.cmpi ult, %[[BEFORE]], %c2
// CHECK: %[[EXISTS:.*]] = arith.andi %[[IN]], %[[IS]]
// CHECK: %[[PLACE:.*]] = arith.select %[[EXISTS]], %[[BEFORE]], %c0
// CHECK: %[[S:.*]] = tensor.extract %[[SELECTED]][%[[PLACE]]]
// CHECK: %[[N:.*]] = arith.index_cast %[[AT]] : index to i8
// CHECK: %[[OWN:.*]] = arith.cmpi eq, %[[S]], %[[N]]
// CHECK: %[[V:.*]] = tensor.extract %[[G]][%[[PLACE]]]
// CHECK: %[[SUM:.*]] = arith.addf %[[V]], %[[ZERO]]
// CHECK: %[[TAKE:.*]] = arith.andi %[[EXISTS]], %[[OWN]]
// CHECK: %[[NEXT:.*]] = arith.select %[[TAKE]], %[[SUM]], %[[ZERO]]
// CHECK: tensor.extract %[[SELECTED]]
// CHECK: arith.addf %{{.*}}, %[[NEXT]]
func.func @pool(%x: tensor<5xf32>, %g: tensor<2xf32>) -> tensor<5xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %g, %zero) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %e = tensor.empty() : tensor<i1>
    %s = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%a, %b : tensor<f32>, tensor<f32>) outs(%e : tensor<i1>) {
    ^bb0(%in: f32, %in2: f32, %out: i1):
      %1 = arith.cmpf oge, %in, %in2 : f32
      linalg.yield %1 : i1
    } -> tensor<i1>
    "stablehlo.return"(%s) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %e = tensor.empty() : tensor<f32>
    %s = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%a, %b : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %1 = arith.addf %in, %in2 : f32
      linalg.yield %1 : f32
    } -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<5xf32>, tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}


// -----

#scalar = affine_map<() -> ()>

// Positions in the padding are no candidates, and a window entirely there selects none.
// CHECK-LABEL: func @padded
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<3xi8>)
// CHECK: arith.select %{{.*}}, %c0_i8, %c-1_i8
// CHECK: arith.ori
// CHECK: linalg.yield %{{.*}} : i8
func.func @padded(%x: tensor<4xf32>, %g: tensor<3xf32>) -> tensor<4xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %g, %zero) <{padding = dense<[[2, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %e = tensor.empty() : tensor<i1>
    %s = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%a, %b : tensor<f32>, tensor<f32>) outs(%e : tensor<i1>) {
    ^bb0(%in: f32, %in2: f32, %out: i1):
      %1 = arith.cmpf oge, %in, %in2 : f32
      linalg.yield %1 : i1
    } -> tensor<i1>
    "stablehlo.return"(%s) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %e = tensor.empty() : tensor<f32>
    %s = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%a, %b : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %1 = arith.addf %in, %in2 : f32
      linalg.yield %1 : f32
    } -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#scalar = affine_map<() -> ()>

// There are no windows, so that none can be gathered from.
// CHECK-LABEL: func @no_windows
// CHECK-NOT: linalg.index
// CHECK: return
func.func @no_windows(%x: tensor<1xf32>, %g: tensor<0xf32>) -> tensor<1xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %g, %zero) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %e = tensor.empty() : tensor<i1>
    %s = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%a, %b : tensor<f32>, tensor<f32>) outs(%e : tensor<i1>) {
    ^bb0(%in: f32, %in2: f32, %out: i1):
      %1 = arith.cmpf oge, %in, %in2 : f32
      linalg.yield %1 : i1
    } -> tensor<i1>
    "stablehlo.return"(%s) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %e = tensor.empty() : tensor<f32>
    %s = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%a, %b : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %1 = arith.addf %in, %in2 : f32
      linalg.yield %1 : f32
    } -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<1xf32>, tensor<0xf32>, tensor<f32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
