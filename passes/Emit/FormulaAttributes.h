//===- Formulas.h - How kernels compute single numbers ----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_FORMULAATTRIBUTES_H
#define LOCKSTEP_PASSES_EMIT_FORMULAATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace lockstep {

/// The formulas of a kernel's results: an array of dictionaries with `result`,
/// `arguments` (how many the kernel has), `steps` and `value`. A step is an
/// array of the name of an operation and the numbers of its operands; of
/// `kConstantOperation`, of its value.
inline constexpr llvm::StringLiteral kFormulas = "device.formulas";
inline constexpr llvm::StringLiteral kConstantOperation = "constant";

} // namespace lockstep

#endif
