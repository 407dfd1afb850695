//===- PlainLoops.h - The way that always works -----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_PLAINLOOPS_H
#define LOCKSTEP_PASSES_CODEGEN_PLAINLOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep {

/// Turns every structured operation into a nest of loops over scalars.
llvm::LogicalResult lowerToPlainLoops(mlir::func::FuncOp function);

/// Takes away all fast-math flags: nothing is left to the choice of a later
/// stage.
void fixRounding(mlir::func::FuncOp function);

/// What all ways of generating code agree on: where a reduction adds a product
/// of f32 or f64, `c + a * b`, it rounds once.
void formMultiplyAdds(mlir::linalg::GenericOp op);

} // namespace lockstep

#endif
