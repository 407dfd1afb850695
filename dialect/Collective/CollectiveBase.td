//===- CollectiveBase.td - Collective dialect --------------*- tablegen -*-===//

#ifndef LOCKSTEP_DIALECT_COLLECTIVE_COLLECTIVEBASE_TD
#define LOCKSTEP_DIALECT_COLLECTIVE_COLLECTIVEBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Collective_Dialect : Dialect {
  let name = "collective";
  let cppNamespace = "::lockstep::collective";
  let summary = "Explicit communication between ranks: groups, channels, reductions, barriers";
  let description = [{
    Terms are those of MPI and NCCL. A collective is split into a start and a
    wait, so that other work can overlap with it. A bucket is one collective
    with many operands.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Collective_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::lockstep::collective";
  let genSpecializedAttr = 0;
}

// The numbers are those of `CollectiveKind` in runtime/schema/artifact.fbs. Its
// number 11, a barrier, is an operation of its own in this dialect.
def Collective_Kind : Collective_Enum<"Kind", "kind of a collective", [
  I32EnumAttrCase<"AllReduce", 0, "all_reduce">, I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
  I32EnumAttrCase<"AllGather", 2, "all_gather">, I32EnumAttrCase<"Reduce", 3, "reduce">,
  I32EnumAttrCase<"Broadcast", 4, "broadcast">, I32EnumAttrCase<"Gather", 5, "gather">,
  I32EnumAttrCase<"Scatter", 6, "scatter">, I32EnumAttrCase<"AllToAll", 7, "all_to_all">,
  I32EnumAttrCase<"Send", 8, "send">, I32EnumAttrCase<"Recv", 9, "recv">, I32EnumAttrCase<"Permute", 10, "permute">]>;
def Collective_KindAttr : EnumAttr<Collective_Dialect, Collective_Kind, "kind">;

// The numbers are those of `Reduction` in runtime/schema/artifact.fbs.
def Collective_Reduction : Collective_Enum<"Reduction", "reduction of a collective", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Sum", 1, "sum">, I32EnumAttrCase<"Product", 2, "product">,
  I32EnumAttrCase<"Min", 3, "min">, I32EnumAttrCase<"Max", 4, "max">]>;
def Collective_ReductionAttr : EnumAttr<Collective_Dialect, Collective_Reduction, "reduction">;

def Collective_Pending : TypeDef<Collective_Dialect, "Pending"> {
  let mnemonic = "pending";
  let summary = "a collective that has started, and the types of its results";
  let parameters = (ins OptionalArrayRefParameter<"::mlir::Type">:$results);
  let assemblyFormat = "`<` custom<PendingResults>($results) `>`";
}

#endif
