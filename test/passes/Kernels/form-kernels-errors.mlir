// RUN: lockstep-opt %s --form-kernels --split-input-file -verify-diagnostics

// Only tensors and indices cross the boundary of a kernel. A float that a loop of a step carries is an error (carry-tensors makes it a tensor).
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
