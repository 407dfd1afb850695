//===- Shrink.h - The smallest program that still fails ---------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_SHRINK_H
#define LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_SHRINK_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace lockstep::test {

/// Reduces `text` while `fails` holds, as it does for `text`: operations
/// without users are removed one by one, with their regions, until none can be
/// removed.
std::string shrink(mlir::MLIRContext &context, const std::string &text,
                   llvm::function_ref<bool(const std::string &)> fails);

} // namespace lockstep::test

#endif
