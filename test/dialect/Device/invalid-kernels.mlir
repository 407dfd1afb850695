// RUN: lockstep-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Rules for kernels, invocations and declarations of a module.

// expected-error@+1 {{expected tensors, then values of type 'index' as arguments, found 'tensor<8xf32>'}}
device.kernel @order(index, tensor<8xf32>) -> tensor<8xf32>

// -----

// expected-error@+1 {{expected tensors, then values of type 'index' as arguments, found 'f32'}}
device.kernel @scalar(tensor<8xf32>, f32) -> tensor<8xf32>

// -----

// expected-error@+1 {{expected results that are tensors, found 'f32'}}
device.kernel @result(tensor<8xf32>) -> f32

// -----

// expected-error@+1 {{expected 'in_place' to have 1 entries, found 2}}
device.kernel @in_place(tensor<8xf32>) -> tensor<8xf32> attributes {in_place = array<i64: 0, 0>}

// -----

// expected-error@+1 {{expected 'in_place' to name an argument of type 'tensor<8xf32>', found 0}}
device.kernel @in_place_type(tensor<4xf32>) -> tensor<8xf32> attributes {in_place = array<i64: 0>}

// -----

// expected-error@+1 {{expected a grid of at least one tile, found 0}}
device.kernel @grid(tensor<8xf32>) -> tensor<8xf32> attributes {grid = 0 : i64}

// -----

// expected-error@+1 {{expected scratch memory that is not negative, found -1}}
device.kernel @scratch(tensor<8xf32>) -> tensor<8xf32> attributes {scratch = -1 : i64}

// -----

device.kernel @yield(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected operands of types ('tensor<4xf32>'), found ('tensor<8xf32>')}}
  device.yield %x : tensor<8xf32>
}

// -----

func.func @step(%x: tensor<8xf32>) {
  // expected-error@+1 {{unknown kernel @missing}}
  device.invoke @missing(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

device.kernel @k(tensor<8xf32>) -> tensor<8xf32>
func.func @step(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected operands and results of kernel @k, '(tensor<8xf32>) -> tensor<8xf32>'}}
  device.invoke @k(%x) : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{expected elements of type 'i8' in 'object', found 'i32'}}
device.binary @b target "x86-64-v3" {object = dense<0> : tensor<4xi32>}

// -----

// expected-error@+1 {{expected a target, found an empty name}}
device.binary @b target "" {object = dense<0> : tensor<4xi8>}

// -----

// expected-error@+1 {{expected device 'cuda' with a cubin, found 'cpu'}}
device.binary @b target "x86-64-v3" {cubin = dense<0> : tensor<4xi8>, object = dense<0> : tensor<4xi8>}

// -----

// expected-error@+1 {{expected elements of type 'i8' in 'cubin', found 'i32'}}
device.binary @b device "cuda" target "sm_90" {cubin = dense<0> : tensor<4xi32>, object = dense<0> : tensor<4xi8>}

// -----

// expected-error@+1 {{expected space 'variable' or 'replica_variable', found 'shared'}}
device.variable @v shared[0] : tensor<4xf32> {aggregation = 0 : i32, synchronization = 0 : i32}

// -----

// expected-error@+1 {{expected a static shape, found 'tensor<?xf32>'}}
device.variable @v variable[0] : tensor<?xf32> {aggregation = 0 : i32, synchronization = 0 : i32}

// -----

// expected-error@+1 {{expected an offset that is not negative and a multiple of the element's 4 bytes, found 2}}
device.variable @v variable[2] : tensor<4xf32> {aggregation = 0 : i32, synchronization = 0 : i32}

// -----

// expected-error@+1 {{expected an initial value of type 'tensor<4xf32>', found 'tensor<2xf32>'}}
device.variable @v variable[0] : tensor<4xf32> {aggregation = 0 : i32, initial = dense<0.0> : tensor<2xf32>, synchronization = 0 : i32}

// -----

// expected-error@+1 {{expected a static shape, found 'tensor<?xf32>'}}
device.scalar "lr"[0] : tensor<?xf32>

// -----

// expected-error@+1 {{expected a default value of type 'tensor<f32>', found 'tensor<f64>'}}
device.scalar "lr"[0] : tensor<f32> {default_value = dense<0.0> : tensor<f64>}

// -----

// expected-error@+1 {{expected an offset that is not negative and a multiple of the element's 4 bytes, found -4}}
device.scalar "lr"[-4] : tensor<f32>

// -----

// expected-error@+1 {{expected elements of type 'i8' in 'bytes', found 'f32'}}
device.constants {bytes = dense<0.0> : tensor<4xf32>}

// -----

device.constants {bytes = dense<0> : tensor<4xi8>}
// expected-error@+1 {{expected at most one in a module}}
device.constants {bytes = dense<0> : tensor<4xi8>}

// -----

// Each dynamic dimension of an argument or result needs an argument of type index that holds its size.
// expected-error@+1 {{expected an argument of type 'index' for each of 2 dynamic dimensions, found 1}}
device.kernel @k(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> attributes {bounds = array<i64: 4>} {
  device.yield %a : tensor<?xf32>
}

// -----

// Each dynamic dimension of a result needs a bound.
// expected-error@+1 {{expected 'bounds' to have 1 entries, one for each dynamic dimension of the results, found 0}}
device.kernel @k(%a: tensor<?xf32>, %n: index, %m: index) -> tensor<?xf32> {
  device.yield %a : tensor<?xf32>
}

// -----

// expected-error@+1 {{'device.entry' op expected a grid of at least one tile, found 0}}
device.entry @k grid 0 flops 0 bytes 0

// -----

func.func @batch() {
  // expected-error@+1 {{expected one result for each of 2 names, found 1}}
  %0 = device.load_batch ["x", "y"] : tensor<f32>
  return
}

// -----

// expected-error@+1 {{expected sizes and counts that are not negative}}
device.entry @k takes <reads [-1] writes [] in_place [] dynamic [] scratch 0 registers 0> grid 1 flops 0 bytes 0

// -----

// expected-error@+1 {{expected 'in_place' for 1 results, found 2}}
device.entry @k takes <reads [4] writes [4] in_place [0, 0] dynamic [] scratch 0 registers 0> grid 1 flops 0 bytes 0

// -----

// expected-error@+1 {{expected 'in_place' to name a read or -1, found 1}}
device.entry @k takes <reads [4] writes [4] in_place [1] dynamic [] scratch 0 registers 0> grid 1 flops 0 bytes 0

// -----

// expected-error@+1 {{expected 'dynamic' for 2 tensors, found 1}}
device.entry @k takes <reads [4] writes [4] in_place [] dynamic [0] scratch 0 registers 0> grid 1 flops 0 bytes 0

// -----

// expected-error@+1 {{expected 0 to 64 dynamic dimensions, found -1}}
device.entry @k takes <reads [4] writes [4] in_place [] dynamic [0, -1] scratch 0 registers 0> grid 1 flops 0 bytes 0

// -----

// expected-error@+1 {{expected a register for each of 2 dynamic dimensions, found 1}}
device.entry @k takes <reads [4] writes [4] in_place [] dynamic [1, 1] scratch 0 registers 1> grid 1 flops 0 bytes 0

// -----

// expected-error@+1 {{expected a part of a variable to be in space 'replica_variable', found 'variable'}}
device.variable @w variable[0] : tensor<4xf32> {synchronization = 0 : i32, aggregation = 0 : i32, whole_shape = array<i64: 2, 4>}
