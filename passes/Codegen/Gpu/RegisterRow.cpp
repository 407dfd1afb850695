//===- RegisterRow.cpp - Rows of which threads keep elements --------------===//

#include "passes/Codegen/Gpu/RegisterRow.h"

#include "passes/Codegen/Combiner.h"
#include "passes/Codegen/Product.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace lockstep;
using namespace mlir;

SmallVector<unsigned> lockstep::getInnerDims(const LoopStage &stage,
                                             unsigned depth) {
  SmallVector<unsigned> inner(ArrayRef(stage.parallelDims).drop_front(depth));
  llvm::append_range(inner, stage.reductionDims);
  llvm::erase_if(inner, [&](unsigned dim) { return stage.sizes[dim] == 1; });
  return inner;
}

bool lockstep::mayHaveVectors(const LoopStage &stage, unsigned depth,
                              int64_t length) {
  SmallVector<unsigned> inner = getInnerDims(stage, depth);
  if (inner.size() > 1 &&
      (stage.sizes[inner.back()] % length != 0 || !stage.reductionDims.empty()))
    return false;
  bool hasInnerResults =
      multiplySizes(stage.sizes,
                    ArrayRef(stage.parallelDims).drop_front(depth)) != 1;
  return stage.reductionDims.empty() ||
         (!hasInnerResults && matchCombiner(stage.op));
}

/// What an operand accesses, over the outer and then the inner loops.
static AffineMap getAccess(const LoopStage &stage, OpOperand &operand,
                           unsigned depth) {
  MLIRContext *context = stage.op->getContext();
  SmallVector<unsigned> order(ArrayRef(stage.parallelDims).take_front(depth));
  llvm::append_range(order, getInnerDims(stage, depth));
  SmallVector<AffineExpr> numbers(stage.sizes.size(),
                                  getAffineConstantExpr(0, context));
  for (auto [number, dim] : llvm::enumerate(order))
    numbers[dim] = getAffineDimExpr(number, context);
  return linalg::GenericOp(stage.op)
      .getMatchingIndexingMap(&operand)
      .replaceDimsAndSymbols(numbers, {}, order.size(), 0);
}

/// Whether `stage` accesses what `writer` writes only in the same iteration of
/// the inner loops.
static bool sharesIterations(const LoopStage &writer, const LoopStage &stage,
                             unsigned depth, const Aliases &aliases) {
  linalg::GenericOp writing = writer.op, op = stage.op;
  for (OpOperand &init : writing.getDpsInitsMutable()) {
    if (loadsInBody(op, init.get(), aliases))
      return false;
    ArrayRef<AffineExpr> written = getAccess(writer, init, depth).getResults();
    for (OpOperand &operand : op->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()) &&
          aliases.mayAlias(operand.get(), init.get()) &&
          (!aliases.areSame(operand.get(), init.get()) ||
           getAccess(stage, operand, depth).getResults() != written))
        return false;
  }
  return true;
}

/// Whether what a row has once is read only after it has been computed. Each
/// thread computes it, but one of them stores it, and may be ahead of others.
static bool computesBeforeReading(const LoopGroup &group, unsigned depth,
                                  const Aliases &aliases) {
  SmallVector<Value> stored;
  for (const LoopStage &stage : group.stages)
    if (!stage.reductionDims.empty() || getInnerDims(stage, depth).empty())
      llvm::append_range(stored, linalg::GenericOp(stage.op).getDpsInits());
  llvm::SmallDenseSet<Value> computed;
  for (const LoopStage &stage : group.stages) {
    linalg::GenericOp op = stage.op;
    for (OpOperand &operand : op->getOpOperands()) {
      bool isRead = isa<MemRefType>(operand.get().getType()) &&
                    !op.getMatchingBlockArgument(&operand).use_empty();
      if (isRead && !computed.contains(operand.get()) &&
          llvm::any_of(stored, [&](Value other) {
            return aliases.mayAlias(other, operand.get());
          }))
        return false;
    }
    for (Value init : op.getDpsInits())
      computed.insert(init);
  }
  return true;
}

std::optional<SmallVector<int64_t>>
lockstep::matchRegisterRow(const LoopGroup &group, unsigned depth,
                           const Aliases &aliases) {
  SmallVector<int64_t> sizes;
  for (const LoopStage &stage : group.stages) {
    bool hasInnerResults =
        multiplySizes(stage.sizes,
                      ArrayRef(stage.parallelDims).drop_front(depth)) != 1;
    if (!stage.reductionDims.empty() &&
        (hasInnerResults || !matchCombiner(stage.op)))
      return std::nullopt;
    SmallVector<int64_t> own =
        llvm::map_to_vector(getInnerDims(stage, depth),
                            [&](unsigned dim) { return stage.sizes[dim]; });
    if (own.empty())
      continue;
    if (!sizes.empty() && own != sizes)
      return std::nullopt;
    sizes = own;
  }
  for (const LoopStage &writer : group.stages)
    for (const LoopStage &stage : group.stages)
      if (!sharesIterations(writer, stage, depth, aliases))
        return std::nullopt;
  if (sizes.empty() || !computesBeforeReading(group, depth, aliases))
    return std::nullopt;
  return sizes;
}
