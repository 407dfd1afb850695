//===- ErrorFile.h - errors for programs ------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_ERRORFILE_H
#define LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_ERRORFILE_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"

namespace lockstep {

/// Collects the errors of a context, which others print, for a file.
class ErrorFile {
public:
  explicit ErrorFile(mlir::MLIRContext &context);
  /// Writes them, if there is a file, as `{errors: [{message, class, verdict,
  /// reason, condition, file, line, column, notes}]}`; what is not known is
  /// left out.
  ~ErrorFile();
  ErrorFile(const ErrorFile &) = delete;

  /// Opens the file, so that one which cannot be written is noticed before
  /// anything is compiled.
  mlir::LogicalResult open(llvm::StringRef path, std::string &message);

private:
  std::unique_ptr<llvm::ToolOutputFile> file;
  llvm::json::Array errors;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace lockstep

#endif
