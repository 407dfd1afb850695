//===- SlicesOps.td - Rows of variables, and slices --------*- tablegen -*-===//
//
// Slices are some rows of a tensor: their values and row indices. The cost of
// reading and writing slices depends on the number of their rows, not on the
// size of the table.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REPLICA_SLICESOPS_TD
#define LOCKSTEP_DIALECT_REPLICA_SLICESOPS_TD

include "dialect/Replica/ReplicaOps.td"

def Replica_LookupOp : Replica_Op<"lookup", [InReplicaContext, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<UniformityOpInterface>, MemoryEffects<[MemRead<Replica_VariableResource>]>]> {
  let summary = "rows of a variable, by their indices";
  let description = [{
    Row `i` of the result is row `ids[i]` of the replica's copy of the variable.
    The result for an id outside of `[0, rows)` is a row of zeros, consistent
    with a scatter, which ignores such an id; an id out of range that is a
    constant is an error (E_INDEX).

    ```mlir
    %rows = replica.lookup @table, %ids : tensor<?xi64> -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, AnyRankedTensor:$ids);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$variable `,` $ids attr-dict `:` type($ids) `->` type($result)";
}

def Replica_ScatterOp : Replica_Op<"scatter", [InAnyContext, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead<Replica_VariableResource>, MemWrite<Replica_VariableResource>]>]> {
  let summary = "combines rows of a variable with slices";
  let description = [{
    Row `indices[i]` of the variable is combined with `values[i]`, in the order
    of `i`; an index may occur several times. In replica context the slices of
    all replicas are concatenated (aggregation `sum`; divided by the number of
    replicas for `mean`), or those of replica 0 are used (`only_first_replica`);
    `min`, `max` and `update` cannot be aggregated otherwise (`E_SCATTER_AGG`).
    On_read variables have no scatter (`E_SCATTER_ONREAD`). An index outside of
    `[0, rows)` is ignored, as in JAX.

    ```mlir
    replica.scatter add @table, %indices, %values : tensor<?xi64>, tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Replica_ScatterAttr:$kind, FlatSymbolRefAttr:$variable, AnyType:$indices, AnyType:$values);
  let assemblyFormat = "custom<Scatter>($kind) $variable `,` $indices `,` $values attr-dict `:` type($indices) `,` type($values)";
  let hasVerifier = 1;
}

def Replica_AllReduceSlicesOp : Replica_CommunicationOp<"all_reduce_slices", [InReplicaContext,
    DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "combines slices of all replicas: rows and their indices";
  let description = [{
    The result of a sum is the concatenation of the slices of all replicas, in
    the order of the replicas, with duplicates. For a mean the values are
    divided by the number of replicas. The number of rows may differ between
    replicas.

    ```mlir
    %v, %i = replica.all_reduce_slices sum %values at %indices : tensor<?x2xf32>, tensor<?xi64> -> tensor<?x2xf32>, tensor<?xi64>
    ```
  }];
  let arguments = (ins Replica_ReductionAttr:$reduction, AnyRankedTensor:$values, AnyRankedTensor:$indices);
  let results = (outs AnyRankedTensor:$all_values, AnyRankedTensor:$all_indices);
  let assemblyFormat = "custom<Reduction>($reduction) $values `at` $indices attr-dict `:` type($values) `,` type($indices) "
                       "`->` type($all_values) `,` type($all_indices)";
  let hasVerifier = 1;
}

def Replica_SlicesToDenseOp : Replica_Op<"slices_to_dense", [Pure, InAnyContext]> {
  let summary = "the dense tensor that slices represent";
  let description = [{
    Each row is the sum of the values with its index, or zero if there are none.
    Indices outside of `[0, rows)` are ignored. The gradient of a lookup is such
    a tensor; `propagate-slices` sinks the operation to its uses, so that the
    dense tensor is not created where slices suffice.

    ```mlir
    %dense = replica.slices_to_dense %values at %indices : tensor<?x64xf32>, tensor<?xi64> -> tensor<100000x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$values, AnyRankedTensor:$indices);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$values `at` $indices attr-dict `:` type($values) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

#endif
