//===- ErrorFile.h - writes errors as JSON ----------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_ERRORFILE_H
#define LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_ERRORFILE_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"

namespace lockstep {

/// Collects the errors of an MLIR context and writes them to a JSON file for
/// other programs; another handler prints them.
class ErrorFile {
public:
  explicit ErrorFile(mlir::MLIRContext &context);
  /// Writes the errors, if a file has been opened, as `{errors: [{message,
  /// class, verdict, reason, condition, file, line, column, notes}]}`; unknown
  /// fields are omitted.
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
