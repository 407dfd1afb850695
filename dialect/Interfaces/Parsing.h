//===- Parsing.h - modules from text ----------------------------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_PARSING_H
#define LOCKSTEP_DIALECT_INTERFACES_PARSING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace lockstep {

/// How deep brackets of a module's text may be nested: regions, locations,
/// attributes and types, those included that aliases stand for. MLIR's parser,
/// its printer and passes call themselves for each level, and a program that
/// needs more is none that somebody has written.
inline constexpr unsigned kMostNesting = 500;

/// Error, on the standard error stream, if brackets of `text` are nested
/// deeper: at the first bracket or alias that is too deep. Bytecode passes.
llvm::LogicalResult checkNesting(llvm::MemoryBufferRef text);

/// The module in the main file of `sources`; null after an error, which has
/// been reported.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(llvm::SourceMgr &sources,
                                              mlir::MLIRContext *context);

} // namespace lockstep

#endif
