// RUN: lockstep-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Each rule of the verifiers has a case that violates it. Names in brackets are the error classes of docs/semantics.md.

// A group has at least one rank.
// expected-error@+1 {{expected at least one rank}}
collective.group @g {ranks = array<i64>}

// -----

// The ranks of a group are strictly ascending.
// expected-error@+1 {{expected ranks that are not negative and ascending, found 1 at position 1}}
collective.group @g {ranks = array<i64: 1, 1>}

// -----

// The ranks of a group are not negative.
// expected-error@+1 {{expected ranks that are not negative and ascending, found -1 at position 0}}
collective.group @g {ranks = array<i64: -1, 1>}

// -----

// A collective names a group that the module declares.
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{unknown group @all}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// A barrier names a group that the module declares.
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{unknown group @all}}
  collective.barrier @all
  return
}

// -----

// A kind that reduces needs a reduction.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected a reduction for kind 'all_reduce', found 'none'}}
  %h = collective.start all_reduce none @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// A kind that does not reduce has no reduction.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected no reduction for kind 'broadcast', found 'sum'}}
  %h = collective.start broadcast sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// Only numbers can be reduced [E_DTYPE_UNSUPPORTED].
collective.group @all
func.func @f(%a: tensor<4xi1>) {
  // expected-error@+1 {{expected elements that are numbers, found 'i1' [E_DTYPE_UNSUPPORTED]}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xi1>) -> !collective.pending<tensor<4xi1>>
  %r = collective.wait %h (%a : tensor<4xi1>) : !collective.pending<tensor<4xi1>> -> tensor<4xi1>
  return
}

// -----

// A collective has a result for each operand.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected one pending result for each of 2 operands, found 1}}
  %h = collective.start all_reduce sum @all (%a, %b : tensor<4xf32>, tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a, %b : tensor<4xf32>, tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// The result of a reduction has the type of its operand.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected a pending result of type 'tensor<4xf32>', found 'tensor<2xf32>'}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<2xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}

// -----

// The result of a reduction of f16 or bf16 may be in f32, the type of the accumulator; a reduction of f32 has no result in f64.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a pending result of type 'tensor<4xf32>', found 'tensor<4xf64>'}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf64>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf64>> -> tensor<4xf64>
  return
}

// -----

// An all_gather needs an axis.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected an axis for kind 'all_gather'}}
  %h = collective.start all_gather none @all (%a : tensor<4xf32>) -> !collective.pending<tensor<?xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
  return
}

// -----

// The axis of an all_gather is an axis of its operands [E_AXIS_RANGE].
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected an axis in [0, 1), found 1 [E_AXIS_RANGE]}}
  %h = collective.start all_gather none @all axis 1 (%a : tensor<4xf32>) -> !collective.pending<tensor<?xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
  return
}

// -----

// A scalar has no axis to gather along [E_SCALAR_GATHER].
collective.group @all
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{expected an operand with an axis to gather along, found the scalar 'tensor<f32>' [E_SCALAR_GATHER]}}
  %h = collective.start all_gather none @all axis 0 (%a : tensor<f32>) -> !collective.pending<tensor<f32>>
  %r = collective.wait %h (%a : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  return
}

// -----

// The result of an all_gather has the rank and the element type of the operand.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a pending result of rank 1 and element type 'f32', found 'tensor<?xf64>'}}
  %h = collective.start all_gather none @all axis 0 (%a : tensor<4xf32>) -> !collective.pending<tensor<?xf64>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<?xf64>> -> tensor<?xf64>
  return
}

// -----

// An all_gather has a size operand for each dynamic dimension of its results.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a size for each of 1 dynamic dimensions of the results, found 0}}
  %h = collective.start all_gather none @all axis 0 (%a : tensor<4xf32>) -> !collective.pending<tensor<?xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<?xf32>> -> tensor<?xf32>
  return
}

// -----

// An all_gather changes the size of its axis only [E_SHAPE_MISMATCH].
collective.group @all
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{expected dimension 1 of the pending result to be as in the operand 'tensor<2x3xf32>', found 'tensor<?x4xf32>' [E_SHAPE_MISMATCH]}}
  %h = collective.start all_gather none @all axis 0 (%a : tensor<2x3xf32>) -> !collective.pending<tensor<?x4xf32>>
  %r = collective.wait %h (%a : tensor<2x3xf32>) : !collective.pending<tensor<?x4xf32>> -> tensor<?x4xf32>
  return
}

// -----

// The size of the axis in the result is the sum of the sizes of all ranks of the group [E_SHAPE_MISMATCH].
collective.group @all {ranks = array<i64: 0, 1>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected 8 rows from 2 ranks, found 'tensor<12xf32>' [E_SHAPE_MISMATCH]}}
  %h = collective.start all_gather none @all axis 0 (%a : tensor<4xf32>) -> !collective.pending<tensor<12xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<12xf32>> -> tensor<12xf32>
  return
}

// -----

// An all_reduce has no axis.
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

// Each start has a wait.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected exactly one wait for each start}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  return
}

// -----

// A start has only one wait.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected exactly one wait for each start}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  %s = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// A start and its wait are in the same block.
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

// The operand of a wait is the result of a start.
collective.group @all
func.func @f(%h: !collective.pending<tensor<4xf32>>, %a: tensor<4xf32>) {
  // expected-error@+1 {{expected the pending value of a 'collective.start' in the same block}}
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// A wait has the same operands as its start.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-note@+1 {{the start is here}}
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  // expected-error@+1 {{expected the operands of its start}}
  %r = collective.wait %h (%b : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// The results of a wait have the types of the pending results.
collective.group @all
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  %h = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  // expected-error@+1 {{expected results of the pending types}}
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<2xf32>
  return
}

// -----

// Only some kinds have a root.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected no root for kind 'all_reduce'}}
  %h = collective.start all_reduce sum @all root 0 (%a : tensor<4xf32>) -> <tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// A reduce without a root has a result for each operand.
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

// A rooted collective has operands or results at each rank.
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

// A permute has a list of sources: the rank from which each rank receives.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected 'sources' for kind 'permute'}}
  %h = collective.start permute none @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// Other kinds than permute have no sources.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected no 'sources' for kind 'broadcast'}}
  %h = collective.start broadcast none @all (%a : tensor<4xf32>) {sources = array<i64: 1, 0>} -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// Sources are ranks, or -1 for none.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected sources that are ranks or -1, found -2}}
  %h = collective.start permute none @all (%a : tensor<4xf32>) {sources = array<i64: 1, -2>} -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// Each rank is the source of at most one rank.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected each rank to be the source of one at most, found 1 again}}
  %h = collective.start permute none @all (%a : tensor<4xf32>) {sources = array<i64: 1, 1>} -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// A permute has one source for each rank of its group.
collective.group @pair {ranks = array<i64: 0, 2>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a source for each of 2 ranks, found 3}}
  %h = collective.start permute none @pair (%a : tensor<4xf32>) {sources = array<i64: 2, 0, -1>} -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// The sources of a permute are members of its group.
collective.group @pair {ranks = array<i64: 0, 2>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected sources among the ranks of group @pair, found 1}}
  %h = collective.start permute none @pair (%a : tensor<4xf32>) {sources = array<i64: 2, 1>} -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// A receive is between the two ranks of a group.
collective.group @three {ranks = array<i64: 0, 2, 3>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a group of 2 ranks for kind 'recv', found 3}}
  %h = collective.start recv none @three (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// The result of a broadcast has the type of its operand.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected a pending result of type 'tensor<4xf32>', found 'tensor<2xf32>'}}
  %h = collective.start broadcast none @all (%a : tensor<4xf32>) -> !collective.pending<tensor<2xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}

// -----

// The axis of an all_to_all is an axis of its operand.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected an axis in [0, 1), found 1 [E_AXIS_RANGE]}}
  %h = collective.start all_to_all none @all axis 1 (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// A scalar has no axis to divide among ranks.
collective.group @all
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{expected an operand with an axis to cut it along, found the scalar 'tensor<f32>' [E_SCALAR_GATHER]}}
  %h = collective.start all_to_all none @all (%a : tensor<f32>) -> !collective.pending<tensor<f32>>
  %r = collective.wait %h (%a : tensor<f32>) : !collective.pending<tensor<f32>> -> tensor<f32>
  return
}

// -----

// The size of the axis of an all_to_all is divisible by the number of ranks.
collective.group @three {ranks = array<i64: 0, 2, 3>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected an operand with as many rows for each of 3 ranks, found 'tensor<4xf32>' [E_SHAPE_MISMATCH]}}
  %h = collective.start all_to_all none @three (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

// The operand of a reduce_scatter has as many rows as the results of all ranks together.
collective.group @three {ranks = array<i64: 0, 2, 3>}
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected an operand with 6 rows, 2 for each of 3 ranks, found 'tensor<4xf32>' [E_SHAPE_MISMATCH]}}
  %h = collective.start reduce_scatter sum @three (%a : tensor<4xf32>) -> !collective.pending<tensor<2xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}

// -----

// A reduce_scatter changes the size of its axis only.
collective.group @all
func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{expected dimension 1 of the pending result to be as in the operand 'tensor<4x2xf32>', found 'tensor<2x1xf32>' [E_SHAPE_MISMATCH]}}
  %h = collective.start reduce_scatter sum @all (%a : tensor<4x2xf32>) -> !collective.pending<tensor<2x1xf32>>
  %r = collective.wait %h (%a : tensor<4x2xf32>) : !collective.pending<tensor<2x1xf32>> -> tensor<2x1xf32>
  return
}

// -----

// A scatter has two operands: rows, and their counts.
collective.group @all
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected the rows and their counts, found 1 operands}}
  %h = collective.start scatter none @all (%a : tensor<4xf32>) -> !collective.pending<tensor<2xf32>>
  %r = collective.wait %h (%a : tensor<4xf32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}

// -----

// The counts of a scatter are i64.
collective.group @all
func.func @f(%a: tensor<4xf32>, %n: tensor<1xi32>) {
  // expected-error@+1 {{expected counts of type tensor<nxi64>, found 'tensor<1xi32>'}}
  %h = collective.start scatter none @all (%a, %n : tensor<4xf32>, tensor<1xi32>) -> !collective.pending<tensor<2xf32>>
  %r = collective.wait %h (%a, %n : tensor<4xf32>, tensor<1xi32>) : !collective.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}
