// RUN: lockstep-opt %s --check-element-types --split-input-file -verify-diagnostics

// All element types that have kernels, and index, which only the compiler creates.
func.func @fine(%a: tensor<2xi1>, %b: tensor<2xi8>, %c: tensor<2xi16>, %d: tensor<2xi32>, %e: tensor<2xi64>, %f: tensor<2xf16>,
                %g: tensor<2xbf16>, %h: tensor<2xf32>, %i: tensor<2xf64>, %j: tensor<2xindex>) {
  return
}

// -----

// Arguments are checked first.
// expected-error@+1 {{there are no kernels for elements of type 'i4': expected i1, i8, i16, i32, i64, f16, bf16, f32 or f64 [E_DTYPE_UNSUPPORTED]}}
func.func @argument(%x: tensor<4xi4>) -> tensor<4xi4> {
  return %x : tensor<4xi4>
}

// -----

// Scalars in a computation are in registers: only tensors, which are in memory, are checked.
func.func @scalars(%x: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.map ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) (%a: f32, %o: f32) {
    %c = complex.create %a, %a : complex<f32>
    %n = complex.abs %c : complex<f32>
    linalg.yield %n : f32
  }
  return %0 : tensor<4xf32>
}

// -----

// The error is at the operation that creates such a tensor, in any region.
func.func @inside(%p: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = scf.if %p -> tensor<4xf32> {
    // expected-error@+1 {{there are no kernels for elements of type 'f8E4M3FN'}}
    %1 = arith.truncf %x : tensor<4xf32> to tensor<4xf8E4M3FN>
    %2 = arith.extf %1 : tensor<4xf8E4M3FN> to tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @complex() {
  // expected-error@+1 {{complex numbers are not supported: expected elements of type i1, i8, i16, i32, i64, f16, bf16, f32 or f64, found 'complex<f32>' [E_DTYPE_UNSUPPORTED]}}
  %0 = tensor.empty() : tensor<4xcomplex<f32>>
  return
}

// -----

// The width of an index is the compiler's choice: no batch can have such elements.
// expected-error@+1 {{there are no kernels for elements of type 'index'}}
func.func @index_argument(%n: tensor<index> {device.binding = #device.binding<batch "n">}) {
  return
}

// -----

// Memory is planned for tensors of known ranks.
// expected-error@+1 {{expected a tensor whose number of dimensions is known, found 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  return %x : tensor<*xf32>
}
