//===- LowerScatter.h - Scatters to loops -----------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_LOWER_LOWERSCATTER_H
#define LOCKSTEP_PASSES_LOWER_LOWERSCATTER_H

#include "dialect/Replica/ReplicaDialect.h"

namespace lockstep {

/// `table` after its rows `indices[i]`, for i below `count`, have been combined with `values[i]`, one after the other. An index
/// outside of the table changes nothing.
mlir::Value scatterRows(mlir::OpBuilder &builder, mlir::Location loc, replica::Scatter kind, mlir::Value table, mlir::Value indices,
                        mlir::Value values, mlir::Value count);

} // namespace lockstep

#endif
