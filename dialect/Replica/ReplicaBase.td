//===- ReplicaBase.td - The replica dialect and types ------*- tablegen -*-===//

#ifndef LOCKSTEP_DIALECT_REPLICA_REPLICABASE_TD
#define LOCKSTEP_DIALECT_REPLICA_REPLICABASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Replica_Dialect : Dialect {
  let name = "replica";
  let cppNamespace = "::lockstep::replica";
  let summary = "Training steps at the level of the user's program: replicas, variables, two contexts";
  let description = [{
    A module of this dialect contains one strategy, variables, steps and
    programs. A step is executed once per replica (replica context);
    `replica.merge_call` opens cross-replica context inside it. A program is
    executed once for all replicas (cross-replica context); `replica.run` opens
    replica context inside it. Computation is upstream `linalg`, `tensor`,
    `arith`, `math` and `scf` on tensors.

    Discardable attributes bind the arguments and results of a step or program
    to data of the host: `replica.batch = "x"` (a batch tensor, one shard per
    replica; `replica.bounds = array<i64: 8>` bounds its dynamic dimensions, in
    order), `replica.batches = ["x", "y"]` (the tensors of an iterator of a
    program), `replica.scalar = "lr"` (a host value, equal on all replicas;
    `replica.default` is its value if the host supplies none),
    `replica.metric = "loss"`, `replica.sum` and `replica.count` (results that
    the host reads).
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

class Replica_Type<string name, string typeMnemonic> : TypeDef<Replica_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Replica_PerReplica : Replica_Type<"PerReplica", "per_replica"> {
  let summary = "one value of the component type per replica";
  let description = [{
    The values of all replicas in cross-replica context. There is no arithmetic
    on them: `replica.reduce`, `replica.gather` and `replica.local_results`
    convert them to plain tensors, `replica.run` computes on the component of
    each replica. An unranked component type means that the tensors' ranks
    differ between replicas.
  }];
  let parameters = (ins "::mlir::TensorType":$component);
  let assemblyFormat = "`<` $component `>`";
}

def Replica_Mirrored : Replica_Type<"Mirrored", "mirrored"> {
  let summary = "equal values of the component type, one per replica";
  let description = [{
    The result of a reduction or a broadcast: every replica has the same value.
    Operands of an update of a mirrored variable have this type.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$component);
  let assemblyFormat = "`<` $component `>`";
}

def Replica_Iterator : Replica_Type<"Iterator", "iterator"> {
  let summary = "the batches of a program, one after the other";
  let description = [{
    Each batch has one tensor of each element type per replica. The number of
    batches is agreed before the program starts, so that no replica ends before
    the others: a replica without data left receives tensors without rows.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$elements);
  let assemblyFormat = "`<` $elements `>`";
}

class Replica_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::lockstep::replica";
  let genSpecializedAttr = 0;
}

def Replica_Kind : Replica_Enum<"Kind", "kind of a strategy", [
  I32EnumAttrCase<"Default", 0, "default">, I32EnumAttrCase<"OneDevice", 1, "one_device">,
  I32EnumAttrCase<"Mirrored", 2, "mirrored">, I32EnumAttrCase<"MultiWorkerMirrored", 3, "multi_worker_mirrored">,
  I32EnumAttrCase<"CentralStorage", 4, "central_storage">, I32EnumAttrCase<"ParameterServer", 5, "parameter_server">,
  I32EnumAttrCase<"ParameterServerSync", 6, "parameter_server_sync">]>;
def Replica_KindAttr : EnumAttr<Replica_Dialect, Replica_Kind, "kind"> { let assemblyFormat = "`<` $value `>`"; }

def Replica_PartitionRule : Replica_Enum<"PartitionRule", "rule for the number of shards of a variable", [
  I32EnumAttrCase<"Fixed", 0, "fixed">, I32EnumAttrCase<"MinSize", 1, "min_size">, I32EnumAttrCase<"MaxSize", 2, "max_size">]>;

def Replica_Partitioner : AttrDef<Replica_Dialect, "Partitioner"> {
  let mnemonic = "partitioner";
  let summary = "the number of shards into which variables are split along their first axis";
  let description = [{
    | rule | shards |
    |---|---|
    | `fixed N` | N |
    | `min_size bytes B shards M` | the size of the variable divided by `B`, rounded up, at most `M`; by default `B` is 256 KiB and `M` 1 |
    | `max_size bytes B shards M` | shards of as many whole rows as fit in `B` bytes; at most `M` if that is set, which are then larger |

    Never more than there are rows. The first shards have one row more where the
    rows do not divide. Numbers are positive (E_OPTION_VALUE).

    ```mlir
    #replica.partitioner<min_size bytes 262144 shards 2>
    ```
  }];
  let parameters = (ins EnumParameter<Replica_PartitionRule>:$rule, OptionalParameter<"::std::optional<int64_t>">:$bytes,
    OptionalParameter<"::std::optional<int64_t>">:$shards);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Replica_Reduction : Replica_Enum<"Reduction", "how the values of several replicas are reduced to one", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">, I32EnumAttrCase<"Product", 2, "product">,
  I32EnumAttrCase<"Min", 3, "min">, I32EnumAttrCase<"Max", 4, "max">]>;
def Replica_ReductionAttr : EnumAttr<Replica_Dialect, Replica_Reduction, "reduction">;

def Replica_Synchronization : Replica_Enum<"Synchronization", "when the copies of a variable are made equal", [
  I32EnumAttrCase<"OnWrite", 0, "on_write">, I32EnumAttrCase<"OnRead", 1, "on_read">,
  I32EnumAttrCase<"Auto", 2, "auto">, I32EnumAttrCase<"None", 3, "none">]>;
def Replica_SynchronizationAttr : EnumAttr<Replica_Dialect, Replica_Synchronization, "synchronization"> {
  let assemblyFormat = "`<` $value `>`";
}

def Replica_Aggregation : Replica_Enum<"Aggregation", "how per-replica writes to a variable are combined", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Sum", 1, "sum">, I32EnumAttrCase<"Mean", 2, "mean">,
  I32EnumAttrCase<"OnlyFirstReplica", 3, "only_first_replica">, I32EnumAttrCase<"Uniform", 4, "uniform">]>;
def Replica_AggregationAttr : EnumAttr<Replica_Dialect, Replica_Aggregation, "aggregation"> {
  let assemblyFormat = "`<` $value `>`";
}

def Replica_Scatter : Replica_Enum<"Scatter", "how a row of a variable and a row of slices are combined", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Sub", 1, "sub">, I32EnumAttrCase<"Mul", 2, "mul">,
  I32EnumAttrCase<"Div", 3, "div">, I32EnumAttrCase<"Min", 4, "min">, I32EnumAttrCase<"Max", 5, "max">,
  I32EnumAttrCase<"Update", 6, "update">]>;
def Replica_ScatterAttr : EnumAttr<Replica_Dialect, Replica_Scatter, "scatter_kind">;

#endif
