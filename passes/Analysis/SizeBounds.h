//===- SizeBounds.h - The most that a dynamic size can be -------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_SIZEBOUNDS_H
#define LOCKSTEP_PASSES_ANALYSIS_SIZEBOUNDS_H

#include "mlir/IR/Value.h"

#include <optional>

namespace lockstep {

/// The most that dimension `dimension` of a ranked tensor can be, as far as the
/// operations that made it tell: what is a part of another tensor, or is
/// computed from it element by element, is not larger; what `replicas` replicas
/// gather is as much from each.
std::optional<int64_t> findSizeBound(mlir::Value tensor, int64_t dimension,
                                     int64_t replicas);

} // namespace lockstep

#endif
