//===- Uniformity.td - Equal on all replicas ---------------*- tablegen -*-===//
//
// A value is uniform if it is equal on all replicas. By default the uniformity
// analysis considers a result uniform if all operands of the operation are.
// Operations for which this is not so implement this interface: the result of
// an all-reduce is uniform whatever its operands are, and a replica id is not
// uniform although it has no operands.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_UNIFORMITY_TD
#define LOCKSTEP_DIALECT_INTERFACES_UNIFORMITY_TD

include "mlir/IR/OpBase.td"

def UniformityOpInterface : OpInterface<"UniformityOpInterface"> {
  let cppNamespace = "::lockstep";
  let description = [{
    An operation whose results are equal on all replicas, or differ between
    them, regardless of whether its operands are equal on all replicas.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether result number `index` is equal on all replicas. `symbols` is
        used to look up variables and groups.
      }],
      "::lockstep::ResultUniformity", "getResultUniformity",
      (ins "unsigned":$index, "::mlir::SymbolTableCollection &":$symbols)>
  ];
}

#endif
