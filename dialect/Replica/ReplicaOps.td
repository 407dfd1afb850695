//===- ReplicaOps.td - Operations of the replica dialect ---*- tablegen -*-===//

#ifndef LOCKSTEP_DIALECT_REPLICA_REPLICAOPS_TD
#define LOCKSTEP_DIALECT_REPLICA_REPLICAOPS_TD

include "dialect/Interfaces/ReplicaContext.td"
include "dialect/Interfaces/Uniformity.td"
include "dialect/Replica/ReplicaBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Replica_Op<string mnemonic, list<Trait> traits = []> : Op<Replica_Dialect, mnemonic, traits>;

/// The communication between replicas, as a resource with memory effects: operations that touch
/// it are neither merged, dropped nor moved by upstream passes.
def Replica_CommunicationResource : Resource<"::lockstep::replica::CommunicationResource">;
/// The contents of all variables.
def Replica_VariableResource : Resource<"::lockstep::replica::VariableResource">;

class Replica_CommunicationOp<string mnemonic, list<Trait> traits = []> : Replica_Op<mnemonic,
    traits # [MemoryEffects<[MemRead<Replica_CommunicationResource>, MemWrite<Replica_CommunicationResource>]>]>;

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

def Replica_StrategyOp : Replica_Op<"strategy", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "the strategy by which the steps of a module are distributed";
  let description = [{
    At most one a module. Without it, or without `replicas`, the count comes from the compiler's
    `--replicas`; it is static from there on.

    ```mlir
    replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Replica_KindAttr:$kind, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$replicas);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
}

def Replica_VariableOp : Replica_Op<"variable", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a variable: state that lives from step to step";
  let description = [{
    The name is the path of the value in the user's state, by which files know it. Where another symbol of the module has that name,
    the variable has a name of its own and the `path` beside it. Values above 4 KiB are not given
    `initial`ly but come by name from a safetensors file.

    ```mlir
    replica.variable @w : tensor<64x10xf32> {aggregation = #replica.aggregation<mean>}
    replica.variable @seen : tensor<i64> {synchronization = #replica.synchronization<on_read>,
        aggregation = #replica.aggregation<sum>, initial = dense<0> : tensor<i64>}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<StaticShapeTensorOf<[AnyType]>>:$type,
    DefaultValuedAttr<Replica_SynchronizationAttr, "::lockstep::replica::Synchronization::OnWrite">:$synchronization,
    DefaultValuedAttr<Replica_AggregationAttr, "::lockstep::replica::Aggregation::None">:$aggregation,
    OptionalAttr<ElementsAttr>:$initial, UnitAttr:$is_unsigned, OptionalAttr<StrAttr>:$path);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let extraClassDeclaration = [{
    /// The name in files: the path, if the symbol is not the name itself.
    ::llvm::StringRef getStoredName() { return getPath().value_or(getSymName()); }
  }];
  let hasVerifier = 1;
}

def Replica_StepOp : Replica_Op<"step", [FunctionOpInterface, IsolatedFromAbove, AffineScope, AutomaticAllocationScope,
    HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<OpensContextInterface>]> {
  let summary = "a function that runs once a replica";
  let description = [{
    Arguments are per replica unless they carry `replica.scalar`.

    ```mlir
    replica.step @train(%x: tensor<32x64xf32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "loss"}) {
      ...
      replica.return %loss : tensor<f32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region MinSizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    /// Returns the argument types of this step.
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    /// Returns the result types of this step.
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Replica_ReturnOp : Replica_Op<"return", [Pure, Terminator, ReturnLike, HasParent<"StepOp">]> {
  let summary = "ends a step";
  let description = [{
    The operands are the results of the step.

    ```mlir
    replica.return %loss : tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

def Replica_ReadOp : Replica_Op<"read", [InAnyContext, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<UniformityOpInterface>, MemoryEffects<[MemRead<Replica_VariableResource>]>]> {
  let summary = "the value of a variable";
  let description = [{
    In replica context the replica's own copy; in cross-replica context the mirrored value.

    ```mlir
    %w = replica.read @w : tensor<64x10xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

class Replica_AssignOpBase<string mnemonic> : Replica_Op<mnemonic, [InAnyContext,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead<Replica_VariableResource>, MemWrite<Replica_VariableResource>]>]> {
  let arguments = (ins FlatSymbolRefAttr:$variable, AnyRankedTensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def Replica_AssignOp : Replica_AssignOpBase<"assign"> {
  let summary = "gives a variable a new value";
  let description = [{
    In replica context the variable's aggregation says how the values of the replicas are combined; with `none` the
    value must be uniform.

    ```mlir
    replica.assign @w, %new : tensor<64x10xf32>
    ```
  }];
}
def Replica_AssignAddOp : Replica_AssignOpBase<"assign_add"> {
  let summary = "adds a value to a variable";
  let description = [{
    As `replica.assign` of the sum. What is added is combined first, as the variable's aggregation says: a variable of 10 with
    aggregation `sum` to which two replicas add 1 and 2 becomes 13. In cross-replica context a variable that is the sum of
    its copies cannot be added to (E_ONREAD_ASSIGN_ADD_SUM).

    ```mlir
    replica.assign_add @seen, %n : tensor<i64>
    ```
  }];
}
def Replica_AssignSubOp : Replica_AssignOpBase<"assign_sub"> {
  let summary = "subtracts a value from a variable";
  let description = [{
    The counterpart of `replica.assign_add`, with the same rules.

    ```mlir
    replica.assign_sub @w, %step : tensor<64x10xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Replica context
//===----------------------------------------------------------------------===//

def Replica_IdOp : Replica_Op<"id", [Pure, InReplicaContext, DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "the number of this replica, from 0";
  let description = [{
    The one value that no two replicas share; what is computed from it is varying.

    ```mlir
    %id = replica.id : tensor<i32>
    ```
  }];
  let results = (outs 0DTensorOf<[I32]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Replica_NumInSyncOp : Replica_Op<"num_in_sync", [Pure, InAnyContext]> {
  let summary = "the number of replicas";
  let description = [{
    Equal on all replicas. A constant as soon as the count is known.

    ```mlir
    %n = replica.num_in_sync : tensor<i32>
    ```
  }];
  let results = (outs 0DTensorOf<[I32]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Replica_AllReduceOp : Replica_CommunicationOp<"all_reduce", [InReplicaContext,
    DeclareOpInterfaceMethods<InferTypeOpInterface>, DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "combines the values of all replicas and gives the result to each of them";
  let description = [{
    One op is one call of the user; a nest is flattened into its operands. Shapes are equal on all
    replicas. The mean of integers is f64.

    ```
    before      replica 0: [1 2]   replica 1: [3 4]
    after sum   replica 0: [4 6]   replica 1: [4 6]
    ```

    `bytes_per_pack` is a bound on the size of the buckets, in bytes; 0 leaves it to the compiler.

    ```mlir
    %gw, %gb = replica.all_reduce mean %dw, %db {bytes_per_pack = 33554432 : i64} : tensor<64x10xf32>, tensor<10xf32>
    ```
  }];
  let arguments = (ins Replica_ReductionAttr:$reduction, Variadic<AnyRankedTensor>:$operands,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$bytes_per_pack);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "custom<Reduction>($reduction) $operands attr-dict `:` type($operands)";
  let hasVerifier = 1;
}

def Replica_AllGatherOp : Replica_CommunicationOp<"all_gather", [InReplicaContext, SameVariadicOperandSize,
    DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "concatenates the values of all replicas along an axis, in the order of the replicas";
  let description = [{
    Sizes along `axis` may differ between replicas when they are dynamic; all other dimensions are equal.

    ```
    before        replica 0: [1 2]   replica 1: [3]
    after axis 0  replica 0: [1 2 3] replica 1: [1 2 3]
    ```

    ```mlir
    %all = replica.all_gather %v axis 0 : tensor<?x3xf32> -> tensor<?x3xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands, I64Attr:$axis);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$operands `axis` $axis attr-dict `:` type($operands) `->` type($results)";
  let hasVerifier = 1;
}

def Replica_MergeCallOp : Replica_CommunicationOp<"merge_call", [InReplicaContext, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<OpensContextInterface>]> {
  let summary = "the replicas meet, and a region runs once in cross-replica context";
  let description = [{
    Arguments of the region are `!replica.per_replica<T>` (one value a replica) or `T` (a uniform value). Each
    replica gets its component of what the region yields. Gradients do not flow through it.

    ```mlir
    %r = replica.merge_call (%g : tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%pg: !replica.per_replica<tensor<4xf32>>):
      %s = replica.reduce_to sum %pg, @w : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
      replica.yield %s : !replica.mirrored<tensor<4xf32>>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`(` $operands^ `:` type($operands) `)`)? (`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Replica_YieldOp : Replica_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["MergeCallOp", "UpdateOp"]>]> {
  let summary = "ends the region of a merge_call or an update";
  let description = [{
    In a merge_call the operands are what the replicas get: a component each of a per-replica value, the same of all others. In an
    update the first is the variable's new value.

    ```mlir
    replica.yield %s : !replica.mirrored<tensor<4xf32>>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

//===----------------------------------------------------------------------===//
// Cross-replica context
//===----------------------------------------------------------------------===//

def Replica_ReduceToOp : Replica_CommunicationOp<"reduce_to", [InCrossReplicaContext, DeclareOpInterfaceMethods<UniformityOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "combines the values of all replicas where a variable lives";
  let description = [{
    Without a destination the result goes to all replicas.
    The sum of a plain value is refused: a value that is not distributed would be added N times (E_NON_DISTRIBUTED_SUM).

    ```mlir
    %s = replica.reduce_to sum %pg, @w : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
    ```
  }];
  let arguments = (ins Replica_ReductionAttr:$reduction, AnyType:$value, OptionalAttr<FlatSymbolRefAttr>:$destination);
  let results = (outs Replica_Mirrored:$result);
  let assemblyFormat = "custom<Reduction>($reduction) $value (`,` $destination^)? attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Replica_BroadcastToOp : Replica_Op<"broadcast_to", [Pure, InCrossReplicaContext,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "gives a plain value to all replicas";
  let description = [{
    ```mlir
    %m = replica.broadcast_to %v, @w : tensor<4xf32> -> !replica.mirrored<tensor<4xf32>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, OptionalAttr<FlatSymbolRefAttr>:$destination);
  let results = (outs Replica_Mirrored:$result);
  let assemblyFormat = "$value (`,` $destination^)? attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Replica_GatherOp : Replica_CommunicationOp<"gather", [InCrossReplicaContext, DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "concatenates the values of all replicas along an axis";
  let description = [{
    The result is one plain value, in the order of the replicas. Sizes along `axis` may differ between them.

    ```mlir
    %all = replica.gather %p axis 0 : !replica.per_replica<tensor<?x3xf32>> -> tensor<?x3xf32>
    ```
  }];
  let arguments = (ins Replica_PerReplica:$value, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value `axis` $axis attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Replica_LocalResultsOp : Replica_CommunicationOp<"local_results", [InCrossReplicaContext, DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "the values of all replicas, as a list";
  let description = [{
    One result for each replica, in their order.

    ```mlir
    %0, %1 = replica.local_results %p : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Replica_PerReplica:$value);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($results)";
  let hasVerifier = 1;
}

def Replica_UpdateOp : Replica_Op<"update", [InCrossReplicaContext, IsolatedFromAbove,
    MemoryEffects<[MemRead<Replica_VariableResource>, MemWrite<Replica_VariableResource>]>,
    SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<OpensContextInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "computes a new value of a variable where it lives";
  let description = [{
    The region gets the current value and the operands' components; the first value that it yields becomes the variable's,
    the others are results. Per-replica operands are refused, since copies would diverge (E_PER_REPLICA_IN_UPDATE).

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
