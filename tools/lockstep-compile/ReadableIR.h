//===- ReadableIR.h - Print IR for a reader ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_READABLEIR_H
#define LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_READABLEIR_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace lockstep {

/// Prints `module`, whose locations are replaced: values have names, lines have
/// at most 120 columns where no single word is longer, each member of a bucket
/// is on a line of its own with its bytes, and `withLines` appends the line of
/// the user's program as a comment. The parser reads it, as far as it reads
/// what MLIR prints with large constants elided.
void printReadable(mlir::ModuleOp module, llvm::raw_ostream &os,
                   bool withLines);

} // namespace lockstep

#endif
