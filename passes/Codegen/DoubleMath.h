//===- DoubleMath.h - Mathematical functions of f64 -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_DOUBLEMATH_H
#define LOCKSTEP_PASSES_CODEGEN_DOUBLEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace lockstep {

/// Replaces exp, expm1, log, log1p, tanh, sin, cos and pow of f64 by
/// arithmetic, with an error of a few units in the last place (pow: a few
/// hundred for huge exponents). sin, cos and pow of f32 are computed in f64 and
/// rounded. Angles beyond 1e9 lose accuracy. Algorithms and coefficients are
/// those of fdlibm (Sun Microsystems, 1993) or Taylor's.
void populateDoubleMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace lockstep

#endif
