//===- SlicesOps.td - Rows of variables, and slices ---*- tablegen -*-===//
//
// Slices are some rows of a tensor: their values, and the places they belong to. What is read and written by them costs as much as
// there are rows, not as much as the table is large.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REPLICA_SLICESOPS_TD
#define LOCKSTEP_DIALECT_REPLICA_SLICESOPS_TD

include "dialect/Replica/ReplicaOps.td"

def Replica_LookupOp : Replica_Op<"lookup", [InReplicaContext, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<UniformityOpInterface>, MemoryEffects<[MemRead<Replica_VariableResource>]>]> {
  let summary = "rows of a variable, by their numbers";
  let description = [{
    Row `i` of the result is row `ids[i]` of the variable, as the replica has it. An id outside of `[0, rows)` gives a row of zeros, as a
    scatter to it changes nothing; one that is known when the step is compiled is an error (E_INDEX).

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
  let summary = "changes the rows of a variable that slices name";
  let description = [{
    Row `indices[i]` of the variable becomes its combination with `values[i]`, in the order of `i`; an index may come several
    times. In replica context the slices of all replicas are concatenated (aggregation `sum`; divided by the number of replicas for
    `mean`), or those of replica 0 are taken (`only_first_replica`); `min`, `max` and `update` cannot be aggregated otherwise
    (`E_SCATTER_AGG`). On_read variables have no scatter (`E_SCATTER_ONREAD`). An index outside of `[0, rows)` changes nothing, as in JAX.

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
  let summary = "combines slices of all replicas: rows, and the places they belong to";
  let description = [{
    The slices of a sum are those of all replicas, one after the other in the order of the replicas; duplicates are kept. For a
    mean the values are divided by the number of replicas. How many rows a replica has may differ.

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
  let summary = "the tensor that slices are the rows of";
  let description = [{
    Zero, but for the rows that `indices` name: those are the sum of their values. Indices outside of `[0, rows)` are left out. The
    gradient of a lookup is such a tensor; `propagate-slices` moves it to where it is used, so that it need not exist where rows will do.

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
