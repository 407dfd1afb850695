//===- ReplicaContext.cpp - The two contexts of a program -----------------===//

#include "dialect/Interfaces/ReplicaContext.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace lockstep;
using namespace mlir;

#include "dialect/Interfaces/ReplicaContext.cpp.inc"

StringRef lockstep::stringifyContext(Context context) {
  return context == Context::Replica ? "replica" : "cross-replica";
}

std::optional<Context> lockstep::getEnclosingContext(Operation *op) {
  auto opener = op->getParentOfType<OpensContextInterface>();
  return opener ? std::optional(opener.getOpenedContext()) : std::nullopt;
}

LogicalResult lockstep::detail::verifyContext(Operation *op,
                                              ArrayRef<Context> allowed) {
  auto opener = op->getParentOfType<OpensContextInterface>();
  if (opener && llvm::is_contained(allowed, opener.getOpenedContext()))
    return success();
  // A private function has the context of its caller, which is verified after
  // the function has been inlined.
  if (auto function = op->getParentOfType<FunctionOpInterface>();
      !opener && function &&
      SymbolTable::getSymbolVisibility(function) ==
          SymbolTable::Visibility::Private)
    return success();

  InFlightDiagnostic diag = op->emitOpError("must be in ");
  llvm::interleave(
      allowed, [&](Context context) { diag << stringifyContext(context); },
      [&] { diag << " or "; });
  diag << " context, but ";
  if (opener)
    diag << "is in " << stringifyContext(opener.getOpenedContext())
         << " context";
  else
    diag << "is in none";
  diag << " [E_CONTEXT]";
  if (opener)
    diag.attachNote(opener.getLoc())
        << "the context is opened by '" << opener->getName() << "'";
  return diag;
}
