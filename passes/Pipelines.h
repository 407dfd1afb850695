//===- Pipelines.h - The whole compilation ----------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_PIPELINES_H
#define LOCKSTEP_PASSES_PIPELINES_H

#include "passes/Passes.h"
#include "passes/Stage.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace lockstep {

/// What a user may choose.
struct CompileOptions {
  /// Number of replicas; 0 if the module's strategy says it.
  int64_t replicas = 0;
  /// Kind of the strategy, if the module has none.
  std::string strategy;
  /// Number of parameter servers; 0 if the module's strategy says it, or has
  /// none.
  int64_t servers = 0;
  /// How variables are split over servers, as between the brackets of
  /// `#replica.partitioner<>`; empty if the module's strategy says it.
  std::string partitioner;
  /// False: every optional pass is skipped (-O0).
  bool optimize = true;
  /// Whether exchanges whose outcome is known without them are left out (part
  /// of -O2).
  bool simplify = true;
  /// Whether floats may be added in another order where that saves an exchange;
  /// changes results by roundings.
  bool reassociate = false;
  /// Whether independent collectives are merged (part of -O2).
  bool bucket = true;
  /// Whether collectives start early and wait late (part of -O2).
  bool overlap = true;
  /// Bound on the size of a bucket in bytes where the program gives none; 0: no
  /// bound.
  int64_t bytesPerPack = 0;
  /// Whether kernels check every access against its buffer, and end with an
  /// error where one does not fit.
  bool checkBounds = false;
  /// Targets for which kernels are compiled.
  std::vector<std::string> targets = {"x86-64-v3", "x86-64-v4"};
  /// Whether inputs are searched on which a step that is refused goes wrong.
  bool findExamples = false;
  /// Whether the order of collectives is proven again after every pass that may
  /// move one, not only at the end.
  bool checkOrder = false;
  Stage stopAfter = Stage::Memory;
};

/// Appends the passes of all stages up to `options.stopAfter`.
void buildCompilePipeline(mlir::OpPassManager &pm,
                          const CompileOptions &options);

/// Appends what a module needs after the import stage to be interpreted: its
/// strategy and the number of replicas (as far as the module does not say
/// them), and named operations of `linalg` as generic ones. With `verify`, a
/// module is refused of which the compiler cannot prove that its replicas issue
/// the same collectives and that copies of variables stay equal; without,
/// execution shows what comes of it.
void buildInterpretPipeline(mlir::OpPassManager &pm,
                            const SetReplicasPassOptions &strategy,
                            bool verify);

/// Registers every dialect, extension and translation that the compiler loads.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers the passes of Lockstep, and the pipeline `lockstep-compile`.
void registerPassesAndPipelines();

} // namespace lockstep

#endif
