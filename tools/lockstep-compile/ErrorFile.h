//===- ErrorFile.h - errors for programs ------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_ERRORFILE_H
#define LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_ERRORFILE_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"

namespace lockstep {

/// Collects the errors of a context for a file; another handler prints them.
class ErrorFile {
public:
  explicit ErrorFile(mlir::MLIRContext &context);
  /// Writes them, if there is a file, as `{errors: [{message, class, verdict,
  /// reason, condition, file, line, column, notes}]}`; unknown fields are
  /// omitted.
  ~ErrorFile();
  ErrorFile(const ErrorFile &) = delete;

  /// Opens the file, so that an error is reported before compilation.
  mlir::LogicalResult open(llvm::StringRef path, std::string &message);

private:
  std::unique_ptr<llvm::ToolOutputFile> file;
  llvm::json::Array errors;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace lockstep

#endif
