//===- EmitLoops.cpp - Code of element-wise operations and reductions -----===//

#include "passes/Codegen/EmitLoops.h"

#include "passes/Codegen/Combiner.h"
#include "passes/Codegen/LoopMetadata.h"
#include "passes/Codegen/PlainLoops.h"
#include "passes/Codegen/Product.h"
#include "passes/Codegen/ScalarBody.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace lockstep;
using namespace mlir;

/// The least work of a tile, in bytes (or eight operations for each): about 20
/// µs.
static constexpr int64_t kTileWork = 64 * 1024;
static constexpr int64_t kMaxLoopTiles = 64;
/// A tile of an innermost dimension has a multiple of this many elements.
static constexpr int64_t kInnerMultiple = 256;

SmallVector<Split> lockstep::splitLoops(const LoopGroup &group) {
  int64_t wanted = std::min(kMaxLoopTiles, group.getWork() / kTileWork);
  SmallVector<Split> splits;
  auto split = [&](unsigned loop, int64_t size, int64_t most) {
    int64_t count = std::min(wanted, most);
    if (count < 2)
      return;
    count = llvm::divideCeil(size, llvm::divideCeil(size, count));
    splits.push_back({loop, count});
    wanted /= count;
  };
  for (auto [loop, size] : llvm::enumerate(group.getOuterSizes()))
    split(loop, size, size);
  const LoopStage &first = group.stages.front();
  if (group.canSplitOwnLoop) {
    int64_t size = first.sizes[first.parallelDims[0]];
    split(0, size, size / kInnerMultiple);
  }
  return splits;
}

namespace {
class LoopEmitter {
public:
  LoopEmitter(OpBuilder &builder, LoopGroup &group)
      : builder(builder), loc(group.stages.back().op.getLoc()), group(group) {}

  void emit(Value tile, ArrayRef<Split> splits) {
    SmallVector<int64_t> sizes = group.getOuterSizes();
    bool splitsInner = group.depth == 0 && !splits.empty();
    if (splitsInner)
      sizes.push_back(
          group.stages.front().sizes[group.stages.front().parallelDims[0]]);
    ranges = getTileRanges(
        builder, loc, tile, sizes, splits,
        SmallVector<int64_t>(splits.size(), splitsInner ? kInnerMultiple : 1));
    Aliases aliases(group.stages.front().op->getParentOfType<func::FuncOp>());
    for (const LoopStage &stage : group.stages)
      if (hasIndependentIterations(stage, aliases))
        parallel.insert(stage.op);
    rows = findRowBuffers(group, group.depth);
    for (auto &[buffer, indices] : rows)
      shrink(buffer, indices);
    emitOuterLoops(0);
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  scf::ForOp forLoop(Value begin, Value end, int64_t step,
                     llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, begin, end, constant(step));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
    return loop;
  }

  /// Shrinks a buffer to one row, as each iteration of the outer loops needs
  /// only one.
  void shrink(Value buffer, ArrayRef<unsigned> indices) {
    buffer.setType(getRowType(cast<MemRefType>(buffer.getType()), indices));
  }

  void emitOuterLoops(unsigned loop) {
    if (loop == group.depth) {
      for (LoopStage &stage : group.stages)
        emitStage(stage);
      return;
    }
    forLoop(ranges[loop].begin, ranges[loop].end, 1, [&](Value index) {
      outer.push_back(index);
      emitOuterLoops(loop + 1);
      outer.pop_back();
    });
  }

  void emitStage(LoopStage &stage) {
    current = &stage;
    dims.assign(stage.sizes.size(), Value());
    for (auto [dim, index] : llvm::zip(stage.parallelDims, outer))
      dims[dim] = index;
    SmallVector<unsigned> inner(
        ArrayRef(stage.parallelDims).drop_front(group.depth));
    if (stage.reductionDims.empty())
      return emitParallel(inner, [&] { emitScalarBody(); }, /*marksLast=*/true);
    if (reducesContiguously(stage))
      return emitParallel(
          inner, [&] { emitLaneReduction(); }, /*marksLast=*/false);
    if (!inner.empty() && runsAlongRows(stage)) {
      // Whole rows are added to the result.
      unsigned row = inner.pop_back_val();
      if (keepsRowInRegisters(stage, row))
        return emitParallel(inner, [&] { emitRowReduction(row); }, false);
      return emitParallel(
          inner,
          [&] {
            emitReductionLoops(stage.reductionDims, [&] {
              emitParallel({row}, [&] { emitScalarBody(); }, true);
            });
          },
          false);
    }
    emitParallel(inner, [&] { emitOrderedReduction(); }, false);
  }

  /// Emits loops over parallel dimensions; with `marksLast`, the innermost is
  /// marked as parallel, if its iterations are independent.
  void emitParallel(ArrayRef<unsigned> order, llvm::function_ref<void()> body,
                    bool marksLast) {
    if (order.empty())
      return body();
    unsigned dim = order.front();
    bool isSplit = group.depth == 0 && ranges.size() == 1 &&
                   order.size() == 1 && dim == current->parallelDims[0];
    Value begin = isSplit ? ranges[0].begin : constant(0);
    Value end = isSplit ? ranges[0].end : constant(current->sizes[dim]);
    scf::ForOp loop = forLoop(begin, end, 1, [&](Value index) {
      dims[dim] = index;
      emitParallel(order.drop_front(), body, marksLast);
    });
    if (marksLast && order.size() == 1 && parallel.contains(current->op))
      setParallel(loop);
  }

  void emitReductionLoops(ArrayRef<unsigned> order,
                          llvm::function_ref<void()> body) {
    if (order.empty())
      return body();
    forLoop(constant(0), constant(current->sizes[order.front()]), 1,
            [&](Value index) {
              dims[order.front()] = index;
              emitReductionLoops(order.drop_front(), body);
            });
  }

  ScalarBody getBody() { return {builder, current->op, dims, &rows}; }

  void emitScalarBody() {
    ScalarBody body = getBody();
    body.store(body.evaluate());
  }

  /// A reduction in order, with the results in registers.
  void emitOrderedReduction() {
    SmallVector<Value> initial;
    for (OpOperand &init : current->op.getDpsInitsMutable())
      initial.push_back(getBody().load(init));
    getBody().store(emitAccumulation(current->reductionDims, initial,
                                     [&](ValueRange accumulators) {
                                       return getBody().evaluate(accumulators);
                                     }));
  }

  /// Emits loops over reduction dimensions that carry accumulators; `body`
  /// returns the next ones.
  SmallVector<Value>
  emitAccumulation(ArrayRef<unsigned> order, ValueRange accumulators,
                   llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
    if (order.empty())
      return body(accumulators);
    auto loop = scf::ForOp::create(builder, loc, constant(0),
                                   constant(current->sizes[order.front()]),
                                   constant(1), accumulators);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    dims[order.front()] = loop.getInductionVar();
    SmallVector<Value> next =
        emitAccumulation(order.drop_front(), loop.getRegionIterArgs(), body);
    scf::YieldOp::create(builder, loc, next);
    return SmallVector<Value>(loop.getResults());
  }

  /// A reduction in order of a short row, with the results in vector registers:
  /// loading what the iteration before has stored takes longer than the
  /// operation.
  void emitRowReduction(unsigned row) {
    OpOperand &init = *current->op.getDpsInitOperand(0);
    int64_t size = current->sizes[row];
    int64_t lanes =
        std::min<int64_t>(kReductionLanes, llvm::PowerOf2Ceil(size));
    auto type = VectorType::get(
        lanes, cast<MemRefType>(init.get().getType()).getElementType());
    auto forBlocks = [&](llvm::function_ref<void(unsigned, int64_t)> body) {
      for (int64_t begin = 0; begin < size; begin += lanes) {
        dims[row] = constant(begin);
        body(begin / lanes, std::min(lanes, size - begin));
      }
    };
    SmallVector<Value> initial;
    forBlocks([&](unsigned, int64_t active) {
      initial.push_back(loadVector(init, type, active));
    });
    SmallVector<Value> results = emitAccumulation(
        current->reductionDims, initial, [&](ValueRange accumulators) {
          SmallVector<Value> next;
          forBlocks([&](unsigned block, int64_t active) {
            next.push_back(
                evaluateVectors(accumulators[block], row, active, lanes));
          });
          return next;
        });
    forBlocks([&](unsigned block, int64_t active) {
      SmallVector<Value> indices = getBody().getIndices(init);
      if (active == lanes)
        vector::StoreOp::create(builder, loc, results[block], init.get(),
                                indices);
      else
        vector::MaskedStoreOp::create(builder, loc, init.get(), indices,
                                      getMask(active, lanes), results[block]);
    });
  }

  /// Of the first `active` lanes.
  Value getMask(int64_t active, int64_t lanes) {
    return vector::ConstantMaskOp::create(
        builder, loc, VectorType::get(lanes, builder.getI1Type()),
        ArrayRef<int64_t>{active});
  }

  /// The iteration's element of an operand and those behind it, of which the
  /// first `active` ones are in range; the others are zero.
  Value loadVector(OpOperand &operand, VectorType type, int64_t active) {
    SmallVector<Value> indices = getBody().getIndices(operand);
    int64_t lanes = type.getNumElements();
    if (active == lanes)
      return vector::LoadOp::create(builder, loc, type, operand.get(), indices);
    Value zeros =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    return vector::MaskedLoadOp::create(builder, loc, type, operand.get(),
                                        indices, getMask(active, lanes), zeros);
  }

  void emitLaneReduction() {
    linalg::GenericOp op = current->op;
    Combiner combiner = *matchCombiner(op);
    Value neutral = arith::ConstantOp::create(builder, loc, combiner.neutral);
    Value lanes =
        emitLaneLoops(current->reductionDims,
                      broadcast(builder, loc, neutral, kReductionLanes));
    Value total = combineLanes(builder, loc, combiner, lanes);
    OpOperand &init = *op.getDpsInitOperand(0);
    getBody().store(
        combiner.combine(builder, loc, getBody().load(init), total));
  }

  Value emitLaneLoops(ArrayRef<unsigned> order, Value accumulator) {
    unsigned dim = order.front();
    int64_t size = current->sizes[dim];
    bool isInnermost = order.size() == 1;
    int64_t step = isInnermost ? kReductionLanes : 1, full = size / step * step;
    auto loop = scf::ForOp::create(builder, loc, constant(0), constant(full),
                                   constant(step), accumulator);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      dims[dim] = loop.getInductionVar();
      Value next =
          isInnermost
              ? evaluateVectors(loop.getRegionIterArg(0), dim, kReductionLanes,
                                kReductionLanes)
              : emitLaneLoops(order.drop_front(), loop.getRegionIterArg(0));
      scf::YieldOp::create(builder, loc, next);
    }
    Value result = loop.getResult(0);
    if (full < size) {
      dims[dim] = constant(full);
      Value last = evaluateVectors(result, dim, size - full, kReductionLanes);
      result = arith::SelectOp::create(
          builder, loc, getMask(size - full, kReductionLanes), last, result);
    }
    return result;
  }

  /// The body on vectors of `lanes` elements along `dim`, of which the first
  /// `active` ones are in range.
  Value evaluateVectors(Value accumulator, unsigned dim, int64_t active,
                        int64_t lanes) {
    linalg::GenericOp op = current->op;
    SmallVector<Value> arguments;
    for (OpOperand *input : op.getDpsInputOperands()) {
      if (!op.payloadUsesValueFromOperand(input)) {
        arguments.push_back(Value());
        continue;
      }
      if (!isa<MemRefType>(input->get().getType()) ||
          !op.getMatchingIndexingMap(input).isFunctionOfDim(dim)) {
        arguments.push_back(
            broadcast(builder, loc, getBody().load(*input), lanes));
        continue;
      }
      auto type = VectorType::get(
          lanes, cast<MemRefType>(input->get().getType()).getElementType());
      arguments.push_back(loadVector(*input, type, active));
    }
    arguments.push_back(accumulator);
    return evaluateBody(builder, op, arguments, lanes, dims, dim).front();
  }

  OpBuilder &builder;
  Location loc;
  LoopGroup &group;
  SmallVector<TileRange> ranges;
  ScalarBody::Rows rows;
  /// Operations with independent iterations.
  llvm::SmallPtrSet<Operation *, 4> parallel;
  SmallVector<Value> outer;
  LoopStage *current = nullptr;
  SmallVector<Value>
      dims; ///< Values of the current stage's dimensions whose loops are open.
};
} // namespace

void lockstep::emitLoops(OpBuilder &builder, LoopGroup &group, Value tile,
                         ArrayRef<Split> splits) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(group.stages.back().op);
  for (LoopStage &stage : group.stages)
    formMultiplyAdds(stage.op);
  LoopEmitter(builder, group).emit(tile, splits);
  for (LoopStage &stage : group.stages)
    stage.op.erase();
}
