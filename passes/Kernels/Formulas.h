//===- Formulas.h - How kernels compute single numbers ----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_FORMULAS_H
#define LOCKSTEP_PASSES_KERNELS_FORMULAS_H

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace lockstep {

/// The formulas of a kernel's results: an array of dictionaries with `result`, `arguments` (how many the kernel has), `steps` and `value`.
/// A step is an array of the name of an operation and the numbers of its operands; of `kConstantOperation`, of its value.
inline constexpr llvm::StringLiteral kFormulas = "device.formulas";
inline constexpr llvm::StringLiteral kConstantOperation = "constant";

/// `--record-formulas`, a pass on modules that says how kernels compute single numbers, so that roles can be compared.
///
/// Several roles compute the conditions of what they go through together each for itself, in kernels of their own. That these are the same
/// numbers has to be known to prove that roles do not block each other. So each result of rank 0 gets a formula: its operations on
/// numbers down to the arguments of the kernel, without changes of width that keep the value. What is computed from tensors is one
/// operation, which no other kernel has. Modules of one role need none.
///
///     // before
///     device.kernel @k(%n: tensor<i32>, %i: index) -> tensor<i1> { ... %0 = arith.cmpi slt, %i, %wide : index ... }
///     // after
///     device.kernel @k(%n: tensor<i32>, %i: index) -> tensor<i1> attributes {device.formulas = [{arguments = 2 : i64, result = 0 : i64,
///       steps = [["arith.cmpi {predicate = 2 : i64} (index, index) -> i1", 1, 0]], value = 2 : i64}]} { ... }
std::unique_ptr<mlir::Pass> createRecordFormulasPass();

} // namespace lockstep

#endif
