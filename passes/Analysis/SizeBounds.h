//===- SizeBounds.h - Upper bounds of dynamic sizes -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_SIZEBOUNDS_H
#define LOCKSTEP_PASSES_ANALYSIS_SIZEBOUNDS_H

#include "mlir/IR/Value.h"

#include <optional>

namespace lockstep {

/// An upper bound of dimension `dimension` of a ranked tensor, as far as it
/// follows from the operations that compute it: a slice, or the result of an
/// elementwise operation, is not larger than its operand; a gather of
/// `replicas` replicas is at most that many times as large. Nullopt if no
/// bound is known.
std::optional<int64_t> findSizeBound(mlir::Value tensor, int64_t dimension,
                                     int64_t replicas);

} // namespace lockstep

#endif
