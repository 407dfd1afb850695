//===- SplitReductions.cpp - Long reductions with few results -------------===//

#include "passes/Codegen/Gpu/SplitReductions.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Codegen/Aliases.h"
#include "passes/Codegen/Combiner.h"
#include "passes/Codegen/Gpu/Phases.h"
#include "passes/Codegen/InPlace.h"
#include "passes/Codegen/LoopGroup.h"
#include "passes/Codegen/Product.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace lockstep;
using namespace mlir;

/// So many blocks read memory as fast as possible; each of them should read at
/// least so many bytes, since another launch takes time, too.
static constexpr int64_t kManyBlocks = 4 * kMultiprocessors,
                         kLeastBytes = 64 << 10;
/// A block that reads more than this is worth dividing.
static constexpr int64_t kManyBytes = 256 << 10;

/// How many parts the reduction should have; 1 if it should not be divided.
static int64_t chooseParts(const LoopStage &stage) {
  linalg::GenericOp op = stage.op;
  // What is computed by the same kernel may be in registers.
  for (Value input : op.getDpsInputs())
    if (isa<MemRefType>(input.getType()) &&
        !isa<BlockArgument>(getBuffer(input)))
      return 1;
  int64_t results = multiplySizes(stage.sizes, stage.parallelDims);
  if (results == 0)
    return 1;
  int64_t blocks =
      runsAlongRows(stage) ? llvm::divideCeil(results, kBlockColumns) : results;
  // As if there were one operand of 32 bits: the order of a sum should depend
  // on its size alone.
  int64_t bytes = 4 * results * multiplySizes(stage.sizes, stage.reductionDims);
  if (blocks >= kMultiprocessors || bytes / blocks < kManyBytes)
    return 1;
  return std::min<int64_t>(llvm::divideCeil(kManyBlocks, blocks),
                           bytes / (blocks * kLeastBytes));
}

/// The largest divisor of `size` that is at most `most`.
static int64_t getDivisor(int64_t size, int64_t most) {
  int64_t divisor = std::min(size, most);
  while (size % divisor != 0)
    --divisor;
  return divisor;
}

namespace {

class ReductionSplitter {
public:
  ReductionSplitter(const LoopStage &stage, const Combiner &combiner)
      : op(stage.op), combiner(combiner), reductionDims(stage.reductionDims),
        parallelDims(stage.parallelDims), builder(stage.op),
        loc(linalg::GenericOp(stage.op).getLoc()), inputs(op.getDpsInputs()),
        maps(op.getIndexingMapsArray()), sizes(stage.sizes) {}

  void split(int64_t parts) {
    chooseDims(parts);
    if (partDims.empty())
      return;
    initial = findFill();
    auto type = cast<MemRefType>(op.getDpsInits().front().getType());
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> indices;
    SmallVector<unsigned> dims = partDims;
    dims.append(parallelDims);
    for (unsigned dim : dims) {
      shape.push_back(sizes[dim]);
      indices.push_back(builder.getAffineDimExpr(dim));
    }
    Value partial = memref::AllocOp::create(
        builder, loc, MemRefType::get(shape, type.getElementType()));
    fill(partial);
    reduceParts(partial, indices);
    combineParts(partial);
    op.erase();
  }

private:
  /// Makes outer loops of the reduction, or parts of them, those of the parts.
  void chooseDims(int64_t parts) {
    // Neighbors in memory that one block reads.
    constexpr int64_t leastNeighbors = 64;
    for (unsigned dim : reductionDims) {
      int64_t most = parts;
      if (isAlongMemory(dim))
        most = std::min(most, sizes[dim] / leastNeighbors);
      if (most < 2)
        continue;
      int64_t count = getDivisor(sizes[dim], most);
      if (count < 2)
        continue;
      if (count == sizes[dim])
        partDims.push_back(dim);
      else if (divideDim(dim, count))
        partDims.push_back(sizes.size() - 1);
      else
        continue;
      parts /= count;
    }
  }

  /// Whether the last index of an operand is this loop.
  bool isAlongMemory(unsigned dim) const {
    return llvm::any_of(ArrayRef(maps).drop_back(), [&](AffineMap map) {
      return map.getNumResults() > 0 &&
             map.getResults().back().isFunctionOfDim(dim);
    });
  }

  /// Divides a loop into two, the last one of which runs over so many parts.
  /// Returns whether all operands can be accessed in that manner.
  bool divideDim(unsigned dim, int64_t count) {
    bool hasIndex = op.getBody()
                        ->walk([&](linalg::IndexOp index) {
                          return index.getDim() == dim ? WalkResult::interrupt()
                                                       : WalkResult::advance();
                        })
                        .wasInterrupted();
    SmallVector<std::optional<unsigned>> places;
    for (auto [input, map] : llvm::zip(inputs, maps)) {
      places.push_back(getOnlyResult(map, dim));
      if (hasIndex || (map.isFunctionOfDim(dim) && !places.back()))
        return false;
    }
    unsigned part = sizes.size();
    for (auto [input, map, place] : llvm::zip(inputs, maps, places)) {
      SmallVector<AffineExpr> results(map.getResults());
      if (place) {
        input = expand(input, *place, count);
        results.insert(results.begin() + *place,
                       builder.getAffineDimExpr(part));
      }
      map = AffineMap::get(part + 1, 0, results, builder.getContext());
    }
    maps.back() = AffineMap::get(part + 1, 0, maps.back().getResults(),
                                 builder.getContext());
    sizes[dim] /= count;
    sizes.push_back(count);
    return true;
  }

  /// A view in which a dimension is two, the first one of which has `count`
  /// elements.
  Value expand(Value input, unsigned dim, int64_t count) {
    auto type = cast<MemRefType>(input.getType());
    SmallVector<int64_t> shape;
    SmallVector<ReassociationIndices> groups;
    for (auto [i, whole] : llvm::enumerate(type.getShape())) {
      int64_t size = whole;
      ReassociationIndices &group = groups.emplace_back();
      if (i == dim) {
        group.push_back(shape.size());
        shape.push_back(count);
        size /= count;
      }
      group.push_back(shape.size());
      shape.push_back(size);
    }
    return memref::ExpandShapeOp::create(builder, loc, shape, input, groups);
  }

  void fill(Value partial) {
    auto type = cast<MemRefType>(partial.getType());
    Value neutral = arith::ConstantOp::create(builder, loc, combiner.neutral);
    SmallVector<utils::IteratorType> loops(type.getRank(),
                                           utils::IteratorType::parallel);
    linalg::GenericOp::create(builder, loc, ValueRange(), partial,
                              builder.getMultiDimIdentityMap(type.getRank()),
                              loops,
                              [&](OpBuilder &nested, Location, ValueRange) {
                                linalg::YieldOp::create(nested, loc, neutral);
                              });
  }

  void reduceParts(Value partial, ArrayRef<AffineExpr> indices) {
    maps.back() =
        AffineMap::get(sizes.size(), 0, indices, builder.getContext());
    SmallVector<utils::IteratorType> loops = op.getIteratorTypesArray();
    loops.resize(sizes.size(), utils::IteratorType::parallel);
    for (unsigned dim : partDims)
      loops[dim] = utils::IteratorType::parallel;
    auto parts =
        linalg::GenericOp::create(builder, loc, inputs, partial, maps, loops);
    parts.getRegion().takeBody(op.getRegion());
  }

  /// Reduces the parts to what the result has.
  void combineParts(Value partial) {
    SmallVector<AffineExpr> places;
    SmallVector<utils::IteratorType> loops(partDims.size(),
                                           utils::IteratorType::reduction);
    for (size_t i = 0; i < parallelDims.size(); ++i) {
      places.push_back(builder.getAffineDimExpr(partDims.size() + i));
      loops.push_back(utils::IteratorType::parallel);
    }
    auto combined = linalg::GenericOp::create(
        builder, loc, partial, op.getDpsInits(),
        {builder.getMultiDimIdentityMap(loops.size()),
         AffineMap::get(loops.size(), 0, places, builder.getContext())},
        loops, [&](OpBuilder &nested, Location, ValueRange arguments) {
          linalg::YieldOp::create(
              nested, loc,
              combiner.combine(nested, loc, arguments[1], arguments[0]));
        });
    // The loops of the result may be as long as those of the parts.
    if (initial)
      initial->moveBefore(combined);
    (initial ? initial : combined)
        ->setAttr(kBeginsGroupAttr, builder.getUnitAttr());
  }

  /// The generic before the reduction, if it is what fills the result; else
  /// null.
  linalg::GenericOp findFill() {
    Operation *before = op->getPrevNode();
    while (before &&
           (isa<memref::AllocOp>(before) || isMemoryEffectFree(before)))
      before = before->getPrevNode();
    auto generic = dyn_cast_or_null<linalg::GenericOp>(before);
    return generic && generic.getInputs().empty() &&
                   generic.getOutputs() == op.getOutputs()
               ? generic
               : linalg::GenericOp();
  }

  linalg::GenericOp op, initial;
  const Combiner &combiner;
  ArrayRef<unsigned> reductionDims;
  SmallVector<unsigned> parallelDims, partDims;
  OpBuilder builder;
  Location loc;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<int64_t> sizes;
};

} // namespace

void lockstep::splitReductions(func::FuncOp function) {
  for (auto op : llvm::make_early_inc_range(
           function.getBody().front().getOps<linalg::GenericOp>())) {
    if (op.getNumReductionLoops() == 0 || !op.hasPureBufferSemantics() ||
        llvm::any_of(op.getStaticLoopRanges(), ShapedType::isDynamic) ||
        matchProduct(op))
      continue;
    std::optional<Combiner> combiner = matchCombiner(op);
    std::optional<LoopStage> stage = makeStage(op);
    // The partial results are not rounded more than the result is.
    if (!combiner || !stage ||
        getElementBytes(
            getElementTypeOrSelf(op.getDpsInits().front().getType())) < 4)
      continue;
    int64_t parts = chooseParts(*stage);
    if (parts > 1)
      ReductionSplitter(*stage, *combiner).split(parts);
  }
}
