//===- Pipelines.h - Pass pipelines of the compiler -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_PIPELINES_PIPELINES_H
#define LOCKSTEP_PASSES_PIPELINES_PIPELINES_H

#include "passes/Passes.h"
#include "passes/Remarks/RemarkCollector.h"
#include "passes/Remarks/Stage.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

#include <map>
#include <string>
#include <vector>

namespace lockstep {

/// Whether variables and their updates are divided among the replicas: as
/// `chooseShardUpdate` decides, wherever possible, or never.
enum class ShardUpdate { Auto, On, Off };

/// Options that a user may choose.
struct CompileOptions {
  /// Number of replicas; 0 if the module's strategy specifies it.
  int64_t replicas = 0;
  /// Kind of the strategy, if the module has none.
  std::string strategy;
  /// Number of parameter servers; 0 if the module's strategy specifies it, or
  /// has none.
  int64_t servers = 0;
  /// How variables are split over servers, as between the brackets of
  /// `#replica.partitioner<>`; empty if the module's strategy specifies it.
  std::string partitioner;
  /// False: every optional pass is skipped (-O0).
  bool optimize = true;
  /// Whether redundant collectives are removed (part of -O2).
  bool simplify = true;
  /// Whether floats may be added in a different order if that saves a
  /// collective; changes results by rounding errors.
  bool reassociate = false;
  /// Part of -O2. `Auto` is `Off` unless `chooseShardUpdate` has replaced it.
  ShardUpdate shardUpdate = ShardUpdate::Auto;
  /// Bytes from which variables are divided though their parts need padding;
  /// `chooseShardUpdate` sets it.
  int64_t padFrom = 0;
  /// Whether `chooseShardUpdate` may split variables for whose gradients a step
  /// waits. If not, it is an error if those in `pieces` cannot be split.
  bool splitVariables = true;
  /// Variables by name, and into how many pieces they are split, with those
  /// that are updated with them, if `shardUpdate` is `On`.
  std::map<std::string, int64_t> pieces;
  /// What the schedule is made for: the name of a preset or of a JSON file;
  /// empty keeps the module's.
  std::string topology;
  /// Whether independent collectives are merged (part of -O2), and whether the
  /// cost model of the topology chooses the buckets.
  bool bucket = true, planBuckets = true;
  /// Whether collectives start early and wait late (part of -O2).
  bool overlap = true;
  /// Whether kernels are executed in the order that the link needs, by the cost
  /// model of the topology, if that also chooses the buckets (part of -O2).
  bool orderKernels = true;
  /// Bound on the size of a bucket in bytes if the program specifies none; 0:
  /// no bound.
  int64_t bytesPerPack = 0;
  /// Bytes that a process with one replica may need; 0: any number. Only
  /// `boundMemory` reads it.
  int64_t memoryBound = 0;
  /// Whether kernels check every access against its buffer, and return with an
  /// error if one is out of bounds.
  bool checkBounds = false;
  /// Whether the factors of products of f32 are rounded to tf32 on GPUs, whose
  /// tensor cores then multiply them.
  bool tf32 = false;
  /// Whether GPUs compute products of matrices by cuBLASLt, where it can.
  bool libraryProducts = false;
  /// On GPUs, describe convolutions for cuDNN.
  bool libraryConvolutions = false;
  /// Whether these libraries also apply activations to what they compute in
  /// f32.
  bool libraryActivations = false;
  /// On GPUs, let cuDNN compute attention, where it can.
  bool libraryAttention = false;
  /// Bytes of the scores that generated code has at a time of an attention, or
  /// of one head if it has more (part of -O2); 0: of all heads; none: as many
  /// as suit the targets.
  std::optional<uint64_t> attentionBytes;
  /// The program that assembles the code for GPUs, in addition to PTX; empty:
  /// none does.
  std::string ptxas;
  /// Targets for which kernels are compiled.
  std::vector<std::string> targets = {"x86-64-v3", "x86-64-v4"};
  /// Whether to search inputs on which a refused step fails.
  bool findExamples = false;
  /// Whether the order of collectives is proven again after every pass that may
  /// move one, not only at the end.
  bool checkOrder = false;
  /// The stage that the module has passed; none: it is as the user wrote it.
  std::optional<Stage> startAfter;
  Stage stopAfter = Stage::Memory;
};

/// A schedule of a module that has passed the stage `Lower`.
struct ScheduleChoice {
  /// Those that it is made with. `startAfter` and `stopAfter` have no meaning.
  CompileOptions options;
  /// The module compiled with them up to the stage `Schedule`; null if there
  /// was nothing to compare.
  mlir::OwningOpRef<mlir::ModuleOp> scheduled;
  /// The remarks of the stages that `scheduled` has passed since `Lower`.
  std::vector<RemarkCollector::Entry> remarks;
};

/// Runs the passes that `buildCompilePipeline` makes of the options.
using RunStages = llvm::function_ref<llvm::LogicalResult(
    mlir::ModuleOp, const CompileOptions &)>;

/// Whether `chooseShardUpdate` has something to decide, for a `module` that has
/// passed no stage: `options` leave it open, and the topology is a network.
/// Where all replicas are in one process, updates are computed once for all.
bool mayDivideVariables(mlir::ModuleOp module, const CompileOptions &options);

/// Decides whether variables are divided: if the time of the steps, as the
/// model of the topology predicts it for their schedules, is then shorter.
/// `lowered`, which has passed the stage `Lower`, is not changed; copies of it
/// are compiled by `run` up to their schedules, with and without, with small
/// variables left whole whose parts would need padding, and with variables in
/// pieces for whose gradients a step waits. `remarks` keeps what it has, and
/// gets a remark with the times; those of the chosen copy are in the choice.
/// Fails, with an error emitted, if a stage fails.
mlir::FailureOr<ScheduleChoice> chooseShardUpdate(mlir::ModuleOp lowered,
                                                  CompileOptions options,
                                                  RunStages run,
                                                  RemarkCollector &remarks);

/// Replaces `choice` if its schedule needs more than
/// `choice.options.memoryBound` bytes in a process with one worker: by the
/// schedule of `lowered` whose steps take least time by the model of the
/// topology, among those that need no more. These are made with smaller
/// buckets, without overlap, and with variables divided or whole, as far as the
/// user's options, `choice.options`, leave that open. `choice` is the result of
/// `chooseShardUpdate` if that has compared both; else it has no schedule, and
/// gets one. `lowered` is not changed. `remarks` keeps what it has, and gets a
/// remark if the schedule was replaced. Fails, with an error emitted, if a
/// stage fails or all schedules need more.
llvm::LogicalResult boundMemory(mlir::ModuleOp lowered, RunStages run,
                                RemarkCollector &remarks,
                                ScheduleChoice &choice);

/// Appends the passes of all stages up to `options.stopAfter`.
void buildCompilePipeline(mlir::OpPassManager &pm,
                          const CompileOptions &options);

/// Appends the passes that prepare a module, after the import stage, for the
/// interpreter: they set its strategy and the number of replicas (as far as the
/// module leaves them open), and generalize named operations of `linalg`. With
/// `verify`, a module is refused unless the compiler can prove that its
/// replicas issue the same collectives and that copies of variables stay equal;
/// without, such errors are found during execution.
void buildInterpretPipeline(mlir::OpPassManager &pm,
                            const SetReplicasPassOptions &strategy,
                            bool verify);

/// Registers every dialect, extension and translation that the compiler loads.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers the passes of Lockstep, and the pipeline `lockstep-compile`.
void registerPassesAndPipelines();

} // namespace lockstep

#endif
