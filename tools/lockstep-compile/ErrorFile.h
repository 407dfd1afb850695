//===- ErrorFile.h - errors for programs ------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_ERRORFILE_H
#define LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_ERRORFILE_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/JSON.h"

namespace lockstep {

/// Remembers the errors of a context, which others print.
class ErrorFile {
public:
  explicit ErrorFile(mlir::MLIRContext &context);

  /// Writes them as `{errors: [{message, class, verdict, reason, condition, file, line, column, notes}]}`; what is not known is left out.
  mlir::LogicalResult write(llvm::StringRef path, std::string &message) const;

private:
  llvm::json::Array errors;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace lockstep

#endif
