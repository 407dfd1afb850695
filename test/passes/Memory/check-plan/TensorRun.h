//===- TensorRun.h - Runs a step on tensors, as terms -----------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_PASSES_MEMORY_TENSORRUN_H
#define LOCKSTEP_TEST_PASSES_MEMORY_TENSORRUN_H

#include "Terms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep::test {

/// Whether every replica has its own copy of variable `name`: it is
/// synchronized on read.
bool isPerReplica(mlir::ModuleOp module, llvm::StringRef name);

/// The term of the value that something outside has at the start: "batch x",
/// "scalar lr", "variable w", "rank ".
Term outside(Terms &terms, mlir::ModuleOp module, llvm::StringRef kind,
             llvm::StringRef name);

/// The bytes of a constant in row-major order; an i1 takes a byte.
std::string getConstantBytes(mlir::DenseElementsAttr value);

/// Runs `step`, a function of kernel invocations, collectives and control flow.
llvm::FailureOr<Trace> runTensors(mlir::func::FuncOp step, Terms &terms);

} // namespace lockstep::test

#endif
