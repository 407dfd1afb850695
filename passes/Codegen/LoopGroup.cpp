//===- LoopGroup.cpp - Operations that share outer loops ------------------===//

#include "passes/Codegen/LoopGroup.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Codegen/Combiner.h"
#include "passes/Codegen/Product.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

SmallVector<int64_t> LoopGroup::getOuterSizes() const {
  const LoopStage &first = stages.front();
  return llvm::map_to_vector(ArrayRef(first.parallelDims).take_front(depth),
                             [&](unsigned dim) { return first.sizes[dim]; });
}

int64_t LoopGroup::getWork() const {
  int64_t operations = 0, bytes = 0;
  for (const LoopStage &stage : stages) {
    int64_t iterations = 1, own = 0;
    for (int64_t size : stage.sizes)
      iterations *= size;
    for (Operation &inner :
         linalg::GenericOp(stage.op).getBlock()->without_terminator())
      own += isa_and_nonnull<math::MathDialect>(inner.getDialect()) ? 16 : 1;
    operations += iterations * std::max<int64_t>(own, 1);
    for (Value operand : stage.op->getOperands())
      if (auto type = dyn_cast<MemRefType>(operand.getType()))
        bytes += type.getNumElements() * getElementBytes(type.getElementType());
  }
  // A core executes about eight operations in the time to move one byte.
  return std::max(operations / 8, bytes);
}

std::optional<LoopStage> lockstep::makeStage(linalg::GenericOp op) {
  LoopStage stage{op, {}, {}, op.getStaticLoopRanges()};
  if (op.getNumDpsInits() == 0 ||
      llvm::any_of(stage.sizes, ShapedType::isDynamic))
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands())
    if (auto type = dyn_cast<MemRefType>(operand.get().getType());
        type && !type.hasStaticShape())
      return std::nullopt;
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.getMatchingIndexingMap(&init) != out)
      return std::nullopt;
  llvm::SmallDenseSet<unsigned> seen;
  for (AffineExpr result : out.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim) {
      // A constant index of a dimension of size one.
      if (isa<AffineConstantExpr>(result))
        continue;
      return std::nullopt;
    }
    if (!seen.insert(dim.getPosition()).second)
      return std::nullopt;
    stage.parallelDims.push_back(dim.getPosition());
  }
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (auto [dim, iterator] : llvm::enumerate(iterators))
    if ((iterator == utils::IteratorType::parallel) != seen.contains(dim))
      return std::nullopt;

  // Order reduction loops by the memory of the largest input. If that does not
  // have all of them, as a broadcast that was fused, they keep their order: as
  // if the broadcast were stored, unless it was transposed, too.
  OpOperand *largest = nullptr;
  int64_t most = 0;
  for (OpOperand *input : op.getDpsInputOperands())
    if (auto type = dyn_cast<MemRefType>(input->get().getType());
        type && type.getNumElements() > most) {
      most = type.getNumElements();
      largest = input;
    }
  SmallVector<unsigned> own, ofLargest;
  op.getReductionDims(own);
  if (largest)
    for (AffineExpr result : op.getMatchingIndexingMap(largest).getResults())
      result.walk([&](AffineExpr part) {
        if (auto dim = dyn_cast<AffineDimExpr>(part))
          if (llvm::is_contained(own, dim.getPosition()) &&
              !llvm::is_contained(ofLargest, dim.getPosition()))
            ofLargest.push_back(dim.getPosition());
      });
  stage.reductionDims = ofLargest.size() == own.size() ? ofLargest : own;
  return stage;
}

/// Whether an operand has the elements of consecutive iterations of `dim` side
/// by side.
static bool isContiguousAlong(OpOperand &operand, unsigned dim) {
  linalg::GenericOp op(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  std::optional<unsigned> index = getOnlyResult(map, dim);
  return index && *index + 1 == map.getNumResults() &&
         isInnermostContiguous(operand.get());
}

/// Whether all inputs are independent of `dim` or contiguous along it.
static bool readsContiguously(linalg::GenericOp op, unsigned dim) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    return !isa<MemRefType>(input->get().getType()) ||
           !op.getMatchingIndexingMap(input).isFunctionOfDim(dim) ||
           isContiguousAlong(*input, dim);
  });
}

bool lockstep::reducesContiguously(const LoopStage &stage) {
  if (stage.reductionDims.empty())
    return false;
  unsigned dim = stage.reductionDims.back();
  linalg::GenericOp op = stage.op;
  return stage.sizes[dim] >= kReductionLanes && isVectorizableBody(op) &&
         matchCombiner(op) && readsContiguously(op, dim);
}

bool lockstep::keepsRowInRegisters(const LoopStage &stage, unsigned row) {
  // Half of the 16 registers of AVX2.
  constexpr int64_t mostBytes = 256;
  linalg::GenericOp op = stage.op;
  if (op.getNumDpsInits() != 1 || !isVectorizableBody(op) || !matchCombiner(op))
    return false;
  OpOperand &init = *op.getDpsInitOperand(0);
  auto type = cast<MemRefType>(init.get().getType());
  return stage.sizes[row] * getElementBytes(type.getElementType()) <=
             mostBytes &&
         isContiguousAlong(init, row) && readsContiguously(op, row);
}

bool lockstep::runsAlongRows(const LoopStage &stage) {
  if (stage.parallelDims.empty() || stage.reductionDims.empty() ||
      reducesContiguously(stage))
    return false;
  linalg::GenericOp op = stage.op;
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    if (!isa<MemRefType>(input->get().getType()) ||
        !isInnermostContiguous(input->get()))
      return false;
    AffineMap map = op.getMatchingIndexingMap(input);
    return map.getNumResults() > 0 &&
           map.getResults().back().isFunctionOfDim(stage.parallelDims.back());
  });
}

/// For each outer dimension, the result of the map that is exactly this
/// dimension. Nullopt if there is none, or another result depends on it.
static std::optional<SmallVector<unsigned>>
getOuterIndices(AffineMap map, ArrayRef<unsigned> outerDims) {
  SmallVector<unsigned> indices;
  for (unsigned dim : outerDims) {
    std::optional<unsigned> index = getOnlyResult(map, dim);
    if (!index)
      return std::nullopt;
    indices.push_back(*index);
  }
  return indices;
}

bool lockstep::loadsInBody(linalg::GenericOp op, Value buffer,
                           const Aliases &aliases) {
  return op.getBlock()
      ->walk([&](memref::LoadOp load) {
        return aliases.mayAlias(load.getMemRef(), buffer)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// True if there is no dependence between different iterations of the first
/// `depth` loops of the two stages: no element that one writes is accessed by
/// another.
static bool isIndependent(const LoopStage &first, const LoopStage &second,
                          unsigned depth, const Aliases &aliases) {
  auto conflicts = [&](const LoopStage &writer, const LoopStage &other) {
    linalg::GenericOp op = writer.op, otherOp = other.op;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (loadsInBody(otherOp, init.get(), aliases))
        return true;
      auto indices =
          getOuterIndices(op.getMatchingIndexingMap(&init),
                          ArrayRef(writer.parallelDims).take_front(depth));
      for (OpOperand &operand : otherOp->getOpOperands()) {
        if (!isa<MemRefType>(operand.get().getType()) ||
            !aliases.mayAlias(operand.get(), init.get()))
          continue;
        bool isSame = aliases.areSame(operand.get(), init.get());
        auto otherIndices =
            getOuterIndices(otherOp.getMatchingIndexingMap(&operand),
                            ArrayRef(other.parallelDims).take_front(depth));
        if (!isSame || !indices || indices != otherIndices)
          return true;
      }
    }
    return false;
  };
  return !conflicts(first, second) && !conflicts(second, first);
}

bool lockstep::hasIndependentIterations(const LoopStage &stage,
                                        const Aliases &aliases) {
  linalg::GenericOp op = stage.op;
  WalkResult found = op.getBlock()->walk([](Operation *inner) {
    bool onlyReads = inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                     isMemoryEffectFree(inner) ||
                     hasSingleEffect<MemoryEffects::Read>(inner);
    return onlyReads ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !found.wasInterrupted() &&
         isIndependent(stage, stage, stage.parallelDims.size(), aliases);
}

/// The number of outer loops that the stage can share with the group; 0 if
/// none.
static unsigned getCommonDepth(const LoopGroup &group, const LoopStage &stage,
                               unsigned most, const Aliases &aliases) {
  const LoopStage &first = group.stages.front();
  unsigned depth = 0;
  while (depth < most && depth < stage.parallelDims.size() &&
         depth < first.parallelDims.size() &&
         stage.sizes[stage.parallelDims[depth]] ==
             first.sizes[first.parallelDims[depth]])
    ++depth;
  for (; depth > 0; --depth) {
    bool isFine = isIndependent(stage, stage, depth, aliases);
    for (const LoopStage &member : group.stages)
      isFine = isFine && isIndependent(member, stage, depth, aliases) &&
               isIndependent(member, member, depth, aliases);
    if (isFine)
      return depth;
  }
  return 0;
}

bool lockstep::sharesAllLoops(ArrayRef<LoopStage> stages, const LoopStage &next,
                              const Aliases &aliases) {
  size_t depth = next.parallelDims.size();
  bool isElementwise = llvm::all_of(stages, [&](const LoopStage &stage) {
    return stage.reductionDims.empty() && stage.parallelDims.size() == depth;
  });
  LoopGroup group;
  group.stages.assign(stages.begin(), stages.end());
  return isElementwise && next.reductionDims.empty() &&
         getCommonDepth(group, next, depth, aliases) == depth;
}

/// Reduces the depth so that at least one stage has an inner loop, which can be
/// vectorized.
static void finish(LoopGroup &group) {
  group.independentDepth = group.depth;
  bool isConsumed = llvm::all_of(group.stages, [&](const LoopStage &stage) {
    return stage.reductionDims.empty() &&
           stage.parallelDims.size() == group.depth;
  });
  group.canSplitOwnLoop = group.depth == 1 && isConsumed;
  if (isConsumed && group.depth > 0)
    --group.depth;
  // Do not share the column loop if whole rows are added to the result. It may
  // be divided into tiles, too.
  if (group.depth == 1 &&
      llvm::all_of(group.stages,
                   [](const LoopStage &stage) {
                     return stage.parallelDims.size() == 1;
                   }) &&
      llvm::any_of(group.stages, runsAlongRows)) {
    group.depth = 0;
    group.canSplitOwnLoop = true;
  }
}

SmallVector<LoopGroup>
lockstep::groupStages(Block &block, const Aliases &aliases,
                      llvm::function_ref<bool(Operation *)> isTransparent,
                      llvm::function_ref<bool(Operation *)> isExcluded) {
  SmallVector<LoopGroup> groups;
  bool isOpen = false; // whether the last group may grow
  for (Operation &op : block) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    std::optional<LoopStage> stage;
    if (generic && !isExcluded(&op))
      stage = makeStage(generic);
    if (!stage) {
      isOpen = isOpen && !generic && isTransparent(&op);
      continue;
    }
    unsigned depth = stage->parallelDims.size();
    if (isOpen && groups.back().depth > 0 && !op.hasAttr(kBeginsGroupAttr))
      if (unsigned common =
              getCommonDepth(groups.back(), *stage,
                             std::min(depth, groups.back().depth), aliases)) {
        groups.back().stages.push_back(*stage);
        groups.back().depth = common;
        continue;
      }
    while (depth > 0 && !isIndependent(*stage, *stage, depth, aliases))
      --depth;
    groups.push_back({{*stage}, depth});
    isOpen = true;
  }
  for (LoopGroup &group : groups)
    finish(group);
  return groups;
}

llvm::MapVector<Value, SmallVector<unsigned>>
lockstep::findRowBuffers(const LoopGroup &group, unsigned depth) {
  llvm::MapVector<Value, SmallVector<unsigned>> rows;
  if (group.stages.size() < 2)
    return rows;
  for (const LoopStage &stage : group.stages)
    for (OpOperand &init : linalg::GenericOp(stage.op).getDpsInitsMutable()) {
      Value buffer = init.get();
      if (!buffer.getDefiningOp<memref::AllocOp>() || rows.contains(buffer))
        continue;
      bool isPrivate = llvm::all_of(buffer.getUsers(), [&](Operation *user) {
        return llvm::any_of(group.stages, [&](const LoopStage &member) {
          return member.op == user;
        });
      });
      auto indices = getOuterIndices(
          linalg::GenericOp(stage.op).getMatchingIndexingMap(&init),
          ArrayRef(stage.parallelDims).take_front(depth));
      if (isPrivate && indices)
        rows[buffer] = *indices;
    }
  return rows;
}

MemRefType lockstep::getRowType(MemRefType type, ArrayRef<unsigned> indices) {
  SmallVector<int64_t> shape(type.getShape());
  for (unsigned index : indices)
    shape[index] = 1;
  return MemRefType::get(shape, type.getElementType());
}
