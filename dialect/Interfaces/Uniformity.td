//===- Uniformity.td - Which values are equal on all replicas -*- tablegen -*-===//
//
// The uniformity analysis joins the operands of an operation. Operations for which that is
// wrong (an all-reduce makes varying values uniform, a replica id is varying without having
// operands) say so through this interface.
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
    InterfaceMethod<"How the given result relates to the replicas. `symbols` finds variables and groups.",
      "::lockstep::ResultUniformity", "getResultUniformity",
      (ins "unsigned":$index, "::mlir::SymbolTableCollection &":$symbols)>
  ];
}

#endif
