// RUN: lockstep-opt %s --form-kernels --split-input-file -verify-diagnostics | FileCheck %s

// A size that is loaded stays in the step and is passed to kernels in a register. The result has the bound of the sliced tensor, and so
// has the result of another operation on it.
// CHECK: device.kernel private @[[K:.*]](%{{.*}}: tensor<3x2xf32>, %[[N:.*]]: index) -> tensor<?x2xf32> attributes {bounds = array<i64: 3>
// CHECK:   tensor.extract_slice %{{.*}}[0, 0] [%[[N]], 2]
// CHECK: device.kernel private @[[L:.*]](%{{.*}}: tensor<?x2xf32>, %{{.*}}: index, %{{.*}}: index) -> tensor<?x2xf32> attributes {bounds = array<i64: 3>
// CHECK-LABEL: func.func @slice
func.func @slice(%x: tensor<3x2xf32> {device.binding = #device.binding<batch "x">}, %n: tensor<i32> {device.binding = #device.binding<batch "n">})
    -> (tensor<?x2xf32> {device.binding = #device.binding<result "y">}) {
  // CHECK: %[[E:.*]] = tensor.extract %{{.*}}[] : tensor<i32>
  // CHECK: %[[I:.*]] = arith.index_cast %[[E]] : i32 to index
  // CHECK: %[[S:.*]] = device.invoke @[[K]](%{{.*}}, %[[I]]) : (tensor<3x2xf32>, index) -> tensor<?x2xf32>
  // CHECK: device.invoke @[[L]](%[[S]], %[[I]], %[[I]]) : (tensor<?x2xf32>, index, index) -> tensor<?x2xf32>
  %e = tensor.extract %n[] : tensor<i32>
  %i = arith.index_cast %e : i32 to index
  %s = tensor.extract_slice %x[0, 0] [%i, 2] [1, 1] : tensor<3x2xf32> to tensor<?x2xf32>
  %init = tensor.empty(%i) : tensor<?x2xf32>
  %y = linalg.exp ins(%s : tensor<?x2xf32>) outs(%init : tensor<?x2xf32>) -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}

// -----

// A size that is computed is stored by a kernel and loaded.
// CHECK-LABEL: func.func @computed
func.func @computed(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">}, %n: tensor<i64> {device.binding = #device.binding<batch "n">})
    -> (tensor<?xf32> {device.binding = #device.binding<result "y">}) {
  // CHECK: %[[T:.*]] = device.invoke @{{.*}}(%{{.*}}) : (tensor<i64>) -> tensor<i64>
  // CHECK: %[[E:.*]] = tensor.extract %[[T]][] : tensor<i64>
  // CHECK: %[[I:.*]] = arith.index_cast %[[E]] : i64 to index
  // CHECK: device.invoke @{{.*}}(%{{.*}}, %[[I]]) : (tensor<8xf32>, index) -> tensor<?xf32>
  %e = tensor.extract %n[] : tensor<i64>
  %one = arith.constant 1 : i64
  %m = arith.addi %e, %one : i64
  %i = arith.index_cast %m : i64 to index
  %y = tensor.extract_slice %x[0] [%i] [1] : tensor<8xf32> to tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// The bound of an all_gather is the sum of the bounds of all ranks.
collective.group @all
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4 : i64}
// CHECK-LABEL: func.func @gather
func.func @gather(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">}, %n: tensor<i64> {device.binding = #device.binding<batch "n">},
                  %t: tensor<i64> {device.binding = #device.binding<scalar "t">}) -> (tensor<?xf32> {device.binding = #device.binding<result "y">}) {
  %e = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %e : i64 to index
  %s = tensor.extract_slice %x[0] [%i] [1] : tensor<8xf32> to tensor<?xf32>
  %te = tensor.extract %t[] : tensor<i64>
  %total = arith.index_cast %te : i64 to index
  // CHECK: collective.start all_gather none @all axis 0(%{{.*}} : tensor<?xf32>) sizes(%{{.*}}) {bounds = array<i64: 32>} -> <tensor<?xf32>>
  %h = collective.start all_gather none @all axis 0 (%s : tensor<?xf32>) sizes(%total) -> !collective.pending<tensor<?xf32>>
  %y = collective.wait %h (%s : tensor<?xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// The sides of a branch pad their results to the largest size and yield the actual size, to which the result is sliced after the branch. The same
// is done for a select between two tensors, which canonicalization makes of a branch that computes nothing.
// CHECK: device.kernel private @[[IF:.*]](%{{.*}}: tensor<?xf32>, {{.*}}) -> (tensor<8xf32>, tensor<i64>)
// CHECK:   scf.if
// CHECK:     %[[A:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0] [%{{.*}}] [1] : tensor<?xf32> into tensor<8xf32>
// CHECK:     scf.yield %[[A]], %{{.*}} : tensor<8xf32>, tensor<i64>
// CHECK:   } else {
// CHECK:     %[[B:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0] [%{{.*}}] [1] : tensor<?xf32> into tensor<8xf32>
// CHECK:     scf.yield %[[B]], %{{.*}} : tensor<8xf32>, tensor<i64>
// CHECK: device.kernel private @[[SLICE:.*]](%{{.*}}: tensor<8xf32>, %[[N:.*]]: index) -> tensor<?xf32> attributes {bounds = array<i64: 8>
// CHECK-LABEL: func.func @branch
func.func @branch(%c: tensor<i1> {device.binding = #device.binding<batch "c">}, %x: tensor<8xf32> {device.binding = #device.binding<batch "x">},
                  %y: tensor<3xf32> {device.binding = #device.binding<batch "y">}, %n: tensor<i64> {device.binding = #device.binding<batch "n">},
                  %m: tensor<i64> {device.binding = #device.binding<batch "m">}) -> (tensor<?xf32> {device.binding = #device.binding<result "y">}) {
  // CHECK: %[[R:.*]]:2 = device.invoke @[[IF]]
  // CHECK: %[[E:.*]] = tensor.extract %[[R]]#1[] : tensor<i64>
  // CHECK: %[[I:.*]] = arith.index_cast %[[E]] : i64 to index
  // CHECK: device.invoke @[[SLICE]](%[[R]]#0, %[[I]]) : (tensor<8xf32>, index) -> tensor<?xf32>
  %ne = tensor.extract %n[] : tensor<i64>
  %ni = arith.index_cast %ne : i64 to index
  %me = tensor.extract %m[] : tensor<i64>
  %mi = arith.index_cast %me : i64 to index
  %p = tensor.extract %c[] : tensor<i1>
  %a = tensor.extract_slice %x[0] [%ni] [1] : tensor<8xf32> to tensor<?xf32>
  %b = tensor.extract_slice %y[0] [%mi] [1] : tensor<3xf32> to tensor<?xf32>
  %r = arith.select %p, %a, %b : tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// A tensor of dynamic size that a side computes needs planned memory: the branch stays in the step, and its sides invoke kernels.
// CHECK-LABEL: func.func @computed_sides
func.func @computed_sides(%c: tensor<i1> {device.binding = #device.binding<batch "c">}, %x: tensor<8xf32> {device.binding = #device.binding<batch "x">},
                          %n: tensor<i64> {device.binding = #device.binding<batch "n">}) -> (tensor<?xf32> {device.binding = #device.binding<result "y">}) {
  // CHECK: %[[R:.*]]:2 = scf.if %{{.*}} -> (tensor<8xf32>, tensor<i64>) {
  // CHECK:   %[[Y:.*]] = device.invoke @{{.*}} -> tensor<?xf32>
  // CHECK:   %[[P:.*]] = device.invoke @{{.*}}(%[[Y]], {{.*}}) : (tensor<?xf32>, index) -> tensor<8xf32>
  // CHECK:   scf.yield %[[P]], %{{.*}} : tensor<8xf32>, tensor<i64>
  // CHECK: tensor.extract %[[R]]#1[]
  %ne = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %ne : i64 to index
  %p = tensor.extract %c[] : tensor<i1>
  %a = tensor.extract_slice %x[0] [%i] [1] : tensor<8xf32> to tensor<?xf32>
  %r = scf.if %p -> tensor<?xf32> {
    %init = tensor.empty(%i) : tensor<?xf32>
    %y = linalg.exp ins(%a : tensor<?xf32>) outs(%init : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %y : tensor<?xf32>
  } else {
    scf.yield %a : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

// The result of each side needs a bound.
func.func @unbounded_side(%c: tensor<i1>, %x: tensor<8xf32>, %n: tensor<i64>) -> tensor<?xf32> {
  %e = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %e : i64 to index
  %p = tensor.extract %c[] : tensor<i1>
  %init = tensor.empty(%i) : tensor<?xf32>
  // expected-error@+1 {{no bound for the size of dimension 0 of 'tensor<?xf32>', the result of 'scf.if'}}
  %r = scf.if %p -> tensor<?xf32> {
    %wide = tensor.cast %x : tensor<8xf32> to tensor<?xf32>
    scf.yield %wide : tensor<?xf32>
  } else {
    scf.yield %init : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

// A size that is only the value of an input has no bound.
func.func @unbounded(%n: tensor<i64> {device.binding = #device.binding<batch "n">}) -> (tensor<?xf32> {device.binding = #device.binding<result "y">}) {
  %e = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %e : i64 to index
  %init = tensor.empty(%i) : tensor<?xf32>
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{no bound for the size of dimension 0 of 'tensor<?xf32>', the result of 'linalg.fill'; a slice of a tensor with a static shape has one}}
  %y = linalg.fill ins(%zero : f32) outs(%init : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// expected-error@+1 {{expected arguments of static shape, found 'tensor<?xf32>'}}
func.func @argument(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// Operations whose result sizes cannot be determined are refused.
func.func @concat(%x: tensor<8xf32>, %n: tensor<i64>) -> tensor<?xf32> {
  %e = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %e : i64 to index
  %s = tensor.extract_slice %x[0] [%i] [1] : tensor<8xf32> to tensor<?xf32>
  // expected-error@+1 {{cannot determine the size of dimension 0 of 'tensor<?xf32>', the result of 'tensor.concat'}}
  %y = tensor.concat dim(0) %s, %s : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// A loop must not carry a tensor of dynamic size, since its memory has one size.
func.func @loop(%x: tensor<8xf32>, %n: tensor<i64>) -> tensor<?xf32> {
  %e = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %e : i64 to index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tensor.extract_slice %x[0] [%i] [1] : tensor<8xf32> to tensor<?xf32>
  // expected-error@+1 {{cannot determine the size of dimension 0 of 'tensor<?xf32>', the result of 'scf.for'}}
  %y = scf.for %j = %c0 to %i step %c1 iter_args(%c = %s) -> tensor<?xf32> {
    scf.yield %c : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

// A result with the size of a gathered tensor has the gathered tensor's bound, although no operand has that dimension.
collective.group @all
replica.strategy @s {kind = #replica.kind<mirrored>, replicas = 4 : i64}
// CHECK: device.kernel private @{{.*}}(%{{.*}}: tensor<f32>, %{{.*}}: index) -> tensor<?xf32> attributes {bounds = array<i64: 32>
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">}, %v: tensor<f32> {device.binding = #device.binding<batch "v">},
                     %n: tensor<i64> {device.binding = #device.binding<batch "n">})
    -> (tensor<?xf32> {device.binding = #device.binding<result "y">}) {
  %c0 = arith.constant 0 : index
  %e = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %e : i64 to index
  %s = tensor.extract_slice %x[0] [%i] [1] : tensor<8xf32> to tensor<?xf32>
  %hn = collective.start all_reduce sum @all (%n : tensor<i64>) -> !collective.pending<tensor<i64>>
  %t = collective.wait %hn (%n : tensor<i64>) : !collective.pending<tensor<i64>> -> tensor<i64>
  %te = tensor.extract %t[] : tensor<i64>
  %total = arith.index_cast %te : i64 to index
  %h = collective.start all_gather none @all axis 0 (%s : tensor<?xf32>) sizes(%total) -> !collective.pending<tensor<?xf32>>
  %g = collective.wait %h (%s : tensor<?xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
  %dim = tensor.dim %g, %c0 : tensor<?xf32>
  %init = tensor.empty(%dim) : tensor<?xf32>
  %y = linalg.broadcast ins(%v : tensor<f32>) outs(%init : tensor<?xf32>) dimensions = [0]
  return %y : tensor<?xf32>
}

// -----

// A product of dynamic shape has no epilogue, since the size of a buffer for its sums is not known.
#id = affine_map<(r, c) -> (r, c)>
// CHECK: device.kernel private @[[P:.*_matmul]](
// CHECK-NOT: linalg.generic
// CHECK: device.kernel private @[[E:.*_elementwise]](
// CHECK-LABEL: func.func @no_epilogue
func.func @no_epilogue(%x: tensor<8x2xf32> {device.binding = #device.binding<batch "x">}, %w: tensor<2x4xf32> {device.binding = #device.binding<batch "w">},
                       %n: tensor<i64> {device.binding = #device.binding<batch "n">}) -> (tensor<?x4xf32> {device.binding = #device.binding<result "y">}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %e : i64 to index
  %s = tensor.extract_slice %x[0, 0] [%i, 2] [1, 1] : tensor<8x2xf32> to tensor<?x2xf32>
  %init = tensor.empty(%i) : tensor<?x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: %[[S:.*]] = device.invoke @[[P]](
  // CHECK: device.invoke @[[E]](%[[S]]
  %p = linalg.matmul ins(%s, %w : tensor<?x2xf32>, tensor<2x4xf32>) outs(%fill : tensor<?x4xf32>) -> tensor<?x4xf32>
  %out = tensor.empty(%i) : tensor<?x4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<?x4xf32>) outs(%out : tensor<?x4xf32>) {
  ^bb0(%in: f32, %unused: f32):
    %twice = arith.addf %in, %in : f32
    linalg.yield %twice : f32
  } -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// Reshapes keep bounds: an expanded dimension has its bound divided by the static sizes, a collapsed one has the product of the bounds.
// CHECK: device.kernel private @{{.*}} -> tensor<?x2xf32> attributes {bounds = array<i64: 3>
// CHECK: device.kernel private @{{.*}} -> tensor<?xf32> attributes {bounds = array<i64: 6>
// CHECK-LABEL: func.func @reshape
func.func @reshape(%x: tensor<6xf32> {device.binding = #device.binding<batch "x">}, %n: tensor<i64> {device.binding = #device.binding<batch "x.dim0">})
    -> (tensor<?xf32> {device.binding = #device.binding<result "y">}, tensor<?x2xf32> {device.binding = #device.binding<result "z">}) {
  %c2 = arith.constant 2 : index
  %e = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %e : i64 to index
  %s = tensor.extract_slice %x[0] [%i] [1] : tensor<6xf32> to tensor<?xf32>
  %half = arith.divui %i, %c2 : index
  %z = tensor.expand_shape %s [[0, 1]] output_shape [%half, 2] : tensor<?xf32> into tensor<?x2xf32>
  %y = tensor.collapse_shape %z [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  return %y, %z : tensor<?xf32>, tensor<?x2xf32>
}

// -----

// The size of a batch has the batch's bound, also where the batch itself is not used.
// CHECK: device.kernel private @{{.*}} -> tensor<?xf32> attributes {bounds = array<i64: 6>
// CHECK-LABEL: func.func @size
func.func @size(%x: tensor<6xf32> {device.binding = #device.binding<batch "x">}, %n: tensor<i64> {device.binding = #device.binding<batch "x.dim0">})
    -> (tensor<?xf32> {device.binding = #device.binding<result "y">}) {
  %one = arith.constant 1.0 : f32
  %e = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %e : i64 to index
  %place = tensor.empty(%i) : tensor<?xf32>
  %y = linalg.fill ins(%one : f32) outs(%place : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @dimension(%x: tensor<4xf32>) -> index {
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{expected one of 1 dimensions of 'tensor<4xf32>', found 1}}
  %0 = tensor.dim %x, %c1 : tensor<4xf32>
  return %0 : index
}

// -----

// A function without a body has no sizes.
func.func private @declared(tensor<?xf32>)
