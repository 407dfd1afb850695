//===- Phases.cpp - Kernels as sequences of grids -------------------------===//

#include "passes/Codegen/Gpu/Phases.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Codegen/Combiner.h"
#include "passes/Codegen/Gpu/RegisterRow.h"
#include "passes/Codegen/Gpu/ThreadBuilder.h"
#include "passes/Codegen/Gpu/VectorAccess.h"
#include "passes/Codegen/Product.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

/// From this many iterations on, a thread for each occupies a GPU.
static constexpr int64_t kManyIterations = 4096;
/// A product with fewer results is shared by blocks.
static constexpr int64_t kFewProducts = 256;

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

/// Whether a block should share the rows of neighboring reductions: if each
/// thread reduced a column, too few would read memory at a time. Not loops with
/// inner ones.
static bool reducesColumns(const Phase &phase) {
  constexpr int64_t manyColumns = 1 << 16;
  bool isAlongRows = false;
  for (const LoopStage &stage : phase.group->stages) {
    if (stage.reductionDims.empty())
      continue;
    linalg::GenericOp op = stage.op;
    if (!matchCombiner(op) || op.getNumDpsInits() != 1 ||
        multiplySizes(stage.sizes, stage.reductionDims) < kFewElements ||
        matchProduct(op))
      return false;
    isAlongRows |= runsAlongRows(stage);
  }
  return isAlongRows && phase.iterations >= kBlockColumns &&
         phase.iterations < manyColumns;
}

/// The threads of a block that reduces columns: each has some rows to add
/// before the sums of the threads are combined.
static int64_t chooseColumnThreads(const LoopGroup &group) {
  constexpr int64_t fewRows = 8, mostThreads = 1024;
  int64_t rows = 1;
  for (const LoopStage &stage : group.stages)
    rows = std::max(rows, multiplySizes(stage.sizes, stage.reductionDims));
  return std::clamp<int64_t>(llvm::bit_floor<uint64_t>(rows / fewRows) *
                                 kBlockColumns,
                             kWarp, mostThreads);
}

void Phase::setThreads(int64_t count) {
  threads = count;
  blocks = llvm::divideCeil(iterations, count);
}

Phase Phase::mapTo(const IRMapping &copies) const {
  Phase copy = *this;
  for (Operation *&op : copy.ops)
    op = copies.lookup(op);
  for (LoopStage &stage : copy.group->stages)
    stage.op = cast<linalg::GenericOp>(copies.lookup(stage.op.getOperation()));
  copy.registers.clear();
  for (Value buffer : registers)
    copy.registers.insert(copies.lookup(buffer));
  copy.rows.clear();
  for (const auto &[buffer, indices] : rows)
    copy.rows[copies.lookup(buffer)] = indices;
  return copy;
}

/// A grid with a thread for each iteration.
static void arrangeThreads(Phase &phase, Phase::Kind kind, int64_t iterations) {
  phase.kind = kind;
  phase.iterations = iterations;
  phase.setThreads(chooseThreads(iterations));
}

/// Keeps as many intermediate rows in shared memory as it has room for.
static void keepInSharedMemory(Phase &phase) {
  // Of the 48 KiB that each GPU has for a block.
  int64_t left = 32 << 10;
  for (auto &[buffer, indices] : findRowBuffers(*phase.group, phase.depth)) {
    if (phase.registers.contains(buffer))
      continue;
    MemRefType row = getRowType(cast<MemRefType>(buffer.getType()), indices);
    int64_t bytes = llvm::alignTo(
        row.getNumElements() * getElementBytes(row.getElementType()), 16);
    if (bytes > left)
      continue;
    left -= bytes;
    phase.rows[buffer] = indices;
  }
}

/// Divides the stages into runs, and finds what they keep in registers.
static void formRuns(Phase &phase, const Aliases &aliases) {
  ArrayRef<LoopStage> left = phase.group->stages;
  while (!left.empty()) {
    size_t length = 1;
    while (length < left.size() &&
           sharesAllLoops(left.take_front(length), left[length], aliases))
      ++length;
    LoopGroup run;
    run.stages.assign(left.begin(), left.begin() + length);
    for (auto &[buffer, indices] :
         findRowBuffers(run, left.front().parallelDims.size()))
      phase.registers.insert(buffer);
    phase.runs.push_back(length);
    left = left.drop_front(length);
  }
}

/// With fewer threads, a GPU is not occupied, and each of them should do less.
static constexpr int64_t kFewThreads = kMultiprocessors * 512;

/// The length of vectors for a thread that executes neighboring iterations of
/// element-wise operations, all with the same loops.
static int64_t chooseLength(const Phase &phase) {
  const LoopStage &first = phase.group->stages.front();
  if (phase.depth == 0 || phase.runs.size() > 1 ||
      !first.reductionDims.empty() ||
      first.sizes[first.parallelDims[phase.depth - 1]] == 1)
    return 1;
  int64_t length =
      chooseVectorLength(*phase.group, phase.depth - 1, phase.registers);
  while (length > 1 && phase.iterations / length < kFewThreads)
    length /= 2;
  return length;
}

/// Whether the innermost loop of element-wise operations is one of the threads
/// of a block, each of which executes several iterations: few instructions
/// compute their addresses.
static bool isLongRow(const Phase &phase) {
  constexpr int64_t longRow = 256, manyRows = 2048;
  const LoopStage &first = phase.group->stages.front();
  if (phase.depth < 2 || phase.runs.size() > 1 ||
      !first.reductionDims.empty() || isa<scf::IfOp>(first.op->getParentOp()))
    return false;
  int64_t row = first.sizes[first.parallelDims[phase.depth - 1]];
  return row >= longRow && phase.iterations / row >= manyRows;
}

/// Lets the threads of a block keep the elements of a row in registers, if each
/// has the same number of them, and not many. Only if there is a reduction:
/// else, none of them needs the elements of another one anyway.
static void keepRowInRegisters(Phase &phase, const Aliases &aliases) {
  constexpr int64_t mostRounds = 16;
  if (llvm::none_of(phase.group->stages, [](const LoopStage &stage) {
        return !stage.reductionDims.empty();
      }))
    return;
  std::optional<SmallVector<int64_t>> sizes =
      matchRegisterRow(*phase.group, phase.depth, aliases);
  if (!sizes)
    return;
  llvm::SmallDenseSet<Value> kept = phase.registers;
  for (auto &[buffer, indices] : findRowBuffers(*phase.group, phase.depth))
    kept.insert(buffer);
  // Of the 128 registers of a thread, some are left for addresses. The code of
  // all iterations is written out.
  constexpr int64_t mostRegisters = 96, mostOperations = 2048;
  int64_t registers = 0, operations = 0;
  for (const LoopStage &stage : phase.group->stages) {
    linalg::GenericOp op = stage.op;
    operations += int64_t(op.getBody()->getOperations().size());
    if (stage.reductionDims.empty() &&
        !getInnerDims(stage, phase.depth).empty())
      for (Value init : op.getDpsInits())
        registers += llvm::divideCeil(
            getElementBytes(getElementTypeOrSelf(init.getType())), 4);
  }
  int64_t elements = computeProduct(*sizes);
  int64_t length = chooseVectorLength(*phase.group, phase.depth, kept);
  for (; length > 0; length /= 2) {
    // The largest power of two that divides the row.
    int64_t vectors = elements / length,
            threads = std::min(vectors & -vectors, kMaxThreads),
            rounds = elements / threads;
    if (threads < kWarp || rounds > mostRounds ||
        rounds * registers > mostRegisters ||
        rounds * operations > mostOperations ||
        (length > 1 && phase.iterations * threads < kFewThreads))
      continue;
    phase.threads = threads;
    phase.rounds = rounds;
    phase.vectorLength = length;
    phase.runs.clear();
    phase.rowSizes = std::move(*sizes);
    phase.registers = std::move(kept);
    return;
  }
}

/// The length of vectors for the threads of a block that share rows in the
/// memory of the GPU: the largest one with a vector for each thread.
static int64_t chooseRowLength(const Phase &phase) {
  if (!phase.rows.empty())
    return 1;
  auto hasVectors = [&](const LoopStage &stage, int64_t length) {
    SmallVector<unsigned> inner = getInnerDims(stage, phase.depth);
    return !inner.empty() &&
           multiplySizes(stage.sizes, inner) >= length * phase.threads &&
           mayHaveVectors(stage, phase.depth, length) &&
           accessesVectors(stage, phase.depth, phase.registers, length);
  };
  int64_t length = getMostElements(*phase.group, phase.depth, phase.registers);
  while (length > 1 &&
         llvm::none_of(phase.group->stages, [&](const LoopStage &stage) {
           return hasVectors(stage, length);
         }))
    length /= 2;
  return length;
}

/// Chooses the grid of a phase with a group.
static void arrange(Phase &phase, const Aliases &aliases) {
  const LoopGroup &group = *phase.group;
  const LoopStage &first = group.stages.front();
  phase.depth = group.independentDepth;
  phase.iterations = multiplySizes(
      first.sizes, ArrayRef(first.parallelDims).take_front(phase.depth));
  bool hasInnerLoops = llvm::any_of(group.stages, [&](const LoopStage &stage) {
    return stage.parallelDims.size() > phase.depth;
  });
  if (!hasInnerLoops && reducesColumns(phase)) {
    phase.kind = Phase::Kind::BlockPerColumns;
    phase.threads = chooseColumnThreads(*phase.group);
    phase.blocks = llvm::divideCeil(phase.iterations, kBlockColumns);
    return;
  }
  formRuns(phase, aliases);
  if (!hasInnerLoops)
    phase.vectorLength = chooseLength(phase);
  if (phase.vectorLength > 1)
    return arrangeThreads(phase, Phase::Kind::ThreadPerIteration,
                          phase.iterations / phase.vectorLength);
  if (!hasInnerLoops && isLongRow(phase)) {
    --phase.depth;
    phase.iterations /= first.sizes[first.parallelDims[phase.depth]];
  } else if (!hasInnerLoops && !reducesByBlock(phase)) {
    // Also what a reduction reads.
    for (auto &[buffer, indices] : findRowBuffers(*phase.group, phase.depth))
      phase.registers.insert(buffer);
    return arrangeThreads(phase, Phase::Kind::ThreadPerIteration,
                          phase.iterations);
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
  keepRowInRegisters(phase, aliases);
  if (phase.rounds > 0)
    return;
  keepInSharedMemory(phase);
  phase.vectorLength = chooseRowLength(phase);
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

/// Divides a group of small element-wise operations into those that depend on
/// each other: a thread executes the operations of a group one after the other,
/// so that other threads should execute what it does not need.
static SmallVector<LoopGroup> splitIndependent(const LoopGroup &group,
                                               const Aliases &aliases) {
  const SmallVector<LoopStage> &stages = group.stages;
  for (const LoopStage &stage : stages)
    if (!stage.reductionDims.empty() ||
        multiplySizes(stage.sizes, stage.parallelDims) >
            kFewBlocks * kMaxThreads)
      return {group};
  auto writesOperandOf = [&](linalg::GenericOp a, linalg::GenericOp b) {
    return llvm::any_of(a.getDpsInits(), [&](Value buffer) {
      return aliases.mayTouch(b, buffer);
    });
  };
  llvm::EquivalenceClasses<size_t> dependent;
  for (size_t i = 0; i < stages.size(); ++i) {
    dependent.insert(i);
    for (size_t j = 0; j < i; ++j)
      if (!dependent.isEquivalent(i, j) &&
          (writesOperandOf(stages[j].op, stages[i].op) ||
           writesOperandOf(stages[i].op, stages[j].op)))
        dependent.unionSets(i, j);
  }
  // In the order of the first operations.
  llvm::MapVector<size_t, LoopGroup> parts;
  for (size_t i = 0; i < stages.size(); ++i) {
    auto [part, isNew] = parts.try_emplace(dependent.getLeaderValue(i), group);
    if (isNew)
      part->second.stages.clear();
    part->second.stages.push_back(stages[i]);
  }
  return llvm::map_to_vector(parts.takeVector(),
                             [](auto &part) { return std::move(part.second); });
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
    phase.libraryProduct = takeLibraryProduct(*phase.product, options);
    if (!phase.libraryProduct)
      phase.libraryConvolution =
          takeLibraryConvolution(*phase.product, options);
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

bool lockstep::isInEachPhase(Operation *op, const Aliases &aliases) {
  if (!isa<cf::AssertOp>(op))
    return isTransparent(op, aliases);
  SetVector<Operation *> sources;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  return succeeded(getBackwardSlice(op, &sources, options)) &&
         llvm::all_of(sources, [&](Operation *source) {
           return isTransparent(source, aliases);
         });
}

std::vector<Phase> lockstep::splitPhases(func::FuncOp function,
                                         const GpuProductOptions &options) {
  Block &body = function.getBody().front();
  Aliases aliases(function);
  auto isShared = [&](Operation *op) { return isInEachPhase(op, aliases); };
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
  auto addGroup = [&](LoopGroup group, ArrayRef<Operation *> ops) -> Phase & {
    Phase phase;
    phase.group = std::move(group);
    phase.ops.assign(ops.begin(), ops.end());
    arrange(phase, aliases);
    return phases.emplace_back(std::move(phase));
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
        for (LoopGroup &part : splitIndependent(group, aliases)) {
          SmallVector<Operation *> ops = llvm::map_to_vector(
              part.stages,
              [](LoopStage &stage) -> Operation * { return stage.op; });
          addGroup(std::move(part), ops);
        }
      continue;
    }
    if (device::isAttention(&op)) {
      Phase &phase = phases.emplace_back();
      phase.kind = Phase::Kind::Library;
      phase.ops.push_back(&op);
      phase.libraryAttention = describeAttention(&op);
      phase.blocks = phase.threads = 0;
      continue;
    }
    if (std::optional<LoopGroup> group = getBranchGroup(op, aliases)) {
      // Mostly there is nothing to do, which few blocks find out sooner.
      constexpr int64_t fewBlocks = 2048;
      Phase &phase = addGroup(*group, &op);
      if (phase.kind == Phase::Kind::ThreadPerIteration)
        phase.blocks = std::min(phase.blocks, fewBlocks);
      continue;
    }
    if (std::optional<UpdateNest> updates = matchUpdateNest(op, aliases)) {
      Phase &phase = phases.emplace_back();
      phase.ops.push_back(&op);
      phase.updates = std::move(updates);
      arrangeThreads(phase, Phase::Kind::ThreadPerElement,
                     phase.updates->getThreads());
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
