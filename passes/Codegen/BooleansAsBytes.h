//===- BooleansAsBytes.h - Store i1 as bytes --------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_BOOLEANSASBYTES_H
#define LOCKSTEP_PASSES_CODEGEN_BOOLEANSASBYTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

/// Changes the element type of memory from i1 to i8, so that vectors of it are
/// contiguous bytes. Loads compare with zero, stores extend; the bodies of
/// generics do the same for their arguments and results. Globals that are used
/// are replaced by ones of i8.
void storeBooleansAsBytes(mlir::func::FuncOp function);

} // namespace lockstep

#endif
