//===- CollectiveOps.td - Collective operations ------------*- tablegen -*-===//

#ifndef LOCKSTEP_DIALECT_COLLECTIVE_COLLECTIVEOPS_TD
#define LOCKSTEP_DIALECT_COLLECTIVE_COLLECTIVEOPS_TD

include "dialect/Collective/CollectiveBase.td"
include "dialect/Interfaces/CollectiveOpInterface.td"
include "dialect/Interfaces/Uniformity.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Collective_Op<string mnemonic, list<Trait> traits = []> : Op<Collective_Dialect, mnemonic, traits>;

/// The communication between ranks, as a resource with memory effects.
def Collective_CommunicationResource : Resource<"::lockstep::collective::CommunicationResource">;

class Collective_CommunicationOp<string mnemonic, list<Trait> traits = []> : Collective_Op<mnemonic,
    traits # [MemoryEffects<[MemRead<Collective_CommunicationResource>, MemWrite<Collective_CommunicationResource>]>]>;

def Collective_GroupOp : Collective_Op<"group", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "ranks that communicate with each other";
  let description = [{
    Without `ranks`, all replicas. With `with_replicas`, all replicas and the
    `ranks`, which belong to other roles, for example parameter servers.

    ```mlir
    collective.group @all
    collective.group @even {ranks = array<i64: 0, 2>}
    collective.group @server0 {ranks = array<i64: 4>, with_replicas}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<DenseI64ArrayAttr>:$ranks, UnitAttr:$with_replicas);
  let extraClassDeclaration = [{
    bool hasAllReplicas() { return !getRanks() || getWithReplicas(); }
  }];
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
}

def Collective_StartOp : Collective_CommunicationOp<"start", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<CollectiveOpInterface>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "starts a collective";
  let description = [{
    The collective reads its operands until its wait, which has them as operands
    too. `channel` numbers the collectives in program order; it is equal on all
    ranks by construction, and reports refer to it. `axis` is the axis along
    which operands are concatenated or split, 0 by default. The compiler may
    merge collectives into one, a bucket; `bytes_per_pack` is a bound on the
    size of the bucket that contains this one, and 0 leaves it to the compiler.
    `sizes` are the sizes of the results' dynamic dimensions, in order: before a
    gather, ranks exchange how many rows each of them contributes. `bounds` are
    upper bounds of these sizes, from which memory is planned.

    Reductions of f16 and bf16 accumulate in f32. Their results have the type of
    the operands, rounded once, or are f32 without rounding, to be divided for a
    mean.

    ```
    all_reduce sum    rank 0: [1 2]  rank 1: [3 4]   ->  rank 0: [4 6]      rank 1: [4 6]
    all_gather        rank 0: [1 2]  rank 1: [3]     ->  rank 0: [1 2 3]    rank 1: [1 2 3]
    reduce_scatter    rank 0: [1 2]  rank 1: [3 4]   ->  rank 0: [4]        rank 1: [6]
    broadcast         rank 0: [1 2]  rank 1: [3 4]   ->  rank 0: [1 2]      rank 1: [1 2]
    reduce sum        rank 0: [1 2]  rank 1: [3 4]   ->  rank 0: [4 6]
    gather            rank 0: [1 2]  rank 1: [3]     ->  rank 0: [1 2 3]
    scatter           rank 0: [1 2], counts [2]      ->                     rank 1: [1 2]
    all_to_all        rank 0: [1 2]  rank 1: [3 4]   ->  rank 0: [1 3]      rank 1: [2 4]
    permute           rank 0: [1 2]  rank 1: [3 4]   ->  rank 0: [3 4]      rank 1: [1 2]
    send              rank 0: [1 2]                  ->                     rank 1: [1 2]
    recv                             rank 1: [3 4]   ->  rank 0: [3 4]
    ```

    A reduce, a gather, a broadcast, a scatter, a send and a recv have a `root`,
    by default the first rank of the group; in the table above it is rank 0. A
    scatter has two operands: the rows for all other ranks, concatenated, and
    how many of them each rank receives. A send transfers from the root to the
    other rank of a group of two, a recv from the other rank to the root.
    `sources` names for each rank of a permute, in the order of the group, the
    rank from which it receives; a rank with -1 receives zeros. The results of
    ranks that receive nothing are unspecified.

    ```mlir
    %h = collective.start permute none @ring (%x : tensor<4xf32>) {sources = array<i64: 2, 0, 1>} -> !collective.pending<tensor<4xf32>>
    ```

    Ranks of the same role execute the same function. If the root of a
    broadcast, a scatter, a reduce or a gather belongs to another role than the
    other ranks, the function of each role has only the operands that its own
    ranks send and the results that they receive. So if rank 4 holds a variable
    that ranks 0 to 3 read, the two functions contain

    ```mlir
    %h = collective.start broadcast none @server0 root 4 (%w : tensor<7x2xf32>) -> <>          // rank 4
    %h = collective.start broadcast none @server0 root 4 () -> <tensor<7x2xf32>>               // ranks 0 to 3
    ```

    ```mlir
    %h = collective.start all_reduce sum @all channel 3 (%dw, %db : tensor<64x10xf32>, tensor<10xf32>)
        -> !collective.pending<tensor<64x10xf32>, tensor<10xf32>>
    %r = collective.start all_gather none @all channel 4 axis 0 (%rows : tensor<?x3xf32>) sizes(%total)
        -> !collective.pending<tensor<?x3xf32>>
    ```
  }];
  let arguments = (ins Collective_KindAttr:$kind, Collective_ReductionAttr:$reduction, FlatSymbolRefAttr:$group,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$channel, Variadic<AnyRankedTensor>:$inputs,
    Variadic<Index>:$sizes, OptionalAttr<I64Attr>:$axis, DefaultValuedAttr<I64Attr, "0">:$bytes_per_pack,
    OptionalAttr<DenseI64ArrayAttr>:$bounds, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$root,
    OptionalAttr<DenseI64ArrayAttr>:$sources);
  let results = (outs Collective_Pending:$pending);
  let assemblyFormat = [{
    `` $kind `` $reduction $group (`root` $root^)? (`channel` $channel^)? (`axis` $axis^)? `(` ($inputs^ `:` type($inputs))? `)`
    (`sizes` `(` $sizes^ `)`)? attr-dict `->` type($pending)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The sizes of the dynamic dimensions of one result, in order.
    ::mlir::ValueRange getResultSizes(unsigned result);
    /// The upper bounds of these sizes, if they are known.
    std::optional<::llvm::ArrayRef<int64_t>> getResultBounds(unsigned result);
  }];
}

def Collective_WaitOp : Collective_CommunicationOp<"wait", [DeclareOpInterfaceMethods<UniformityOpInterface>]> {
  let summary = "waits for a collective and returns its results";
  let description = [{
    Must be in the block of its start, and is the only use of the pending value.
    Results of an all_reduce, an all_gather or a broadcast over all ranks are
    equal on all of them. A rank that is no member of the group does not take
    part; its results are unspecified, like those of a `tensor.empty`.

    ```mlir
    %g:2 = collective.wait %h (%dw, %db : tensor<64x10xf32>, tensor<10xf32>)
        : !collective.pending<tensor<64x10xf32>, tensor<10xf32>> -> tensor<64x10xf32>, tensor<10xf32>
    ```
  }];
  let arguments = (ins Collective_Pending:$pending, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$pending `(` ($inputs^ `:` type($inputs))? `)` attr-dict `:` type($pending) (`->` type($results)^)?";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The start of this wait.
    StartOp getStart() { return getPending().getDefiningOp<StartOp>(); }
  }];
}

def Collective_BarrierOp : Collective_CommunicationOp<"barrier", [DeclareOpInterfaceMethods<CollectiveOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "all ranks of a group arrive before any of them continues";
  let description = [{
    ```mlir
    collective.barrier @all channel 4
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$channel);
  let assemblyFormat = "$group (`channel` $channel^)? attr-dict";
}

#endif
