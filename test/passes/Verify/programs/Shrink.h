//===- Shrink.h - The smallest program that still fails ---------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_SHRINK_H
#define LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_SHRINK_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace lockstep::test {

/// `text` without the operations that it does not need for `fails` to hold,
/// which does hold for `text`: those without users are taken away one after the
/// other, with all that is inside of them, until none can be missed.
std::string shrink(mlir::MLIRContext &context, const std::string &text,
                   llvm::function_ref<bool(const std::string &)> fails);

} // namespace lockstep::test

#endif
