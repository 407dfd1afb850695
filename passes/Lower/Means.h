//===- Means.h - Divides sums by their number of terms ----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_MEANS_H
#define LOCKSTEP_PASSES_LOWER_MEANS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace lockstep {

/// `sum` / `count` in elements of type `element`, computed in the wider of the
/// two types. Multiplies where that is exact.
mlir::Value divideBy(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value sum, int64_t count, mlir::Type element);

/// The same with a count known only at run time: an integer.
mlir::Value divideBy(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value sum, mlir::Value count, mlir::Type element);

/// The type in which values of type `element` are added before they are
/// divided: 16 bits are rounded once, after the division.
mlir::Type getSumType(mlir::Type element);

} // namespace lockstep

#endif
