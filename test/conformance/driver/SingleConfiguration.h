//===- SingleConfiguration.h - one configuration ----------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_SINGLECONFIGURATION_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_SINGLECONFIGURATION_H

#include "test/conformance/driver/Configurations.h"

#include "runtime/artifact/Artifact.h"

#include "mlir/IR/Diagnostics.h"

namespace lockstep::conformance::driver {

/// Collects the errors of a scope, notes included.
class ErrorCollector {
public:
  explicit ErrorCollector(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return mlir::success();
          add(diagnostic.str());
          for (mlir::Diagnostic &note : diagnostic.getNotes())
            add("note: " + note.str());
          return mlir::success();
        }) {}

  void add(const std::string &line) {
    text += (text.empty() ? "" : "\n") + line;
  }
  Diagnosis take() { return {text.empty() ? "failed without an error" : text}; }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

using Arguments = std::vector<ArgumentBinding>;
using ArtifactPtr = std::shared_ptr<const runtime::Artifact>;
/// The results of all runs, or an error.
using Outcome = std::variant<std::vector<RunResult>, Diagnosis>;

/// Uniformity errors are rejected whether or not they occur in a run, so a
/// program is verified before it is interpreted; the source program is
/// interpreted, not the verified one.
llvm::LogicalResult verifyProgram(const Program &program);

Outcome interpretProgram(const Program &program, int64_t replicas,
                         llvm::ArrayRef<Arguments> runs);

std::variant<ArtifactPtr, Diagnosis> compileProgram(const Program &program,
                                                    bool optimize);

/// All replicas and servers together, one run after the other.
Outcome runTogether(const Program &program, const ArtifactPtr &artifact,
                    unsigned threads, llvm::ArrayRef<Arguments> runs);

/// Each run is scheduled on any worker; the values of variables are known when
/// all have ended.
Outcome runOnWorkers(const Program &program, const ArtifactPtr &artifact,
                     unsigned workers, llvm::ArrayRef<Arguments> runs);

} // namespace lockstep::conformance::driver

#endif // LOCKSTEP_TEST_CONFORMANCE_DRIVER_SINGLECONFIGURATION_H
