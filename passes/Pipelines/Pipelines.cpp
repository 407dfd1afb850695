//===- Pipelines.cpp - Pass pipelines of the compiler ---------------------===//

#include "passes/Pipelines/Pipelines.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Canonicalization.h"
#include "passes/Codegen/AttentionBufferization.h"
#include "passes/Codegen/Targets.h"
#include "passes/Kernels/PadRows.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace lockstep;
using namespace mlir;

/// Called after a pass that may have moved collectives.
static void checkOrder(OpPassManager &pm, const CompileOptions &options) {
  if (options.checkOrder)
    pm.addPass(createVerifyUniformityPass());
}

static void addImport(OpPassManager &pm) {
  pm.addPass(createFillUnwrittenPass());
  pm.addPass(createImportStepsPass());
  pm.addPass(createImportStableHLOPass());
  pm.addPass(createWidenAccumulationPass());
  pm.addPass(createAvoidLoopOverflowPass());
  pm.addPass(createUnrollSmallLoopsPass());
  pm.addPass(createInlineRunsPass());
  pm.addPass(createCanonicalizer());
  pm.addPass(createCSEPass());
}

static void addVerify(OpPassManager &pm, const CompileOptions &options) {
  SetReplicasPassOptions replicas;
  replicas.replicas = options.replicas;
  replicas.strategy = options.strategy;
  replicas.servers = options.servers;
  replicas.partitioner = options.partitioner;
  pm.addPass(createSetReplicasPass(replicas));
  SetTopologyPassOptions topology;
  topology.topology = options.topology;
  pm.addPass(createSetTopologyPass(topology));
  pm.addPass(createApplyStrategyPass());
  pm.addPass(createVerifyIndicesPass());
  VerifyUniformityPassOptions uniformity;
  uniformity.findExamples = options.findExamples;
  pm.addPass(createVerifyUniformityPass(uniformity));
}

static void addLower(OpPassManager &pm, const CompileOptions &options) {
  pm.addPass(createStructureControlFlowPass());
  pm.addPass(createFoldRankConstantsPass());
  pm.addPass(createSpliceContextsPass());
  pm.addPass(createPropagateSlicesPass());
  pm.addPass(createPartitionVariablesPass());
  pm.addPass(createBoundInputsPass());
  pm.addPass(createLowerReplicaPass());
  // After the collectives of one replica have become casts.
  pm.addPass(createCheckCastsPass());
  pm.addPass(createLowerVariablesPass());
  pm.addNestedPass<func::FuncOp>(createAlignBranchesPass());
  // Control flow has been structured: regions have one block.
  pm.addPass(createCanonicalizer({}, GreedySimplifyRegionLevel::Disabled));
  pm.addPass(createCSEPass());
  checkOrder(pm, options);
}

static void addSimplify(OpPassManager &pm, const CompileOptions &options) {
  if (!options.optimize)
    return;
  if (options.simplify) {
    pm.addNestedPass<func::FuncOp>(createHoistCollectivesPass());
    SimplifyCollectivesPassOptions simplify;
    simplify.reassociate = options.reassociate;
    pm.addNestedPass<func::FuncOp>(createSimplifyCollectivesPass(simplify));
  }
  // Before variables are divided: their updates are then element-wise.
  pm.addNestedPass<func::FuncOp>(createSpeculateBranchesPass());
  if (options.shardUpdate == ShardUpdate::On) {
    for (const auto &[variable, pieces] : options.pieces) {
      SplitVariablesPassOptions split;
      split.variable = variable;
      split.pieces = pieces;
      split.required = !options.splitVariables;
      pm.addPass(createSplitVariablesPass(split));
    }
    if (!options.pieces.empty()) {
      pm.addNestedPass<func::FuncOp>(createConvertElementwisePass());
      ShardUpdatesPassOptions updates;
      updates.gradients = true;
      pm.addNestedPass<func::FuncOp>(createShardUpdatesPass(updates));
    }
    ShardVariablesPassOptions shard;
    shard.reassociate = options.reassociate;
    shard.padFrom = options.padFrom;
    shard.piecesRequired = !options.splitVariables;
    pm.addPass(createShardVariablesPass(shard));
  }
  checkOrder(pm, options);
}

static void addRoles(OpPassManager &pm, const CompileOptions &options) {
  // From here on all element-wise operations are `linalg.generic`.
  pm.addNestedPass<func::FuncOp>(createConvertElementwisePass());
  pm.addNestedPass<func::FuncOp>(createShardUpdatesPass());
  // When optimizing, fusion ends with it.
  if (!options.optimize)
    pm.addPass(createCSEPass());
  pm.addPass(createSplitRolesPass());
  checkOrder(pm, options);
}

/// Whether there is code for GPUs alone.
static bool isForGpus(const CompileOptions &options) {
  return llvm::all_of(options.targets, [](const std::string &name) {
    llvm::Expected<const CodegenTarget *> target = lookupTarget(name);
    // Code generation reports unknown targets.
    if (!target)
      llvm::consumeError(target.takeError());
    return target && (*target)->isGpu();
  });
}

/// By default, how many bytes of scores an attention has at a time. Those on a
/// processor stay in its caches; products of fewer heads would not occupy a
/// GPU.
constexpr uint64_t kScoresOnProcessor = uint64_t(16) << 20,
                   kScoresOnGpu = uint64_t(128) << 20;

static void addKernels(OpPassManager &pm, const CompileOptions &options) {
  bool isForGpus = ::isForGpus(options);
  ExpandAttentionPassOptions attention;
  attention.library = options.libraryAttention;
  if (options.optimize)
    attention.mostBytes = options.attentionBytes.value_or(
        isForGpus ? kScoresOnGpu : kScoresOnProcessor);
  if (!isForGpus)
    attention.obstacle = "expected targets that are GPUs alone, found others";
  pm.addNestedPass<func::FuncOp>(createExpandAttentionPass(attention));
  // An attention and its gradient multiply the same factors.
  if (options.optimize)
    pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createNormalizeTensorsPass());
  pm.addNestedPass<func::FuncOp>(createCarryTensorsPass());
  pm.addNestedPass<func::FuncOp>(createCheckElementTypesPass());
  bool libraryProducts = options.libraryProducts && isForGpus,
       libraryConvolutions = options.libraryConvolutions && isForGpus;
  if (options.optimize) {
    FuseOperationsPassOptions fuse;
    fuse.libraryProducts = libraryProducts;
    fuse.libraryConvolutions = libraryConvolutions;
    // Smaller ones take a GPU less time than more launches.
    if (isForGpus)
      fuse.leastSplit = kLargeProduct;
    pm.addNestedPass<func::FuncOp>(createFuseOperationsPass(fuse));
    pm.addPass(createCSEPass());
    if (options.overlap)
      pm.addNestedPass<func::FuncOp>(createPeelAccumulationPass());
  }
  // After fusion, which may affect whether a loop becomes one kernel.
  pm.addPass(createSplitUniformResultsPass());
  FormKernelsPassOptions form;
  form.fuse = options.optimize;
  form.libraryProducts = libraryProducts;
  form.libraryConvolutions = libraryConvolutions;
  form.libraryActivations = options.libraryActivations && isForGpus;
  form.tf32 = options.tf32;
  form.mergeUpdates = isForGpus;
  form.mergePadding = isForGpus;
  form.recompute = isForGpus && options.optimize;
  pm.addPass(createFormKernelsPass(form));
  if (libraryProducts && options.optimize) {
    PadRowsPassOptions pad;
    pad.tf32 = options.tf32;
    pad.large = kLargeProduct;
    pm.addPass(createPadRowsPass(pad));
  }
}

static void addBucket(OpPassManager &pm, const CompileOptions &options) {
  if (!options.optimize || !options.bucket)
    return;
  // Members of a bucket are ready together: first, all collectives start in the
  // order in which their operands are ready.
  if (options.overlap) {
    ScheduleCollectivesPassOptions schedule;
    schedule.explain = false;
    pm.addNestedPass<func::FuncOp>(createScheduleCollectivesPass(schedule));
    if (options.orderKernels && options.planBuckets) {
      OrderKernelsPassOptions order;
      order.bytesPerPack = options.bytesPerPack;
      pm.addNestedPass<func::FuncOp>(createOrderKernelsPass(order));
    }
  }
  BucketCollectivesPassOptions bucket;
  bucket.plan = options.planBuckets;
  bucket.bytesPerPack = options.bytesPerPack;
  pm.addNestedPass<func::FuncOp>(createBucketCollectivesPass(bucket));
  checkOrder(pm, options);
}

static void addSchedule(OpPassManager &pm, const CompileOptions &options) {
  if (options.optimize && options.overlap)
    pm.addNestedPass<func::FuncOp>(createScheduleCollectivesPass());
  pm.addPass(createAssignChannelsPass());
  // Collectives have been merged and moved: verify their order again, including
  // channels.
  pm.addPass(createVerifyUniformityPass());
}

static void addCodegen(OpPassManager &pm, const CompileOptions &options) {
  GenerateCodePassOptions codegen;
  codegen.targets = llvm::join(options.targets, ",");
  codegen.level = options.optimize ? "O2" : "O0";
  codegen.checkBounds = options.checkBounds;
  codegen.tf32 = options.tf32;
  codegen.libraryProducts = options.libraryProducts;
  codegen.libraryConvolutions = options.libraryConvolutions;
  codegen.libraryActivations = options.libraryActivations;
  pm.addPass(createGenerateCodePass(codegen));
  if (!options.ptxas.empty())
    pm.addPass(createAssembleGpuCodePass({options.ptxas}));
}

static void addMemory(OpPassManager &pm, const CompileOptions &options) {
  PlanMemoryPassOptions memory;
  memory.reuse = options.optimize;
  pm.addPass(createPlanMemoryPass(memory));
  pm.addPass(createSealModulePass());
}

void lockstep::buildCompilePipeline(OpPassManager &pm,
                                    const CompileOptions &options) {
  auto runs = [&](Stage stage) {
    return (!options.startAfter || stage > *options.startAfter) &&
           stage <= options.stopAfter;
  };
  if (runs(Stage::Import))
    addImport(pm);
  if (runs(Stage::Verify))
    addVerify(pm, options);
  if (runs(Stage::Lower))
    addLower(pm, options);
  if (runs(Stage::Simplify))
    addSimplify(pm, options);
  if (runs(Stage::Roles))
    addRoles(pm, options);
  if (runs(Stage::Kernels))
    addKernels(pm, options);
  if (runs(Stage::Bucket))
    addBucket(pm, options);
  if (runs(Stage::Schedule))
    addSchedule(pm, options);
  if (runs(Stage::Codegen))
    addCodegen(pm, options);
  if (runs(Stage::Memory))
    addMemory(pm, options);
}

void lockstep::buildInterpretPipeline(OpPassManager &pm,
                                      const SetReplicasPassOptions &strategy,
                                      bool verify) {
  pm.addPass(createSetReplicasPass(strategy));
  pm.addPass(createApplyStrategyPass());
  if (verify)
    pm.addPass(createVerifyUniformityPass());
  pm.addPass(createLinalgGeneralizeNamedOpsPass());
}

void lockstep::registerDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  registerAttentionBufferization(registry);
  registry.insert<replica::ReplicaDialect, collective::CollectiveDialect,
                  device::DeviceDialect>();
}

void lockstep::registerPassesAndPipelines() {
  registerLockstepPasses();
  PassPipelineRegistration<>(
      "lockstep-compile",
      "all stages of the compiler, at -O2, for the module's replica count",
      [](OpPassManager &pm) { buildCompilePipeline(pm, CompileOptions()); });
}
