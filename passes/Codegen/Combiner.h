//===- Combiner.h - How a reduction joins two partial results ---*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_COMBINER_H
#define LOCKSTEP_PASSES_CODEGEN_COMBINER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep {

/// The operation by which the body of a reduction with one result adds a value
/// to it.
struct Combiner {
  mlir::OperationName name;
  mlir::TypedAttr neutral; ///< Changes nothing when combined.

  mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value a, mlir::Value b) const;
};

/// Recognizes sums, products, minima, maxima and bitwise operations; a
/// multiply-add counts as a sum.
std::optional<Combiner> matchCombiner(mlir::linalg::GenericOp op);

/// Combines all lanes of a vector in a fixed tree: halves with each other,
/// until one is left.
mlir::Value combineLanes(mlir::OpBuilder &builder, mlir::Location loc,
                         const Combiner &combiner, mlir::Value vector);

} // namespace lockstep

#endif
