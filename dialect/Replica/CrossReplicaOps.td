//===- CrossReplicaOps.td - Programs and their operations --*- tablegen -*-===//
//
// Operations of cross-replica context: one computation on the values of all
// replicas. A per-replica value has a component for each replica, a mirrored
// value has equal components on all of them, and a plain value is an ordinary
// tensor.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REPLICA_CROSSREPLICAOPS_TD
#define LOCKSTEP_DIALECT_REPLICA_CROSSREPLICAOPS_TD

def Replica_ProgramOp : Replica_Op<"program", [FunctionOpInterface, IsolatedFromAbove, AffineScope, AutomaticAllocationScope,
    HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<OpensContextInterface>]> {
  let summary = "a function that runs once for all replicas";
  let description = [{
    An argument is `!replica.per_replica<T>` with `replica.batch` (each
    replica's shard of the data), a tensor with `replica.scalar` (one value for
    all replicas, of any shape), or a `!replica.iterator<...>` with
    `replica.batches`, of which there is at most one. Results are per replica,
    mirrored or plain.

    ```mlir
    replica.program @main(%x: !replica.per_replica<tensor<32x64xf32>> {replica.batch = "x"}) -> (tensor<f32> {replica.result = "loss"}) {
      %losses = replica.run @step(%x : !replica.per_replica<tensor<32x64xf32>>) -> !replica.per_replica<tensor<f32>>
      %loss = replica.reduce mean %losses : !replica.per_replica<tensor<f32>> -> tensor<f32>
      replica.return %loss : tensor<f32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region MinSizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    /// Returns the argument types of this program.
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    /// Returns the result types of this program.
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Replica_RunOp : Replica_Op<"run", [InCrossReplicaContext, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpensContextInterface>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "every replica executes a step or a region";
  let description = [{
    Either `callee` names the step, or the region is the step; `inline-runs`
    converts calls to regions. Each replica receives its component of a
    per-replica operand, and the value of a plain or mirrored operand. Results
    are `!replica.per_replica<T>`; a plain or mirrored result must be equal on
    all replicas, which the compiler proves.

    ```mlir
    %y = replica.run (%x, %k : !replica.per_replica<tensor<4xf32>>, tensor<4xf32>) -> !replica.per_replica<tensor<4xf32>> {
    ^bb0(%mine: tensor<4xf32>, %all: tensor<4xf32>):
      %0 = arith.mulf %mine, %all : tensor<4xf32>
      replica.yield %0 : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins OptionalAttr<FlatSymbolRefAttr>:$callee, Variadic<AnyType>:$operands);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = "($callee^)? (`(` $operands^ `:` type($operands) `)`)? (`->` type($results)^)? attr-dict-with-keyword ($body^)?";
  let hasVerifier = 1;
}

def Replica_NextOp : Replica_CommunicationOp<"next", [InCrossReplicaContext, DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "the next batch of an iterator";
  let description = [{
    Every replica receives its shard. A run that requests more batches than
    there are ends with `E_OUT_OF_RANGE`.

    ```mlir
    %x, %y = replica.next %it : !replica.iterator<tensor<?x64xf32>, tensor<?xi32>>
    ```
  }];
  let arguments = (ins Replica_Iterator:$iterator);
  let results = (outs Variadic<Replica_PerReplica>:$results);
  let assemblyFormat = "$iterator attr-dict `:` type($iterator)";
}

def Replica_NumBatchesOp : Replica_Op<"num_batches", [Pure, InCrossReplicaContext]> {
  let summary = "the number of batches of an iterator when the program started";
  let description = [{
    Equal for all replicas.

    ```mlir
    %n = replica.num_batches %it : !replica.iterator<tensor<?x64xf32>> -> tensor<i64>
    ```
  }];
  let arguments = (ins Replica_Iterator:$iterator);
  let results = (outs 0DTensorOf<[I64]>:$result);
  let assemblyFormat = "$iterator attr-dict `:` type($iterator) `->` type($result)";
}

def Replica_RunStepsOp : Replica_Op<"run_steps", [InCrossReplicaContext, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a step for a number of batches";
  let description = [{
    The arguments of the step are the tensors of a batch, then the parameters.
    Results are those of the last iteration, each reduced over the replicas
    according to `reductions`, or per replica (`none`). Outputs that are not
    tensors are the same in all iterations: strings, booleans, `i64`, finite
    `f64`, and arrays and dictionaries of them, which the artifact stores
    unchanged. `inline-runs` converts the operation to a loop.

    ```mlir
    %loss, %each = replica.run_steps 100 @train(%it : !replica.iterator<tensor<8xf32>>)
        {reductions = ["mean", "none"], non_tensor_outputs = {labels = ["cat", "dog"]}} -> tensor<f32>, !replica.per_replica<tensor<f32>>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$iterations, FlatSymbolRefAttr:$callee, Replica_Iterator:$iterator,
    Variadic<AnyType>:$parameters, StrArrayAttr:$reductions, OptionalAttr<DictionaryAttr>:$non_tensor_outputs);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$iterations $callee `(` $iterator (`,` $parameters^)? `:` type($iterator) (`,` type($parameters)^)? `)` attr-dict (`->` type($results)^)?";
}

def Replica_ReduceOp : Replica_CommunicationOp<"reduce", [InCrossReplicaContext, DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "combines the values of all replicas into one plain value";
  let description = [{
    Without `axes`, the reduction is element-wise. With them, the elements of
    each replica along the axes are reduced too: a mean is the sum of all
    elements divided by their number on all replicas, so that batches of
    different sizes have the correct weight; a plain value counts once per
    replica. A mean of integers is f64.

    ```mlir
    %loss = replica.reduce mean %losses axes [0] : !replica.per_replica<tensor<?xf32>> -> tensor<f32>
    ```
  }];
  let arguments = (ins Replica_ReductionAttr:$reduction, AnyType:$value, OptionalAttr<DenseI64ArrayAttr>:$axes);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "custom<Reduction>($reduction) $value (`axes` $axes^)? attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Replica_ReduceSlicesOp : Replica_CommunicationOp<"reduce_slices", [InCrossReplicaContext,
    DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "combines slices of all replicas into plain ones";
  let description = [{
    Slices are rows and their indices. A sum concatenates the slices of all
    replicas, in the order of the replicas, with duplicates; a mean also divides
    the values by the number of replicas. In replica context this is
    `replica.all_reduce_slices`.

    ```mlir
    %v, %i = replica.reduce_slices sum %values at %indices
        : !replica.per_replica<tensor<?x2xf32>>, !replica.per_replica<tensor<?xi64>> -> tensor<?x2xf32>, tensor<?xi64>
    ```
  }];
  let arguments = (ins Replica_ReductionAttr:$reduction, Replica_PerReplica:$values, Replica_PerReplica:$indices);
  let results = (outs AnyRankedTensor:$all_values, AnyRankedTensor:$all_indices);
  let assemblyFormat = "custom<Reduction>($reduction) $values `at` $indices attr-dict `:` type($values) `,` type($indices) "
                       "`->` type($all_values) `,` type($all_indices)";
  let hasVerifier = 1;
}

def Replica_BatchReduceToOp : Replica_CommunicationOp<"batch_reduce_to", [InCrossReplicaContext,
    DeclareOpInterfaceMethods<UniformityOpInterface>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "reduces several values of all replicas, each to the devices of a variable";
  let description = [{
    As one `replica.reduce_to` for each value, except that the values may be
    communicated together.

    ```mlir
    %a, %b = replica.batch_reduce_to mean %x, %z to [@v, @w]
        : !replica.per_replica<tensor<2xf32>>, !replica.per_replica<tensor<f32>> -> !replica.mirrored<tensor<2xf32>>, !replica.mirrored<tensor<f32>>
    ```
  }];
  let arguments = (ins Replica_ReductionAttr:$reduction, Variadic<AnyType>:$operands, OptionalAttr<FlatSymbolRefArrayAttr>:$destinations);
  let results = (outs Variadic<AnyTypeOf<[Replica_Mirrored, AnyTensor]>>:$results);
  let assemblyFormat = "custom<Reduction>($reduction) $operands (`to` $destinations^)? attr-dict `:` type($operands) `->` type($results)";
  let hasVerifier = 1;
}

def Replica_ValuesFromFunctionOp : Replica_Op<"values_from_function", [InCrossReplicaContext, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<OpensContextInterface>,
    DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "a value for each replica, computed from its id";
  let description = [{
    The region is executed for each replica, with the replica's id as argument.
    It has no effects: it may read variables, but not assign them.

    ```mlir
    %p = replica.values_from_function -> !replica.per_replica<tensor<i32>> {
    ^bb0(%id: tensor<i32>):
      replica.yield %id : tensor<i32>
    }
    ```
  }];
  let results = (outs Variadic<Replica_PerReplica>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Replica_UpdateNonSlotOp : Replica_Op<"update_non_slot", [InCrossReplicaContext, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<OpensContextInterface>]> {
  let summary = "computes on the devices of non-slot variables: optimizer state that does not belong to one variable";
  let description = [{
    The arguments of the region are the operands' components, which are equal on
    all replicas. Results are mirrored or plain.

    ```mlir
    %r = replica.update_non_slot (%k : tensor<f32>) -> !replica.mirrored<tensor<f32>> {
    ^bb0(%a: tensor<f32>):
      %0 = arith.addf %a, %a : tensor<f32>
      replica.yield %0 : tensor<f32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`(` $operands^ `:` type($operands) `)`)? (`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Replica_ReduceToOp : Replica_CommunicationOp<"reduce_to", [InCrossReplicaContext, DeclareOpInterfaceMethods<UniformityOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "reduces the values of all replicas to the devices of a variable";
  let description = [{
    The result is on the devices of the variable `destination`; without a
    destination all replicas receive it. A plain result means that the
    destination is one device. The mean of a mirrored or plain value is that
    value. Its sum is an error, since the value would be added once for each
    replica (`E_NON_DISTRIBUTED_SUM`); with one replica the sum is the value.

    ```mlir
    %s = replica.reduce_to sum %pg, @w : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
    ```
  }];
  let arguments = (ins Replica_ReductionAttr:$reduction, AnyType:$value, OptionalAttr<FlatSymbolRefAttr>:$destination);
  let results = (outs AnyTypeOf<[Replica_Mirrored, AnyTensor]>:$result);
  let assemblyFormat = "custom<Reduction>($reduction) $value (`,` $destination^)? attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Replica_BroadcastToOp : Replica_Op<"broadcast_to", [Pure, InCrossReplicaContext,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "broadcasts a plain value to all replicas";
  let description = [{
    The result is on the devices of the variable `destination`; without a
    destination all replicas receive it. A plain result means that the
    destination is one device.

    ```mlir
    %m = replica.broadcast_to %v, @w : tensor<4xf32> -> !replica.mirrored<tensor<4xf32>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, OptionalAttr<FlatSymbolRefAttr>:$destination);
  let results = (outs AnyTypeOf<[Replica_Mirrored, AnyTensor]>:$result);
  let assemblyFormat = "$value (`,` $destination^)? attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Replica_GatherOp : Replica_CommunicationOp<"gather", [InCrossReplicaContext, DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "concatenates the values of all replicas along an axis";
  let description = [{
    The result is one plain value, in the order of the replicas. Sizes along
    `axis` may differ between them. A plain or mirrored value is returned
    unchanged.

    ```mlir
    %all = replica.gather %p axis 0 : !replica.per_replica<tensor<?x3xf32>> -> tensor<?x3xf32>
    ```
  }];
  let arguments = (ins AnyType:$value, I64Attr:$axis);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$value `axis` $axis attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Replica_LocalResultsOp : Replica_CommunicationOp<"local_results", [InCrossReplicaContext, DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "the values of all replicas, as a list";
  let description = [{
    One result for each replica, in their order. All components of a mirrored
    value are equal.

    ```mlir
    %0, %1 = replica.local_results %p : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Replica_PerReplica, Replica_Mirrored]>:$value);
  let results = (outs Variadic<AnyTensor>:$results);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($results)";
  let hasVerifier = 1;
}

def Replica_UpdateOp : Replica_Op<"update", [InCrossReplicaContext, IsolatedFromAbove,
    MemoryEffects<[MemRead<Replica_VariableResource>, MemWrite<Replica_VariableResource>]>,
    SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<OpensContextInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "computes a new value of a variable on its devices";
  let description = [{
    The arguments of the region are the current value and the operands'
    components; the first value that it yields is the variable's new value, the
    others are results: mirrored or plain. For an on_read variable, whose copies
    differ and are combined when it is read, each copy is updated, the region
    has no effects of its own, and results are per replica. Per-replica operands
    that may differ are an error for a variable whose copies are equal
    (`E_PER_REPLICA_IN_UPDATE`).

    ```mlir
    replica.update @w (%s : !replica.mirrored<tensor<4xf32>>) {
    ^bb0(%current: tensor<4xf32>, %d: tensor<4xf32>):
      ...
      replica.yield %new : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, Variadic<AnyType>:$operands);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$variable (`(` $operands^ `:` type($operands) `)`)? (`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

#endif
