// RUN: lockstep-opt %s --allow-unregistered-dialect --import-stablehlo --split-input-file --verify-diagnostics -o /dev/null

// All operations that cannot be imported are reported, not only the first.
func.func @unknown(%x: tensor<4xf32>) {
  // expected-error @+2 {{cannot import 'stablehlo.fft'}}
  // expected-note @+1 {{there is no rule for it here; express it by other JAX operations, or compute it outside of the step}}
  %0 = "stablehlo.fft"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+2 {{cannot import 'chlo.top_k'}}
  // expected-note @+1 {{there is no rule for it here}}
  %1:2 = "chlo.top_k"(%x) : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

func.func @custom_call(%x: tensor<4xf32>) {
  // expected-error @+2 {{cannot import the custom call 'lapack_spotrf'}}
  // expected-note @+1 {{it calls a function of XLA's own runtime; express it by other JAX operations}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "lapack_spotrf"}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

replica.step @no_reduction(%x: tensor<4xf32>) {
  // expected-error @+1 {{"replica.all_reduce" expected 'reduction' to be one of "SUM", "MEAN", "PRODUCT", "MIN", "MAX", found none}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.all_reduce", backend_config = {}}> : (tensor<4xf32>) -> tensor<4xf32>
  replica.return
}

// -----

replica.step @unknown_reduction(%x: tensor<4xf32>) {
  // expected-error @+1 {{"replica.all_reduce" expected 'reduction' to be one of "SUM", "MEAN", "PRODUCT", "MIN", "MAX", found "MEDIAN"}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.all_reduce", backend_config = {reduction = "MEDIAN"}}> : (tensor<4xf32>) -> tensor<4xf32>
  replica.return
}

// -----

replica.step @no_axis(%x: tensor<4xf32>) {
  // expected-error @+1 {{'replica.all_gather' expected an integer 'axis', found none}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.all_gather", backend_config = {}}> : (tensor<4xf32>) -> tensor<8xf32>
  replica.return
}

// -----

replica.step @result_type(%x: tensor<4xi32>) {
  // expected-error @+1 {{'replica.all_reduce' expected results of types ('tensor<4xf64>'), found ('tensor<4xi32>')}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.all_reduce", backend_config = {reduction = "MEAN"}}> : (tensor<4xi32>) -> tensor<4xi32>
  replica.return
}

// -----

replica.step @unsigned_reduction(%x: tensor<4xui32>) {
  // expected-error @+1 {{"replica.all_reduce" expected signed integers or floats, found 'tensor<4xui32>'}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.all_reduce", backend_config = {reduction = "SUM"}}> : (tensor<4xui32>) -> tensor<4xui32>
  replica.return
}

// -----

replica.step @unsigned_mean(%x: tensor<4xui8> {replica.batch = "x"}) -> (tensor<4xf64> {replica.result = "m"}) {
  // expected-error @+1 {{"replica.all_reduce" expected signed integers or floats, found 'tensor<4xui8>'}}
  %m = replica.all_reduce mean %x : tensor<4xui8> -> tensor<4xf64>
  replica.return %m : tensor<4xf64>
}

// -----

// expected-error @+1 {{expected signed integers or floats in a variable whose copies are combined as a mean, found 'tensor<4xui8>'}}
replica.variable @w : tensor<4xui8> {aggregation = #replica.aggregation<mean>, synchronization = #replica.synchronization<on_read>}

// -----

func.func @cast(%x: tensor<4xui32>) {
  // expected-error @+1 {{cannot import 'builtin.unrealized_conversion_cast': expected types that differ by signs, found ('tensor<4xi32>') and ('tensor<4xi64>')}}
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xui32> to tensor<4xi64>
  return
}

// -----

func.func private @elsewhere(tensor<4xf32>)
func.func @external(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a function with a body, found @elsewhere}}
  call @elsewhere(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @recursive(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot import the recursive call of @recursive}}
  call @recursive(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @while(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot import 'stablehlo.while': expected a condition and a body on the operands' types ('tensor<4xf32>')}}
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<3xf32>):
    %1 = arith.constant dense<true> : tensor<i1>
    "stablehlo.return"(%1) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>):
    "stablehlo.return"(%a) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @case(%i: tensor<i32>, %x: tensor<f32>) {
  // expected-error @+1 {{cannot import 'stablehlo.case': expected branches without arguments that return ('tensor<f32>')}}
  %0 = "stablehlo.case"(%i) ({
    "stablehlo.return"(%x) : (tensor<f32>) -> ()
  }, {
    "stablehlo.return"() : () -> ()
  }) : (tensor<i32>) -> tensor<f32>
  return
}

// -----

func.func @if(%p: tensor<i1>, %x: tensor<f32>) {
  // expected-error @+1 {{cannot import 'stablehlo.if': expected one operand and at least 2 branches}}
  %0 = "stablehlo.if"(%p) ({
    "stablehlo.return"(%x) : (tensor<f32>) -> ()
  }) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

func.func @scatter_operands(%x: tensor<4xf32>, %i: tensor<1xi32>) {
  // expected-error @+1 {{cannot import 'stablehlo.scatter': expected inputs, indices and as many updates, found 2 operands}}
  %0 = "stablehlo.scatter"(%x, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @scatter_region(%x: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>) {
  // expected-error @+1 {{cannot import 'stablehlo.scatter': expected region 0 to take 2 scalars and return 1}}
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>):
    "stablehlo.return"(%a) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @scatter_attribute(%x: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>) {
  // expected-error @+1 {{cannot import 'stablehlo.scatter': expected attribute 'scatter_dimension_numbers'}}
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @scatter_text(%x: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>) {
  // expected-error @+1 {{expected 'scatter_dimension_numbers' to be #stablehlo.scatter<name = [numbers], ...>, found #stablehlo.scatter<index_vector_dim = x>}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<index_vector_dim = x>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @scatter_dimensions(%x: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>) {
  // expected-error @+1 {{cannot import 'stablehlo.scatter': the dimension numbers #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [1]> do not fit the operands}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [1]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @scatter_shape(%x: tensor<?xf32>, %i: tensor<1xi32>, %u: tensor<f32>) {
  // expected-error @+1 {{cannot import 'stablehlo.scatter': expected tensors of static shape, found 'tensor<?xf32>'}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<?xf32>, tensor<1xi32>, tensor<f32>) -> tensor<?xf32>
  return
}

// -----

func.func @pool_operands(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot import 'stablehlo.select_and_scatter': expected 3 operands, found 1}}
  %0 = "stablehlo.select_and_scatter"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pool_window(%x: tensor<4xf32>, %g: tensor<2xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{cannot import 'stablehlo.select_and_scatter': expected a window of 1 dimensions}}
  %0 = "stablehlo.select_and_scatter"(%x, %g, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = arith.cmpf oge, %a, %b : tensor<f32>
    "stablehlo.return"(%s) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = arith.addf %a, %b : tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @sort_operands() {
  // expected-error @+1 {{cannot import 'stablehlo.sort': expected operands}}
  "stablehlo.sort"() : () -> ()
  return
}

// -----

func.func @sort_dimension(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot import 'stablehlo.sort': expected a dimension in [0, 1), found 1}}
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = arith.cmpf olt, %a, %b : tensor<f32>
    "stablehlo.return"(%s) : (tensor<i1>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

replica.step @merge_callee(%x: tensor<4xf32>) {
  // expected-error @+1 {{'replica.merge_call' expected one function of the operands' and results' types in 'called_computations', found [@merge]}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.merge_call", called_computations = [@merge]}> : (tensor<4xf32>) -> tensor<4xf32>
  replica.return
}
func.func private @merge(%p: tensor<3xf32>) -> tensor<3xf32> {
  return %p : tensor<3xf32>
}

// -----

replica.step @merge_mixed(%x: tensor<4xf32>) {
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.merge_call", called_computations = [@merge]}> : (tensor<4xf32>) -> tensor<4xf32>
  replica.return
}
func.func private @merge(%p: tensor<4xf32>) -> tensor<4xf32> {
  %s = "stablehlo.custom_call"(%p) <{call_target_name = "replica.reduce_to", backend_config = {reduction = "SUM"}}> : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{cannot import the merge_call: expected 'replica.reduce_to', 'replica.gather' or 'replica.local_results' of a per-replica value, found 'arith.subf' of one and of merged values}}
  %d = arith.subf %p, %s : tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

replica.step @merge_no_axis(%x: tensor<4xf32>) {
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.merge_call", called_computations = [@merge]}> : (tensor<4xf32>) -> tensor<8xf32>
  replica.return
}
func.func private @merge(%p: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'replica.gather' expected an integer 'axis', found none}}
  %g = "stablehlo.custom_call"(%p) <{call_target_name = "replica.gather", backend_config = {}}> : (tensor<4xf32>) -> tensor<8xf32>
  return %g : tensor<8xf32>
}

// -----

replica.step @merge_plain(%x: tensor<4xf32>) {
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.merge_call", called_computations = [@merge]}> : (tensor<4xf32>) -> tensor<8xf32>
  replica.return
}
func.func private @merge(%p: tensor<4xf32>) -> tensor<8xf32> {
  %c = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error @+1 {{'replica.gather' expected a per-replica value, found one that is equal on all replicas}}
  %g = "stablehlo.custom_call"(%c) <{call_target_name = "replica.gather", backend_config = {axis = 0 : i64}}> : (tensor<4xf32>) -> tensor<8xf32>
  return %g : tensor<8xf32>
}

// -----

replica.step @merge_broadcast(%x: tensor<4xf32>) {
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.merge_call", called_computations = [@merge]}> : (tensor<4xf32>) -> tensor<4xf32>
  replica.return
}
func.func private @merge(%p: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'replica.broadcast_to' expected a plain value, found a per-replica one}}
  %g = "stablehlo.custom_call"(%p) <{call_target_name = "replica.broadcast_to", backend_config = {}}> : (tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

replica.step @outside(%x: tensor<4xf32>) {
  // expected-error @+1 {{"replica.reduce_to" expected to be in the function of a merge_call, outside of its loops and branches [E_CONTEXT]}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "replica.reduce_to", backend_config = {reduction = "SUM"}}> : (tensor<4xf32>) -> tensor<4xf32>
  replica.return
}

// -----

replica.step @lookup_operands(%ids: tensor<3xi32>) {
  // expected-error @+1 {{'replica.lookup' expected a table and ids, found 1 operands}}
  %0 = "stablehlo.custom_call"(%ids) <{call_target_name = "replica.lookup", backend_config = {}}> : (tensor<3xi32>) -> tensor<3x2xf32>
  replica.return
}

// -----

replica.step @slices_operands(%ids: tensor<3xi32>) {
  // expected-error @+1 {{'replica.slices_to_dense' expected values and indices, found 1 operands}}
  %0 = "stablehlo.custom_call"(%ids) <{call_target_name = "replica.slices_to_dense", backend_config = {}}> : (tensor<3xi32>) -> tensor<3x2xf32>
  replica.return
}

// -----

replica.step @lookup_table(%table: tensor<f32>, %ids: tensor<3xi32>) {
  // expected-error @+1 {{'replica.lookup' expected a table with rows, found 'tensor<f32>'}}
  %0 = "stablehlo.custom_call"(%table, %ids) <{call_target_name = "replica.lookup", backend_config = {}}> : (tensor<f32>, tensor<3xi32>) -> tensor<3xf32>
  replica.return
}

// -----

replica.step @lookup_ids(%table: tensor<5x2xf32>, %ids: tensor<3x1xi32>) {
  // expected-error @+1 {{'replica.lookup' expected ids of one dimension, of i32 or i64, found 'tensor<3x1xi32>'}}
  %0 = "stablehlo.custom_call"(%table, %ids) <{call_target_name = "replica.lookup", backend_config = {}}> : (tensor<5x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  replica.return
}

// -----

func.func @attention(%q: tensor<2x4x3x8xf16>) {
  // expected-error @+1 {{"lockstep.attention" expected 'scale', an f64, and 'causal', a bool, found {scale = 2.500000e-01 : f32}}}
  %0:2 = "stablehlo.custom_call"(%q, %q, %q) <{call_target_name = "lockstep.attention", backend_config = {scale = 0.25 : f32}}>
      : (tensor<2x4x3x8xf16>, tensor<2x4x3x8xf16>, tensor<2x4x3x8xf16>) -> (tensor<2x4x3x8xf16>, tensor<2x3x4xf32>)
  // expected-error @+1 {{"lockstep.attention_gradient" expected 6 operands and 3 results, found 3 and 2}}
  %1:2 = "stablehlo.custom_call"(%q, %q, %q) <{call_target_name = "lockstep.attention_gradient", backend_config = {scale = 0.25 : f64, causal = true}}>
      : (tensor<2x4x3x8xf16>, tensor<2x4x3x8xf16>, tensor<2x4x3x8xf16>) -> (tensor<2x4x3x8xf16>, tensor<2x3x4xf32>)
  return
}
