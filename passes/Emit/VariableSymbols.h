//===- VariableSymbols.h - Symbols of variables -----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_VARIABLESYMBOLS_H
#define LOCKSTEP_PASSES_EMIT_VARIABLESYMBOLS_H

#include "mlir/IR/BuiltinOps.h"

namespace lockstep {

/// Sets the symbol of each variable to its name in files or, if another symbol
/// has that name, to the name with a number as suffix. So symbols follow from
/// the names, which are all that an artifact contains.
void nameVariables(mlir::ModuleOp module);

} // namespace lockstep

#endif
