//===- LoopMetadata.h - Loops whose iterations are independent --*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_LOOPMETADATA_H
#define LOCKSTEP_PASSES_CODEGEN_LOOPMETADATA_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace llvm {
class Module;
}

namespace lockstep {

/// Marks a loop whose iterations touch no common element, except where they
/// only read. LLVM then vectorizes it without comparing addresses at run time,
/// which would fail for operations in place.
void setParallel(mlir::scf::ForOp loop);

/// Completes the mark in LLVM IR, where every load and store must name its
/// loop.
void markParallelLoops(llvm::Module &module);

} // namespace lockstep

#endif
