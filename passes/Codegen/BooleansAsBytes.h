//===- BooleansAsBytes.h - How i1 lies in memory ----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_BOOLEANSASBYTES_H
#define LOCKSTEP_PASSES_CODEGEN_BOOLEANSASBYTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

/// Gives memory of i1 the element type i8, so that vectors of it are contiguous
/// bytes. Loads compare with zero, stores extend; the bodies of generics do the
/// same at their borders. Globals that are used are replaced by ones of i8.
void storeBooleansAsBytes(mlir::func::FuncOp function);

} // namespace lockstep

#endif
