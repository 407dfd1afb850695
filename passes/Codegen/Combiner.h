//===- Combiner.h - The combining operation of a reduction ------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_COMBINER_H
#define LOCKSTEP_PASSES_CODEGEN_COMBINER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep {

/// The operation by which the body of a reduction with one result combines a
/// value with the accumulator.
struct Combiner {
  mlir::OperationName name;
  mlir::TypedAttr neutral; ///< Changes nothing when combined.

  mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value a, mlir::Value b) const;
};

/// Matches sums, products, minima, maxima and bitwise operations; a
/// multiply-add counts as a sum.
std::optional<Combiner> matchCombiner(mlir::linalg::GenericOp op);

/// Combines all lanes of a vector in a fixed tree: the two halves are combined
/// until one lane is left.
mlir::Value combineLanes(mlir::OpBuilder &builder, mlir::Location loc,
                         const Combiner &combiner, mlir::Value vector);

} // namespace lockstep

#endif
