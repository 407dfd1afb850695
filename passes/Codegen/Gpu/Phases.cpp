//===- Phases.cpp - Kernels as sequences of grids -------------------------===//

#include "passes/Codegen/Gpu/Phases.h"

#include "passes/Codegen/Combiner.h"
#include "passes/Codegen/Product.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

/// From this many iterations on, a thread for each occupies a GPU.
static constexpr int64_t kManyIterations = 4096;
/// A product with fewer results is shared by blocks.
static constexpr int64_t kFewProducts = 256;
static constexpr int64_t kMaxThreads = 256, kWarp = 32;

/// The number of threads for `work` iterations: a power of two, whole warps.
static int64_t chooseThreads(int64_t work) {
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(std::max<int64_t>(work, 1)),
                             kWarp, kMaxThreads);
}

/// Whether the threads of a block should share each reduction: if there are too
/// few results for a thread each, or threads would read distant elements.
static bool reducesByBlock(const Phase &phase) {
  int64_t most = 1;
  bool isContiguous = false, isProduct = false;
  for (const LoopStage &stage : phase.group->stages) {
    if (stage.reductionDims.empty())
      continue;
    most = std::max(most, multiplySizes(stage.sizes, stage.reductionDims));
    isContiguous |= reducesContiguously(stage);
    isProduct |= matchProduct(stage.op).has_value();
    if (!matchCombiner(stage.op))
      return false;
  }
  if (most < kFewElements)
    return false;
  // Neighboring threads read the same row of one factor, and neighboring
  // elements of the other.
  return isProduct ? phase.iterations < kFewProducts
                   : isContiguous || phase.iterations < kManyIterations;
}

/// A grid with a thread for each iteration.
static void arrangeThreads(Phase &phase, int64_t iterations) {
  phase.iterations = iterations;
  phase.threads = chooseThreads(iterations);
  phase.blocks = llvm::divideCeil(iterations, phase.threads);
}

/// Chooses the grid of a phase with a group.
static void arrange(Phase &phase) {
  const LoopGroup &group = *phase.group;
  const LoopStage &first = group.stages.front();
  phase.depth = group.independentDepth;
  phase.iterations = multiplySizes(
      first.sizes, ArrayRef(first.parallelDims).take_front(phase.depth));
  bool hasInnerLoops = llvm::any_of(group.stages, [&](const LoopStage &stage) {
    return stage.parallelDims.size() > phase.depth;
  });
  if (!hasInnerLoops && !reducesByBlock(phase)) {
    phase.kind = Phase::Kind::ThreadPerIteration;
    return arrangeThreads(phase, phase.iterations);
  }
  int64_t work = 1;
  for (const LoopStage &stage : group.stages)
    work = std::max(
        work,
        multiplySizes(stage.sizes,
                      ArrayRef(stage.parallelDims).drop_front(phase.depth)) *
            multiplySizes(stage.sizes, stage.reductionDims));
  phase.kind = Phase::Kind::BlockPerIteration;
  phase.threads = chooseThreads(work);
  phase.blocks = phase.iterations;
}

/// The group of a branch without results that consists of nothing else: a copy
/// that is left out if two buffers are the same.
static std::optional<LoopGroup> getBranchGroup(Operation &op,
                                               const Aliases &aliases) {
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch || branch.getNumResults() > 0 || !branch.getElseRegion().empty())
    return std::nullopt;
  SmallVector<LoopGroup> groups =
      groupStages(*branch.thenBlock(), aliases, [&](Operation *inner) {
        return isTransparent(inner, aliases);
      });
  if (groups.size() != 1)
    return std::nullopt;
  for (Operation &inner : branch.thenBlock()->without_terminator())
    if (!isTransparent(&inner, aliases) &&
        llvm::none_of(groups.front().stages, [&](LoopStage &stage) {
          return stage.op.getOperation() == &inner;
        }))
      return std::nullopt;
  return groups.front();
}

/// Whether later phases use values of an operation of `phase`.
static bool hasOutsideUsers(const Phase &phase) {
  return llvm::any_of(phase.ops, [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
      return !llvm::is_contained(phase.ops, ancestor);
    });
  });
}

/// The products of the entry block that are computed by tiles, with what is
/// fused with them.
static std::vector<Phase> findProducts(func::FuncOp function,
                                       const GpuProductOptions &options) {
  std::vector<Phase> phases;
  llvm::SmallDenseSet<Operation *> used;
  for (auto op : function.getBody().front().getOps<linalg::GenericOp>()) {
    std::optional<Product> product = matchProduct(op);
    std::optional<ProductTiles> tiles;
    if (product && !used.contains(op))
      tiles = chooseProductTiles(*product, options.tf32);
    if (!tiles)
      continue;
    Phase phase;
    phase.kind = Phase::Kind::Tiles;
    phase.product = collectProductGroup(*product, function);
    if (options.libraryProducts)
      phase.libraryProduct = takeLibraryProduct(*phase.product);
    if (phase.libraryProduct)
      phase.libraryProduct->roundsFactors = options.tf32;
    phase.tiles = *tiles;
    phase.blocks = tiles->blocks;
    phase.threads = tiles->getThreads();
    if (phase.product->fill)
      phase.ops.push_back(phase.product->fill);
    phase.ops.push_back(op);
    phase.ops.append(phase.product->epilogue.begin(),
                     phase.product->epilogue.end());
    used.insert(phase.ops.begin(), phase.ops.end());
    phases.push_back(std::move(phase));
  }
  return phases;
}

std::vector<Phase> lockstep::splitPhases(func::FuncOp function,
                                         const GpuProductOptions &options) {
  Block &body = function.getBody().front();
  Aliases aliases(function);
  auto isShared = [&](Operation *op) {
    return isTransparent(op, aliases) || isa<memref::DeallocOp>(op);
  };
  std::vector<Phase> products = findProducts(function, options);
  llvm::DenseMap<Operation *, Phase *> productOf;
  for (Phase &phase : products)
    for (Operation *op : phase.ops)
      productOf[op] = &phase;
  SmallVector<LoopGroup> groups =
      groupStages(body, aliases, isShared,
                  [&](Operation *op) { return productOf.contains(op); });
  llvm::DenseMap<Operation *, unsigned> groupOf;
  for (auto [i, group] : llvm::enumerate(groups))
    for (LoopStage &stage : group.stages)
      groupOf[stage.op] = i;

  std::vector<Phase> phases;
  Phase everything;
  auto addGroup = [&](LoopGroup group, ArrayRef<Operation *> ops) {
    Phase phase;
    phase.group = std::move(group);
    phase.ops.assign(ops.begin(), ops.end());
    arrange(phase);
    phases.push_back(std::move(phase));
  };
  for (Operation &op : body.without_terminator()) {
    if (isShared(&op))
      continue;
    everything.ops.push_back(&op);
    if (Phase *product = productOf.lookup(&op)) {
      if (product->product->product.op.getOperation() == &op)
        phases.push_back(*product);
      continue;
    }
    if (auto found = groupOf.find(&op); found != groupOf.end()) {
      LoopGroup &group = groups[found->second];
      if (group.stages.front().op.getOperation() == &op)
        addGroup(group, llvm::map_to_vector(
                            group.stages, [](LoopStage &stage) -> Operation * {
                              return stage.op;
                            }));
      continue;
    }
    if (std::optional<LoopGroup> group = getBranchGroup(op, aliases)) {
      addGroup(*group, &op);
      continue;
    }
    if (std::optional<UpdateNest> updates = matchUpdateNest(op, aliases)) {
      Phase &phase = phases.emplace_back();
      phase.kind = Phase::Kind::ThreadPerElement;
      phase.ops.push_back(&op);
      phase.updates = std::move(updates);
      arrangeThreads(phase, phase.updates->getThreads());
      continue;
    }
    if (phases.empty() || phases.back().kind != Phase::Kind::OneBlock)
      phases.emplace_back();
    phases.back().ops.push_back(&op);
  }
  if (llvm::any_of(phases, hasOutsideUsers))
    return {everything};
  return phases;
}
