//===- Story.h - How a value became varying, as notes -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_VERIFY_STORY_H
#define LOCKSTEP_PASSES_VERIFY_STORY_H

#include "passes/Analysis/Uniformity.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace lockstep {

/// Emits an error at the user's line.
mlir::InFlightDiagnostic emitUserError(mlir::Location location);

/// What the user calls argument `index` of `function`.
std::string describeArgument(mlir::FunctionOpInterface function,
                             unsigned index);

/// Attaches one note for each step of the way from `value` back to the source
/// that makes it varying, between the two `ranks` if they are given. Steps on
/// one line of the user's program are told once, and of a long way the middle
/// is left out.
void tellWay(mlir::InFlightDiagnostic &diagnostic,
             const UniformityAnalysis &uniformity, mlir::Value value,
             std::optional<RankPair> ranks = std::nullopt);

/// Attaches a note at a branch or loop that replicas may go through
/// differently, which ends with `more`, then the way of its condition.
void tellDivergence(mlir::InFlightDiagnostic &diagnostic,
                    const UniformityAnalysis &uniformity, Divergence divergence,
                    std::optional<RankPair> ranks = std::nullopt,
                    const std::string &more = "");

} // namespace lockstep

#endif
