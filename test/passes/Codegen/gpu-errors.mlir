// RUN: lockstep-opt %s --generate-code="targets=sm_90" --split-input-file -verify-diagnostics

// A phase may find another value in memory than the one before.
#scalar = affine_map<(i) -> ()>
#vector = affine_map<(i) -> (i)>
device.kernel @asserts(%a: tensor<8xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#vector, #scalar], iterator_types = ["reduction"]} ins(%a : tensor<8xf32>) outs(%f : tensor<f32>) {
  ^bb0(%x: f32, %y: f32):
    %1 = arith.addf %x, %y : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  %sum = tensor.extract %s[] : tensor<f32>
  %fits = arith.cmpf oge, %sum, %zero : f32
  // expected-error@+1 {{no code on a GPU for an assertion about a value that the kernel computes in memory}}
  cf.assert %fits, "expected a sum that is not negative"
  device.yield %s : tensor<f32>
}

// -----

#id = affine_map<(i) -> (i)>
device.kernel @dynamic(%a: tensor<?xf32>, %n: index) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  // expected-error@+1 {{expected intermediate values of static shape, found 'memref<?xf32>'}}
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%p = %e) -> (tensor<?xf32>) {
    %next = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<?xf32>) outs(%p : tensor<?xf32>) {
    ^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    } -> tensor<?xf32>
    scf.yield %next : tensor<?xf32>
  }
  %x = tensor.extract %r[%c0] : tensor<?xf32>
  %s = tensor.from_elements %x : tensor<f32>
  device.yield %s : tensor<f32>
}

// -----

// All threads would write.
device.kernel @vectors(%a: tensor<8xf32>, %i: index) -> tensor<8xf32> {
  %v = arith.constant dense<1.0> : vector<4xf32>
  // expected-error@+1 {{no code for 'vector.transfer_write' on a GPU}}
  %r = vector.transfer_write %v, %a[%i] {in_bounds = [true]} : vector<4xf32>, tensor<8xf32>
  device.yield %r : tensor<8xf32>
}
