//===- Formulas.h - Formulas of kernels, as IR and as tables ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_FORMULAS_H
#define LOCKSTEP_PASSES_EMIT_FORMULAS_H

#include "runtime/artifact/artifact_generated.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace lockstep {

/// Puts the formulas of `kernel`, if it has any, into `table`, and the names of
/// their operations into `tables`.
llvm::LogicalResult emitFormulas(mlir::Operation *kernel,
                                 artifact::KernelT &table,
                                 artifact::ArtifactT &tables);

/// The formulas of a kernel as an attribute; null if it has none.
mlir::ArrayAttr importFormulas(mlir::Builder &builder,
                               const artifact::Kernel &kernel,
                               const artifact::Artifact &tables);

} // namespace lockstep

#endif
