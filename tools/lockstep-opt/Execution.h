//===- Execution.h - What a module computes on random data ------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_OPT_EXECUTION_H
#define LOCKSTEP_TOOLS_LOCKSTEP_OPT_EXECUTION_H

#include "dialect/Reference/Interpreter.h"

#include <map>
#include <string>
#include <vector>

namespace lockstep::opt {

/// A value that an execution leaves, of each replica, and the type of its
/// elements.
struct Outcome {
  std::vector<interpret::Value> values;
  mlir::Type element;
};

/// What the functions of a module compute, each by a name that passes keep:
/// "step: metric 'loss'", "step: variable 'w'", "helper: result 0".
using Outcomes = std::map<std::string, Outcome>;

/// Executes each function of `module` by the reference interpreter: steps in
/// either form, kernels, and functions on tensors. Variables and arguments hold
/// small multiples of 1/8, which depend on their names, the place of the
/// element and `seed` alone: before and after a pass they are the same.
/// Functions that the interpreter does not know, and executions that end with
/// an error, leave nothing; nothing is reported. `module` is changed: it is
/// brought into the form that the interpreter takes.
Outcomes execute(mlir::ModuleOp module, uint64_t seed);

/// The element of a value of that name, as `execute` draws it; `index` counts
/// in row-major order of `shape`.
interpret::Value draw(llvm::StringRef name, mlir::Type element,
                      llvm::ArrayRef<int64_t> shape, uint64_t seed);

/// The first difference, as text, or nothing: "element 3 of replica 1: expected
/// 0.5, found 0". Floats may differ by roundings: relative to the largest
/// element by 1e-5 (f32) or 1e-12 (f64), or by two units in the last place
/// (f16, bf16).
std::optional<std::string> findDifference(const Outcome &expected,
                                          const Outcome &found);

} // namespace lockstep::opt

#endif
