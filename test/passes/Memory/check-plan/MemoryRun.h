//===- MemoryRun.h - Runs a program on memory, as terms ---------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_PASSES_MEMORY_MEMORYRUN_H
#define LOCKSTEP_TEST_PASSES_MEMORY_MEMORYRUN_H

#include "Terms.h"

#include "dialect/Device/DeviceDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace lockstep::test {

/// Runs `program` for any one of `replicas` replicas. `before` is the module
/// before planning, which has the synchronization of variables. It is an error
/// to read bytes that do not hold exactly one value, to access operands of a
/// collective in flight, to write memory that only the host or another replica
/// writes, or to place members of a bucket apart.
llvm::FailureOr<Trace> runMemory(device::ProgramOp program,
                                 mlir::ModuleOp before, int64_t replicas,
                                 Terms &terms);

} // namespace lockstep::test

#endif
