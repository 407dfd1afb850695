//===- Shapes.h - Operand shapes are equal on all replicas ------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_VERIFY_SHAPES_H
#define LOCKSTEP_PASSES_VERIFY_SHAPES_H

#include "passes/Verify/Verdict.h"

namespace lockstep {

/// Checks the operands of all collectives in `function`: their sizes must be
/// equal on all replicas, except along the axis of a gather. Emits
/// [E_SHAPE_MISMATCH] where that is not proven.
llvm::LogicalResult verifyCollectiveShapes(mlir::FunctionOpInterface function,
                                           const UniformityAnalysis &uniformity,
                                           Judge &judge);

} // namespace lockstep

#endif
