//===- ValueNames.h - Names of values for a reader --------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_VALUENAMES_H
#define LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_VALUENAMES_H

#include "dialect/Collective/CollectiveDialect.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lockstep {

/// What the operands of a collective are.
struct MemberNames {
  /// Of each operand: "params/w1", the variable that is updated by its sum;
  /// empty if it is none, or several.
  std::vector<std::string> variables;
};

/// Names arguments and results of the functions of `module` after what they are
/// in the user's program, by locations with names: `%params_w1`, `%grad_w1`,
/// `%new_params_w1`, `%matmul`. All other locations become the line of the
/// user's program, or unknown. Returns the operands of each
/// `collective.start`, in the order in which they are printed.
std::vector<MemberNames> nameValues(mlir::ModuleOp module);

} // namespace lockstep

#endif
