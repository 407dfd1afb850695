//===- Execution.h - executes modules on random data ------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_OPT_EXECUTION_H
#define LOCKSTEP_TOOLS_LOCKSTEP_OPT_EXECUTION_H

#include "dialect/Reference/Interpreter.h"

#include <map>
#include <string>
#include <vector>

namespace lockstep::opt {

/// A resulting value of an execution, by replica, and the type of its elements.
struct Outcome {
  std::vector<interpret::Value> values;
  mlir::Type element;
  /// The type of the kernel that computes it, if one does: a pass that changes
  /// it changes what the kernel is for. Null otherwise.
  mlir::Type kernel;
};

/// The resulting values of the functions of a module, each by a name that
/// passes preserve: "step: metric 'loss'", "step: variable 'w'", "helper:
/// result 0".
using Outcomes = std::map<std::string, Outcome>;

/// Executes each function of `module` by the reference interpreter: steps in
/// either form, kernels, and functions on tensors. Variables and arguments hold
/// small multiples of 1/8, which depend only on their names, the index of the
/// element and `seed`, so they are equal before and after a pass. Functions
/// that the interpreter does not support and executions with errors have no
/// outcomes; no error is reported. `module` is converted to the form that the
/// interpreter supports.
Outcomes execute(mlir::ModuleOp module, uint64_t seed);

/// The random value of that name, as `execute` draws it.
interpret::Value draw(llvm::StringRef name, mlir::Type element,
                      llvm::ArrayRef<int64_t> shape, uint64_t seed);

/// The first difference, as text, or none: "element 3 of replica 1: expected
/// 0.5, found 0". Floats may differ by roundings: relative to the largest
/// element by 1e-5 (f32) or 1e-12 (f64), or by two units in the last place
/// (f16, bf16).
std::optional<std::string> findDifference(const Outcome &expected,
                                          const Outcome &found);

} // namespace lockstep::opt

#endif
