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

/// The communication between replicas, as a resource with memory effects:
/// operations with effects on it are neither merged, erased nor moved by
/// upstream passes.
def Replica_CommunicationResource : Resource<"::lockstep::replica::CommunicationResource">;
/// The contents of all variables.
def Replica_VariableResource : Resource<"::lockstep::replica::VariableResource">;

class Replica_CommunicationOp<string mnemonic, list<Trait> traits = []> : Replica_Op<mnemonic,
    traits # [MemoryEffects<[MemRead<Replica_CommunicationResource>, MemWrite<Replica_CommunicationResource>]>]>;

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

def Replica_StrategyOp : Replica_Op<"strategy", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "the distribution strategy of a module";
  let description = [{
    At most one per module. Without it, or without `replicas`, the count is that
    of the compiler's option `--replicas`; it is static from then on.

    The strategies with parameter servers have the number of `servers` (or the
    compiler's option `--servers` sets it), and optionally a `partitioner` that
    splits variables into shards. Variables and shards are assigned to the
    servers round-robin, in the order of the module. With `parameter_server`
    each worker has one replica and executes steps independently; with
    `parameter_server_sync` all workers execute each step together.

    ```mlir
    replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4 : i64}
    replica.strategy @ps {kind = #replica.kind<parameter_server_sync>, replicas = 4 : i64, servers = 2 : i64,
        partitioner = #replica.partitioner<min_size bytes 262144 shards 2>}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Replica_KindAttr:$kind, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$replicas,
    OptionalAttr<I64Attr>:$servers, OptionalAttr<Replica_Partitioner>:$partitioner);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
}

def Replica_VariableOp : Replica_Op<"variable", [Symbol, HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a variable: state that persists between steps";
  let description = [{
    The name is the path of the value in the user's state, which is also its
    name in files. If another symbol of the module has that name, the variable
    has a different one and the attribute `path`. Values above 4 KiB are not
    stored in `initial` but are read by name from a safetensors file.

    | synchronization | copies |
    |---|---|
    | `on_write` (default), `auto` | are equal: written together |
    | `on_read` | may differ between replicas; reading them in cross-replica context combines them |
    | `none` | error, except for strategies that keep one copy (`E_SYNC_NONE`) |

    | aggregation | what an assignment in replica context does |
    |---|---|
    | `uniform` (default) | every replica assigns the same value, which the compiler proves |
    | `sum`, `mean` | assigns the reduction of the replicas' values |
    | `only_first_replica` | assigns the value of replica 0 |
    | `none` | error: the new value of the copies is undefined (`E_AGG_NONE`) |

    `Strategy.h` describes how these rules apply to strategies that keep one
    copy of a variable.

    A variable with `colocate_with` is stored on the server of the named
    variable and is never split; the named variable must precede it. Without
    parameter servers this has no effect.

    With `whole_shape`, which the compiler sets, the elements of a variable of
    that shape are divided among the replicas, in row-major order: each has the
    next ones, as many as the type says, and reads and writes only these.
    Behind the last element, the parts of the last replicas are padding.

    ```mlir
    replica.variable @w : tensor<64x10xf32> {aggregation = #replica.aggregation<mean>}
    replica.variable @seen : tensor<i64> {synchronization = #replica.synchronization<on_read>,
        aggregation = #replica.aggregation<sum>, initial = dense<0> : tensor<i64>}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<StaticShapeTensorOf<[AnyType]>>:$type,
    DefaultValuedAttr<Replica_SynchronizationAttr, "::lockstep::replica::Synchronization::OnWrite">:$synchronization,
    DefaultValuedAttr<Replica_AggregationAttr, "::lockstep::replica::Aggregation::Uniform">:$aggregation,
    OptionalAttr<ElementsAttr>:$initial, UnitAttr:$is_unsigned, OptionalAttr<StrAttr>:$path, OptionalAttr<FlatSymbolRefAttr>:$colocate_with,
    OptionalAttr<DenseI64ArrayAttr>:$whole_shape);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let extraClassDeclaration = [{
    /// The name in files: the path if there is one, otherwise the symbol.
    ::llvm::StringRef getStoredName() { return getPath().value_or(getSymName()); }
    /// True if each replica has its own copy, which may differ from the others.
    bool isOnRead() { return getSynchronization() == Synchronization::OnRead; }
    /// True if the replicas store different values: copies of their own, or
    /// parts of one variable.
    bool isPerReplica() { return isOnRead() || getWholeShape(); }
  }];
  let hasVerifier = 1;
}

def Replica_StepOp : Replica_Op<"step", [FunctionOpInterface, IsolatedFromAbove, AffineScope, AutomaticAllocationScope,
    HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<OpensContextInterface>]> {
  let summary = "a function that runs once per replica";
  let description = [{
    Arguments are per replica unless they have `replica.scalar`. The arguments
    of a step that a program calls are those of the call.

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

def Replica_ReturnOp : Replica_Op<"return", [Pure, Terminator, ReturnLike, ParentOneOf<["StepOp", "ProgramOp"]>]> {
  let summary = "ends a step or a program";
  let description = [{
    The operands are the results of the step or program.

    ```mlir
    replica.return %loss : tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
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
    In replica context the replica's own copy; in cross-replica context the
    mirrored value, or for an on_read variable the combination of all copies
    according to its aggregation. With `aggregated`, replicas read that
    combination too: the read is then a collective of all replicas.

    ```mlir
    %w = replica.read @w : tensor<64x10xf32>
    %all_seen = replica.read @seen {aggregated} : tensor<i64>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, UnitAttr:$aggregated);
  let results = (outs AnyRankedTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::FlatSymbolRefAttr":$variable), [{
    build($_builder, $_state, type, variable, /*aggregated=*/false);
  }]>];
  let extraClassDeclaration = [{
    /// True if this reads the combination of all copies of `variable`, an
    /// on_read variable.
    bool combinesCopies(::lockstep::replica::VariableOp variable);
  }];
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

class Replica_AssignOpBase<string mnemonic> : Replica_Op<mnemonic, [InAnyContext,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead<Replica_VariableResource>, MemWrite<Replica_VariableResource>]>]> {
  let arguments = (ins FlatSymbolRefAttr:$variable, AnyType:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def Replica_AssignOp : Replica_AssignOpBase<"assign"> {
  let summary = "assigns a new value to a variable";
  let description = [{
    In replica context the variable's aggregation determines how the values of
    the replicas are combined. In cross-replica context one plain or mirrored
    value is assigned to all copies; if an on_read variable is the sum of its
    copies, each is assigned an equal part.

    ```mlir
    replica.assign @w, %new : tensor<64x10xf32>
    ```
  }];
}
def Replica_AssignAddOp : Replica_AssignOpBase<"assign_add"> {
  let summary = "adds a value to a variable";
  let description = [{
    As `replica.assign` of the sum. The values of the replicas are combined
    first, according to the variable's aggregation: if a variable with
    aggregation `sum` is 10 and two replicas add 1 and 2, it becomes 13. In
    cross-replica context, adding to a variable that is the sum of its copies is
    an error (E_ONREAD_ASSIGN_ADD_SUM).

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

def Replica_LiteralOp : Replica_Op<"literal", [Pure, InAnyContext, AllTypesMatch<["value", "result"]>]> {
  let summary = "a literal of the user's program";
  let description = [{
    As a constant, except that its sum over replicas is an error: the user may
    mean either the number or N times the number (`E_NON_DISTRIBUTED_SUM`; a sum
    of zeros is allowed). After that check it is converted to `arith.constant`.

    ```mlir
    %five = replica.literal dense<5.0> : tensor<f32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "attr-dict $value";
}

//===----------------------------------------------------------------------===//
// Replica context
//===----------------------------------------------------------------------===//

def Replica_IdOp : Replica_Op<"id", [Pure, InReplicaContext, DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "the id of this replica, from 0";
  let description = [{
    Different on every replica; values that are computed from it are varying.

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
    Equal on all replicas. Folded to a constant when the count is known.

    ```mlir
    %n = replica.num_in_sync : tensor<i32>
    ```
  }];
  let results = (outs 0DTensorOf<[I32]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Replica_AllReduceOp : Replica_CommunicationOp<"all_reduce", [InReplicaContext,
    DeclareOpInterfaceMethods<InferTypeOpInterface>, DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "reduces the values of all replicas; each of them receives the result";
  let description = [{
    One operation is one call of the user; a nested structure is flattened into
    its operands. Shapes are equal on all replicas. The mean of integers is f64;
    with a strategy of a single replica, which leaves values unchanged, it may
    keep the type, which then follows an arrow.

    ```
    before      replica 0: [1 2]   replica 1: [3 4]
    after sum   replica 0: [4 6]   replica 1: [4 6]
    ```

    Reductions are `sum`, `mean`, `product`, `min` and `max`; of booleans, `min`
    (all of them) and `max` (any of them). A NaN of one replica is the result of
    `min` and `max`. Products of f16 and bf16 are rounded once, as sums are.

    `bytes_per_pack` is a bound on the size of the buckets, in bytes; 0 leaves
    it to the compiler.

    ```mlir
    %gw, %gb = replica.all_reduce mean %dw, %db {bytes_per_pack = 33554432 : i64} : tensor<64x10xf32>, tensor<10xf32>
    ```
  }];
  let arguments = (ins Replica_ReductionAttr:$reduction, Variadic<AnyTensor>:$operands,
    DefaultValuedAttr<I64Attr, "0">:$bytes_per_pack);
  let results = (outs Variadic<AnyTensor>:$results);
  let assemblyFormat = "custom<AnyReduction>($reduction) $operands attr-dict `:` type($operands) "
                       "`` custom<ReducedTypes>(ref($reduction), ref(type($operands)), type($results))";
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual);
  }];
  let hasVerifier = 1;
}

def Replica_AllGatherOp : Replica_CommunicationOp<"all_gather", [InReplicaContext, SameVariadicOperandSize,
    DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "concatenates the values of all replicas along an axis, in the order of the replicas";
  let description = [{
    Sizes along `axis` may differ between replicas if they are dynamic; all
    other dimensions are equal. With a strategy of a single replica, values are
    returned unchanged, even scalars.

    ```
    before        replica 0: [1 2]   replica 1: [3]
    after axis 0  replica 0: [1 2 3] replica 1: [1 2 3]
    ```

    ```mlir
    %all = replica.all_gather %v axis 0 : tensor<?x3xf32> -> tensor<?x3xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyTensor>:$operands, I64Attr:$axis);
  let results = (outs Variadic<AnyTensor>:$results);
  let assemblyFormat = "$operands `axis` $axis attr-dict `:` type($operands) `->` type($results)";
  let hasVerifier = 1;
}

def Replica_MergeCallOp : Replica_CommunicationOp<"merge_call", [InReplicaContext, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<OpensContextInterface>]> {
  let summary = "a rendezvous of the replicas, where a region runs once in cross-replica context";
  let description = [{
    Arguments of the region are `!replica.per_replica<T>` (one value per
    replica) or `T` (a uniform value). Each replica receives its component of
    the yielded values. Gradients do not flow through it.

    ```mlir
    %r = replica.merge_call (%g : tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%pg: !replica.per_replica<tensor<4xf32>>):
      %s = replica.reduce_to sum %pg, @w : !replica.per_replica<tensor<4xf32>> -> !replica.mirrored<tensor<4xf32>>
      replica.yield %s : !replica.mirrored<tensor<4xf32>>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyTensor>:$operands);
  let results = (outs Variadic<AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`(` $operands^ `:` type($operands) `)`)? (`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Replica_YieldOp : Replica_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["MergeCallOp", "RunOp", "UpdateOp", "UpdateNonSlotOp",
    "ValuesFromFunctionOp"]>]> {
  let summary = "ends a region of another context";
  let description = [{
    In a merge_call each replica receives its component of a per-replica
    operand, and the same value of any other operand. In a run the operands are
    the results of one replica. In an update the first operand is the variable's
    new value.

    ```mlir
    replica.yield %s : !replica.mirrored<tensor<4xf32>>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

include "dialect/Replica/SlicesOps.td"
include "dialect/Replica/CrossReplicaOps.td"

#endif
