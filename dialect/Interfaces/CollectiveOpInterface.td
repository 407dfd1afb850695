//===- CollectiveOpInterface.td - Collectives --------------*- tablegen -*-===//
//
// The properties that passes need of every collective and barrier, whatever its
// kind.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_COLLECTIVEOPINTERFACE_TD
#define LOCKSTEP_DIALECT_INTERFACES_COLLECTIVEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::lockstep";
  let description = [{
    An operation in which all ranks of a group take part: a collective or a
    barrier.
  }];
  let methods = [
    InterfaceMethod<"The name of the group, a symbol of the module.",
      "::mlir::FlatSymbolRefAttr", "getGroupSymbol", (ins)>,
    InterfaceMethod<"The channel, a number that identifies the operation on all ranks, or nullopt before channels are assigned.",
      "std::optional<uint64_t>", "getChannelNumber", (ins)>,
    InterfaceMethod<"Sets the channel of the operation.", "void", "setChannelNumber", (ins "uint64_t":$channel)>,
    InterfaceMethod<"The properties of the kind, from the table that compiler and runtime share.",
      "const ::lockstep::runtime::CollectiveProperties &", "getKindProperties", (ins)>,
    InterfaceMethod<"The kind and the reduction, as reports print them.",
      "std::string", "getKindName", (ins)>,
    InterfaceMethod<"The element type of all operands; null if there are none, or several types.",
      "::mlir::Type", "getElementType", (ins)>,
    InterfaceMethod<"Bytes of the operands of each rank; nullopt if shapes are dynamic.",
      "std::optional<uint64_t>", "getContributedBytes", (ins)>,
    InterfaceMethod<"Bytes that are transferred for the operands of each rank: f16 and bf16 are reduced, and sent, as f32.",
      "std::optional<uint64_t>", "getTransferredBytes", (ins), /*methodBody=*/"", /*defaultImplementation=*/[{
        std::optional<uint64_t> bytes = $_op.getContributedBytes();
        return bytes ? std::optional(*bytes * getTransferWidening($_op)) : std::nullopt;
      }]>
  ];
}

#endif
