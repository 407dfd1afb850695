//===- LoopMetadata.h - Mark parallel loops for LLVM ------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_LOOPMETADATA_H
#define LOCKSTEP_PASSES_CODEGEN_LOOPMETADATA_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace llvm {
class Module;
}

namespace lockstep {

/// Marks a loop without loop-carried dependences through memory. LLVM then
/// vectorizes it without alias checks at run time, which would fail for
/// operations in place.
void setParallel(mlir::scf::ForOp loop);

/// Gives the branches of the LLVM dialect the marks that upstream's conversions
/// of loops have left on them as discardable attributes, which the translation
/// to LLVM IR ignores.
void adoptLoopMarks(mlir::ModuleOp module);

/// Completes the mark in LLVM IR, where every load and store must be in the
/// access group of its loop.
void markParallelLoops(llvm::Module &module);

} // namespace lockstep

#endif
