//===- CollectiveOpInterface.td - Collectives --------------*- tablegen -*-===//
//
// The properties that passes need of every collective and barrier, whatever its kind.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_COLLECTIVEOPINTERFACE_TD
#define LOCKSTEP_DIALECT_INTERFACES_COLLECTIVEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::lockstep";
  let description = [{
    An operation in which all ranks of a group take part: a collective or a barrier.
  }];
  let methods = [
    InterfaceMethod<"The name of the group, a symbol of the module.",
      "::mlir::FlatSymbolRefAttr", "getGroupSymbol", (ins)>,
    InterfaceMethod<"The channel, a number that identifies the operation on all ranks, or nullopt before channels are assigned.",
      "std::optional<uint64_t>", "getChannelNumber", (ins)>,
    InterfaceMethod<"Sets the channel of the operation.", "void", "setChannelNumber", (ins "uint64_t":$channel)>,
    InterfaceMethod<"The kind and the reduction, as reports print them.",
      "std::string", "getKindName", (ins)>,
    InterfaceMethod<"Bytes that each rank contributes; nullopt if shapes are dynamic.",
      "std::optional<uint64_t>", "getContributedBytes", (ins)>
  ];
}

#endif
