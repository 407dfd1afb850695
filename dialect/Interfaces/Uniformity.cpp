//===- Uniformity.cpp - Which values are equal on all replicas ------------===//

#include "dialect/Interfaces/Uniformity.h"

#include "llvm/ADT/STLExtras.h"

using namespace lockstep;

bool lockstep::isFunctionOfOperands(mlir::Operation *op) {
  // What their operations compute is a matter of their definition, those of
  // ours say where it is not (`UniformityOpInterface`).
  static constexpr llvm::StringLiteral kDialects[] = {
      "affine",  "arith",   "builtin", "cf",     "collective",
      "complex", "device",  "func",    "index",  "linalg",
      "math",    "replica", "scf",     "tensor", "vector"};
  return llvm::is_contained(kDialects, op->getName().getDialectNamespace());
}

#include "dialect/Interfaces/Uniformity.cpp.inc"
