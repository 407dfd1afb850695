//===- VariableSymbols.h - Symbols of variables -----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_VARIABLESYMBOLS_H
#define LOCKSTEP_PASSES_EMIT_VARIABLESYMBOLS_H

#include "mlir/IR/BuiltinOps.h"

namespace lockstep {

/// Gives each variable the symbol that follows from its name in files: the name
/// itself, or, where another symbol has it, the name with a number behind it.
/// An artifact holds the names alone.
void nameVariables(mlir::ModuleOp module);

} // namespace lockstep

#endif
