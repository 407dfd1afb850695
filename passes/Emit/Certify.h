//===- Certify.h - Proves what is written -----------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_CERTIFY_H
#define LOCKSTEP_PASSES_EMIT_CERTIFY_H

#include "runtime/artifact/artifact_generated.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace lockstep {

/// The operation that became a command of the program `name` of `role`.
using CommandLocator = llvm::function_ref<mlir::Location(
    llvm::StringRef name, llvm::StringRef role, uint32_t command)>;

/// Proves that the ranks of all programs in `tables`, which were made from
/// `module`, do not wait for each other for ever, and puts the certificates
/// there. Errors, at the user's lines: some may, with the way on which they do;
/// or it is not known, and which condition it depends on. With `allowUnproven`
/// the certificates alone say so.
llvm::LogicalResult certify(mlir::ModuleOp module, artifact::ArtifactT &tables,
                            CommandLocator locate, bool allowUnproven);

} // namespace lockstep

#endif
