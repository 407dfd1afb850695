// RUN: lockstep-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Every rule of the verifiers. Classes in brackets are those of the error table.

// A group has ranks ...
// expected-error@+1 {{expected at least one rank}}
collective.group @g {ranks = array<i64>}

// -----

// ... ascending, each once ...
// expected-error@+1 {{expected ranks that are not negative and ascending, found 1 at position 1}}
collective.group @g {ranks = array<i64: 1, 1>}

// -----

// ... counted from 0.
// expected-error@+1 {{expected ranks that are not negative and ascending, found -1 at position 0}}
collective.group @g {ranks = array<i64: -1, 1>}

// -----

// A collective names a group ...
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{unknown group @all}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... so does a barrier.
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{unknown group @all}}
  collective.barrier @all
  return
}

// -----

// Some kinds reduce ...
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected a reduction for kind 'all_reduce', found 'none'}}
  %h = collective.start all_reduce none @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... others do not.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected no reduction for kind 'broadcast', found 'sum'}}
  %h = collective.start broadcast sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// Only numbers are reduced [E_DTYPE_UNSUPPORTED].
collective.group @all
func.func @f(%a: tensor<4xi1>) {
  // expected-error@+1 {{expected elements that are numbers, found 'i1' [E_DTYPE_UNSUPPORTED]}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xi1>) -> !collective.pending<tensor<4xi1>>
  %r = collective.wait %h (%a : tensor<4xi1>) : !collective.pending<tensor<4xi1>> -> tensor<4xi1>
  return
}

// -----

// Each operand has a result ...
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected one pending result for each of 2 operands, found 1}}
  %h = collective.start all_reduce sum @all (%a, %b : tensor<4xf32>, tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a, %b : tensor<4xf32>, tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... of its type.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected a pending result of type 'tensor<4xf32>', found 'tensor<2xf32>'}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<2xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}

// -----

// A reduction may leave its result in the f32 that it accumulated f16 or bf16 in, but f32 is not accumulated in f64.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a pending result of type 'tensor<4xf32>', found 'tensor<4xf64>'}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf64>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf64>> -> tensor<4xf64>
  return
}

// -----

// A gather has an axis ...
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected an axis for kind 'all_gather'}}
  %h = collective.start all_gather none @all (%a : tensor<4xf32>) -> !collective.pending<tensor<?xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
  return
}

// -----

// ... of its operands [E_AXIS_RANGE] ...
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected an axis in [0, 1), found 1 [E_AXIS_RANGE]}}
  %h = collective.start all_gather none @all axis 1 (%a : tensor<4xf32>) -> !collective.pending<tensor<?xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
  return
}

// -----

// ... which have one [E_SCALAR_GATHER] ...
collective.group @all
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{expected an operand with an axis to gather along, found the scalar 'tensor<f32>' [E_SCALAR_GATHER]}}
  %h = collective.start all_gather none @all axis 0 (%a : tensor<f32>) -> !collective.pending<tensor<f32>>
  %r = collective.wait %h (%a : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  return
}

// -----

// ... gives results of their rank and element type ...
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a pending result of rank 1 and element type 'f32', found 'tensor<?xf64>'}}
  %h = collective.start all_gather none @all axis 0 (%a : tensor<4xf32>) -> !collective.pending<tensor<?xf64>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<?xf64>> -> tensor<?xf64>
  return
}

// -----

// ... says how large they become ...
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a size for each of 1 dynamic dimensions of the results, found 0}}
  %h = collective.start all_gather none @all axis 0 (%a : tensor<4xf32>) -> !collective.pending<tensor<?xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
  return
}

// -----

// ... leaves other dimensions as they are [E_SHAPE_MISMATCH] ...
collective.group @all
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{expected dimension 1 of the pending result to be as in the operand 'tensor<2x3xf32>', found 'tensor<?x4xf32>' [E_SHAPE_MISMATCH]}}
  %h = collective.start all_gather none @all axis 0 (%a : tensor<2x3xf32>) -> !collective.pending<tensor<?x4xf32>>
  %r = collective.wait %h (%a : tensor<2x3xf32>) : !collective.pending<tensor<?x4xf32>> -> tensor<?x4xf32>
  return
}

// -----

// ... and counts the ranks of its group [E_SHAPE_MISMATCH].
collective.group @all {ranks = array<i64: 0, 1>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected 8 rows from 2 ranks, found 'tensor<12xf32>' [E_SHAPE_MISMATCH]}}
  %h = collective.start all_gather none @all axis 0 (%a : tensor<4xf32>) -> !collective.pending<tensor<12xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<12xf32>> -> tensor<12xf32>
  return
}

// -----

// A reduction has no axis.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected no axis for kind 'all_reduce'}}
  %h = collective.start all_reduce sum @all axis 0 (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// Channels are not negative.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{attribute 'channel' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  collective.barrier @all channel -1
  return
}

// -----

// What is started is waited for ...
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected exactly one wait for each start}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  return
}

// -----

// ... once ...
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected exactly one wait for each start}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %s = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... in the same block ...
collective.group @all
func.func @f(%a: tensor<4xf32>, %c: i1) {
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  scf.if %c {
    // expected-error@+1 {{expected the pending value of a 'collective.start' in the same block}}
    %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  }
  return
}

// -----

// ... by its own start ...
collective.group @all
func.func @f(%h: !collective.pending<tensor<4xf32>>, %a: tensor<4xf32>) {
  // expected-error@+1 {{expected the pending value of a 'collective.start' in the same block}}
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... naming the operands again ...
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-note@+1 {{the start is here}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  // expected-error@+1 {{expected the operands of its start}}
  %r = collective.wait %h (%b : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... with the results that are pending.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  // expected-error@+1 {{expected results of the pending types}}
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<2xf32>
  return
}

// -----

// Only some kinds have a root ...
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected no root for kind 'all_reduce'}}
  %h = collective.start all_reduce sum @all root 0 (%a : tensor<4xf32>) -> <tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... and without one, what is given is got.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected one pending result for each of 1 operands, found 0}}
  %h = collective.start reduce sum @all (%a : tensor<4xf32>) -> <>
  collective.wait %h (%a : tensor<4xf32>) : <>
  return
}

// -----

// The root is a member of the group.
collective.group @pair {ranks = array<i64: 0, 1>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a root among the ranks of group @pair, found 2}}
  %h = collective.start broadcast none @pair root 2 (%a : tensor<4xf32>) -> <tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// A part that neither gives nor gets is none.
collective.group @all
func.func @f() {
  // expected-error@+1 {{expected operands or results, found neither}}
  %h = collective.start broadcast none @all root 0 () -> <>
  collective.wait %h () : <>
  return
}

// -----

// expected-error@+1 {{expected 'ranks' besides the replicas}}
collective.group @all {with_replicas}

// -----

// A permute says where each rank gets from ...
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected 'sources' for kind 'permute'}}
  %h = collective.start permute none @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... no other kind does ...
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected no 'sources' for kind 'broadcast'}}
  %h = collective.start broadcast none @all (%a : tensor<4xf32>) {sources = array<i64: 1, 0>} -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... by ranks or -1 ...
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected sources that are ranks or -1, found -2}}
  %h = collective.start permute none @all (%a : tensor<4xf32>) {sources = array<i64: 1, -2>} -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... each of which gives once.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected each rank to be the source of one at most, found 1 again}}
  %h = collective.start permute none @all (%a : tensor<4xf32>) {sources = array<i64: 1, 1>} -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// There is one source for each rank of a group ...
collective.group @pair {ranks = array<i64: 0, 2>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a source for each of 2 ranks, found 3}}
  %h = collective.start permute none @pair (%a : tensor<4xf32>) {sources = array<i64: 2, 0, -1>} -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... and it is one of them.
collective.group @pair {ranks = array<i64: 0, 2>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected sources among the ranks of group @pair, found 1}}
  %h = collective.start permute none @pair (%a : tensor<4xf32>) {sources = array<i64: 2, 1>} -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// What goes from one rank to another is between two.
collective.group @three {ranks = array<i64: 0, 2, 3>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a group of 2 ranks for kind 'recv', found 3}}
  %h = collective.start recv none @three (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// What is given as it is has the type of what is got.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a pending result of type 'tensor<4xf32>', found 'tensor<2xf32>'}}
  %h = collective.start broadcast none @all (%a : tensor<4xf32>) -> !collective.pending<tensor<2xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}

// -----

// Parts are along an axis that there is ...
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected an axis in [0, 1), found 1 [E_AXIS_RANGE]}}
  %h = collective.start all_to_all none @all axis 1 (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// ... which a scalar has not ...
collective.group @all
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{expected an operand with an axis to cut it along, found the scalar 'tensor<f32>' [E_SCALAR_GATHER]}}
  %h = collective.start all_to_all none @all (%a : tensor<f32>) -> !collective.pending<tensor<f32>>
  %r = collective.wait %h (%a : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  return
}

// -----

// ... and all ranks have one.
collective.group @three {ranks = array<i64: 0, 2, 3>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected an operand with as many rows for each of 3 ranks, found 'tensor<4xf32>' [E_SHAPE_MISMATCH]}}
  %h = collective.start all_to_all none @three (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// So it is where parts are reduced ...
collective.group @three {ranks = array<i64: 0, 2, 3>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected an operand with 6 rows, 2 for each of 3 ranks, found 'tensor<4xf32>' [E_SHAPE_MISMATCH]}}
  %h = collective.start reduce_scatter sum @three (%a : tensor<4xf32>) -> !collective.pending<tensor<2xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}

// -----

// ... which are as the operand in all other dimensions.
collective.group @all
func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{expected dimension 1 of the pending result to be as in the operand 'tensor<4x2xf32>', found 'tensor<2x1xf32>' [E_SHAPE_MISMATCH]}}
  %h = collective.start reduce_scatter sum @all (%a : tensor<4x2xf32>) -> !collective.pending<tensor<2x1xf32>>
  %r = collective.wait %h (%a : tensor<4x2xf32>) : !collective.pending<tensor<2x1xf32>> -> tensor<2x1xf32>
  return
}

// -----

// A scatter has rows and counts ...
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected the rows and their counts, found 1 operands}}
  %h = collective.start scatter none @all (%a : tensor<4xf32>) -> !collective.pending<tensor<2xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}

// -----

// ... which are numbers.
collective.group @all
func.func @f(%a: tensor<4xf32>, %n: tensor<1xi32>) {
  // expected-error@+1 {{expected counts of type tensor<nxi64>, found 'tensor<1xi32>'}}
  %h = collective.start scatter none @all (%a, %n : tensor<4xf32>, tensor<1xi32>) -> !collective.pending<tensor<2xf32>>
  %r = collective.wait %h (%a, %n : tensor<4xf32>, tensor<1xi32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}
