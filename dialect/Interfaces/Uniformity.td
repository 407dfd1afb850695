//===- Uniformity.td - Equal on all replicas ---------------*- tablegen -*-===//
//
// The transfer function of the uniformity analysis is the join of an
// operation's operands. Operations with a different one (the result of an
// all-reduce is uniform even if operands vary, a replica id varies without
// operands) implement this interface.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_UNIFORMITY_TD
#define LOCKSTEP_DIALECT_INTERFACES_UNIFORMITY_TD

include "mlir/IR/OpBase.td"

def UniformityOpInterface : OpInterface<"UniformityOpInterface"> {
  let cppNamespace = "::lockstep";
  let description = [{
    An operation whose results' uniformity does not follow from its operands.
  }];
  let methods = [
    InterfaceMethod<"Whether the given result is equal on all replicas. `symbols` is used to look up variables and groups.",
      "::lockstep::ResultUniformity", "getResultUniformity",
      (ins "unsigned":$index, "::mlir::SymbolTableCollection &":$symbols)>
  ];
}

#endif
