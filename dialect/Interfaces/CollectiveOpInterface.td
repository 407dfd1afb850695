//===- CollectiveOpInterface.td - What all exchanges share -*- tablegen -*-===//
//
// Verifier, bucketing, scheduling, cost model and simulator see collectives only through this.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_COLLECTIVEOPINTERFACE_TD
#define LOCKSTEP_DIALECT_INTERFACES_COLLECTIVEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::lockstep";
  let description = [{
    An operation in which the ranks of a group take part together.
  }];
  let methods = [
    InterfaceMethod<"The name of the group, a symbol of the module.",
      "::mlir::FlatSymbolRefAttr", "getGroupSymbol", (ins)>,
    InterfaceMethod<"The channel, or nullopt before channels are assigned.",
      "std::optional<uint64_t>", "getChannelNumber", (ins)>,
    InterfaceMethod<"Gives the operation its channel.", "void", "setChannelNumber", (ins "uint64_t":$channel)>,
    InterfaceMethod<"One word for the kind and its reduction, as reports print it.",
      "std::string", "getKindName", (ins)>,
    InterfaceMethod<"Bytes that each rank contributes; nullopt if shapes are dynamic.",
      "std::optional<uint64_t>", "getContributedBytes", (ins)>
  ];
}

#endif
