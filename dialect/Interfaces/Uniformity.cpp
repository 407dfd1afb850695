//===- Uniformity.cpp - Which values are equal on all replicas ------------===//

#include "dialect/Interfaces/Uniformity.h"

#include "llvm/ADT/STLExtras.h"

using namespace lockstep;

bool lockstep::isFunctionOfOperands(mlir::Operation *op) {
  // By definition, results of operations of these dialects depend on operands
  // and regions only; our own operations for which that is not so implement
  // `UniformityOpInterface`.
  static constexpr llvm::StringLiteral kDialects[] = {
      "affine",  "arith",   "builtin", "cf",     "collective",
      "complex", "device",  "func",    "index",  "linalg",
      "math",    "replica", "scf",     "tensor", "vector"};
  return llvm::is_contained(kDialects, op->getName().getDialectNamespace());
}

#include "dialect/Interfaces/Uniformity.cpp.inc"
