//===- RemarkCollector.h - Remarks of one compilation -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_REMARKS_REMARKCOLLECTOR_H
#define LOCKSTEP_PASSES_REMARKS_REMARKCOLLECTOR_H

#include "passes/Remarks/Stage.h"

#include "mlir/IR/BuiltinOps.h"

#include <mutex>
#include <string>
#include <vector>

namespace lockstep {

/// Collects the remarks of all passes, and returns them in an order that does
/// not depend on threads. Must outlive the context.
class RemarkCollector {
public:
  struct Entry {
    Stage stage;
    /// passed, missed, analysis or failed
    std::string kind;
    std::string message;
    /// Name of the step or program; may be empty.
    std::string program;
    mlir::Location location;
  };

  /// Makes the engine of `context` report here.
  llvm::LogicalResult install(mlir::MLIRContext &context);

  /// Removes and returns what has been collected, in the order of emission;
  /// adds what has been taken. For stages that run on several copies of a
  /// module, of which one is used.
  std::vector<Entry> take();
  void add(std::vector<Entry> taken);

  /// The collected remarks: by stage, then by program in the order of `module`,
  /// then in the order of emission.
  std::vector<Entry> getEntries(mlir::ModuleOp module) const;

  /// Writes all entries into the module of a compiled step, as `device.remark`.
  void record(mlir::ModuleOp module) const;

  /// Prints "model.py:42: remark [bucket]: text" lines ("missed" for a missed
  /// optimization). `filter` is empty, the name of a stage, or a regular
  /// expression that the line must match. Fails, with a message in `error`, if
  /// that is malformed.
  llvm::LogicalResult print(mlir::ModuleOp module, llvm::StringRef filter,
                            llvm::raw_ostream &os, std::string &error) const;

private:
  class Streamer;

  mutable std::mutex mutex;
  std::vector<Entry> entries;
};

} // namespace lockstep

#endif
