// RUN: lockstep-opt %s --form-kernels --split-input-file -verify-diagnostics

// Only tensors and indices cross the boundary of a kernel: a step's own loop cannot hand a float to one.
#id = affine_map<(i) -> (i)>
collective.group @all
func.func @float(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">}) -> (tensor<8xf32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<8xf32>
  %l:2 = scf.for %i = %zero to %one step %one iter_args(%c = %x, %f = %half) -> (tensor<8xf32>, f32) {
    // expected-error@+1 {{expected a tensor or an index to cross the boundary of a kernel, found 'f32'}}
    %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%c : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      %0 = arith.mulf %in, %f : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    %h = collective.start all_reduce sum @all (%a : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
    %s = collective.wait %h (%a : tensor<8xf32>) : !collective.pending<tensor<8xf32>> -> tensor<8xf32>
    scf.yield %s, %f : tensor<8xf32>, f32
  }
  return %l#0 : tensor<8xf32>
}

// -----

// A computation that ends in scalars for others has no memory to leave them in.
func.func @scalars(%x: tensor<8xf32> {device.binding = #device.binding<batch "x">}, %n: tensor<i32> {device.binding = #device.binding<scalar "n">})
    -> (tensor<f32> {device.binding = #device.binding<result "r">}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %half = arith.constant 0.5 : f32
  %big = arith.constant 1000000 : index
  // expected-error@+1 {{expected results that are tensors, found 'f32'}}
  %l:2 = scf.for %i = %zero to %big step %one iter_args(%f = %half, %t = %x) -> (f32, tensor<8xf32>) {
    %g = arith.mulf %f, %f : f32
    scf.yield %g, %t : f32, tensor<8xf32>
  }
  %wide = tensor.generate {
  ^bb0(%i: index, %j: index):
    tensor.yield %l#0 : f32
  } : tensor<1024x1024xf32>
  %r = tensor.from_elements %l#0 : tensor<f32>
  return %r : tensor<f32>
}
