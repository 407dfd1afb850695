//===- ReasonNotes.h - How a value became varying, as notes -----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_VERIFY_REASONNOTES_H
#define LOCKSTEP_PASSES_VERIFY_REASONNOTES_H

#include "passes/Analysis/UniformityAnalysis.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace lockstep {

/// Emits an error at the user's line.
mlir::InFlightDiagnostic emitUserError(mlir::Location location);

/// What the user calls argument `index` of `function`.
std::string describeArgument(mlir::FunctionOpInterface function,
                             unsigned index);

/// Attaches one note for each reason in the chain from `value` back to the
/// source that makes it varying, between the two `ranks` if they are given.
/// Reasons on one line of the user's program share a note, and the middle of a
/// long chain is left out.
void attachReasonChain(mlir::InFlightDiagnostic &diagnostic,
                       const UniformityAnalysis &uniformity, mlir::Value value,
                       std::optional<RankPair> ranks = std::nullopt);

/// Attaches a note, which ends with `more`, at a branch or loop through which
/// replicas may take different paths, then the chain of reasons for its
/// condition.
void attachDivergenceNotes(mlir::InFlightDiagnostic &diagnostic,
                           const UniformityAnalysis &uniformity,
                           Divergence divergence,
                           std::optional<RankPair> ranks = std::nullopt,
                           const std::string &more = "");

} // namespace lockstep

#endif
