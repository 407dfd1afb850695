//===- GpuMath.h - Functions that a GPU has instructions for ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPUMATH_H
#define LOCKSTEP_PASSES_CODEGEN_GPUMATH_H

#include "mlir/IR/PatternMatch.h"

namespace lockstep {

/// Adds patterns for scalars of f32, of higher benefit than those for all
/// targets: maxima and minima, where NaN propagates and +0 is greater than -0;
/// the exponential function; and rounding to bf16. What they return for a NaN
/// is a NaN of other bits.
void populateGpuMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace lockstep

#endif
