//===- CheckValues.h - checks that passes preserve values -------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_OPT_CHECKVALUES_H
#define LOCKSTEP_TOOLS_LOCKSTEP_OPT_CHECKVALUES_H

#include "tools/lockstep-opt/Execution.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace lockstep::opt {

/// Executes the module before and after each pass, on the same random data, and
/// reports values that differ. After `generate-code`, kernels are compared with
/// their native code too. Passes must not run in parallel.
class CheckValues : public mlir::PassInstrumentation {
public:
  /// The checks of all pass managers of the process.
  struct Summary {
    /// Numbers of passes after which values were compared, and after which no
    /// value could be.
    unsigned compared = 0, skipped = 0;
    bool foundDifference = false;
  };

  explicit CheckValues(Summary &summary) : summary(summary) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override;

private:
  void compare(mlir::Pass *pass, mlir::Operation *op, const std::string &name,
               const Outcome &expected, const Outcome &found);

  Summary &summary;
  /// The modules before the passes that are running, inner ones last.
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> before;
};

} // namespace lockstep::opt

#endif
