//===- Passes.h - All passes of the compiler --------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_PASSES_H
#define LOCKSTEP_PASSES_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace lockstep {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace lockstep

#endif
