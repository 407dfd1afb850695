//===- Shrink.cpp - The smallest program that still fails -----------------===//

#include "Shrink.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace lockstep::test {

static std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text + "\n";
}

/// Erases the operation number `index` in the order of a walk. False if there
/// is none; `erased` says whether it could be.
static bool eraseNumber(ModuleOp module, size_t index, bool &erased) {
  Operation *found = nullptr;
  size_t number = 0;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == module || number++ != index)
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  erased =
      found && found->use_empty() && !found->hasTrait<OpTrait::IsTerminator>();
  if (erased)
    found->erase();
  return found != nullptr;
}

std::string shrink(MLIRContext &context, const std::string &text,
                   llvm::function_ref<bool(const std::string &)> fails) {
  // Most attempts yield invalid modules, whose errors are ignored.
  ScopedDiagnosticHandler handler(&context,
                                  [](Diagnostic &) { return success(); });
  std::string smallest = text;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t index = 0;; ++index) {
      OwningOpRef<ModuleOp> module =
          parseSourceString<ModuleOp>(smallest, &context);
      bool erased = false;
      if (!module || !eraseNumber(*module, index, erased))
        break;
      if (!erased)
        continue;
      std::string candidate = printed(*module);
      if (!fails(candidate))
        continue;
      smallest = candidate;
      smaller = true;
      // The next operation now has this number.
      --index;
    }
  }
  return smallest;
}

} // namespace lockstep::test
