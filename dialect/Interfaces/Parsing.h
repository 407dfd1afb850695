//===- Parsing.h - Parsing of modules ---------------------------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_PARSING_H
#define LOCKSTEP_DIALECT_INTERFACES_PARSING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace lockstep {

/// The maximum nesting depth of brackets in a module's text: regions,
/// locations, attributes and types, including those in the definitions of
/// aliases. MLIR's parser, its printer and passes recurse for each level, and
/// deeper nesting does not occur in real programs.
inline constexpr unsigned kMostNesting = 500;

/// Fails if brackets of `text` are nested deeper than that, with an error on
/// the standard error stream at the first bracket or alias that is too deep.
/// Succeeds for bytecode.
llvm::LogicalResult checkNesting(llvm::MemoryBufferRef text);

/// Parses the module in the main file of `sources`; null after an error, which
/// has been reported.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(llvm::SourceMgr &sources,
                                              mlir::MLIRContext *context);

} // namespace lockstep

#endif
