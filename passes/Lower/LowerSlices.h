//===- LowerSlices.h - Lookups and scatters of rows as loops ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_LOWERSLICES_H
#define LOCKSTEP_PASSES_LOWER_LOWERSLICES_H

#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep {

/// `table` after its rows `indices[i]`, for i below `count`, have been combined
/// with `values[i]`, one after the other. An index outside of the table changes
/// nothing.
mlir::Value scatterRows(mlir::OpBuilder &builder, mlir::Location loc,
                        replica::Scatter kind, mlir::Value table,
                        mlir::Value indices, mlir::Value values,
                        mlir::Value count);

/// The rows of `table` that `ids` name, one after the other; zeros for an id
/// outside of it.
mlir::Value lookUpRows(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value table, mlir::Value ids);

/// A tensor of type `type` that is zero but for the rows `indices[i]`: those
/// are the sum of their `values[i]`.
mlir::Value makeDense(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::RankedTensorType type, mlir::Value indices,
                      mlir::Value values);

/// The number of rows of a tensor, an index.
mlir::Value countRows(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value tensor);

} // namespace lockstep

#endif
