//===- OperationEmitter.cpp - Code of one operation in threads ------------===//

#include "passes/Codegen/Gpu/OperationEmitter.h"

#include "passes/Codegen/Gpu/Phases.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace lockstep;
using namespace mlir;

SmallVector<Value> OperationEmitter::evaluate(linalg::GenericOp op,
                                              OpenLoops &loops) {
  if (loops.reduction.empty())
    return getBody(op, loops).evaluate();
  return emitOrderedLoops(op, loops, loops.reduction, loadInits(op, loops));
}

SmallVector<Value> OperationEmitter::loadInits(linalg::GenericOp op,
                                               OpenLoops &loops) {
  SmallVector<Value> initial;
  for (OpOperand &init : op.getDpsInitsMutable())
    initial.push_back(getBody(op, loops).load(init));
  return initial;
}

ScalarBody OperationEmitter::getBody(linalg::GenericOp op,
                                     const OpenLoops &loops) {
  return {builder, op, loops.dims, &rows, &elements};
}

void OperationEmitter::emitSequentially(linalg::GenericOp op, OpenLoops &loops,
                                        ArrayRef<unsigned> dims,
                                        llvm::function_ref<void()> body) {
  if (dims.empty())
    return body();
  unsigned dim = dims.front();
  loop(constant(0), toValue(loops.ranges[dim].size), constant(1), {},
       [&](Value index, ValueRange) -> SmallVector<Value> {
         loops.dims[dim] = index;
         emitSequentially(op, loops, dims.drop_front(), body);
         return {};
       });
}

void OperationEmitter::emitElement(linalg::GenericOp op, OpenLoops &loops) {
  if (loops.reduction.empty() || loops.keepResults(op))
    return getBody(op, loops).store(evaluate(op, loops));
  emitSequentially(op, loops, loops.reduction, [&] {
    ScalarBody body = getBody(op, loops);
    body.store(body.evaluate());
  });
}

SmallVector<Value> OperationEmitter::emitOrderedLoops(linalg::GenericOp op,
                                                      OpenLoops &loops,
                                                      ArrayRef<unsigned> order,
                                                      ValueRange accumulators) {
  if (order.empty())
    return getBody(op, loops).evaluate(accumulators);
  unsigned dim = order.front();
  return loop(constant(0), toValue(loops.ranges[dim].size), constant(1),
              accumulators,
              [&](Value index, ValueRange carried) {
                loops.dims[dim] = index;
                return emitOrderedLoops(op, loops, order.drop_front(), carried);
              })
      .getResults();
}

void OperationEmitter::emitShared(linalg::GenericOp op,
                                  ArrayRef<unsigned> outerDims,
                                  ArrayRef<Value> outer) {
  OpenLoops loops(builder, op, outerDims, outer);
  if (!writesEachElementOnce(op))
    return onlyIf(isFirstThread(), [&] {
      emitSequentially(op, loops, loops.parallel,
                       [&] { emitElement(op, loops); });
    });
  SmallVector<OpFoldResult> results = loops.sizesOf(loops.parallel);
  std::optional<int64_t> numResults = multiply(results);
  std::optional<int64_t> numElements = multiply(loops.sizesOf(loops.reduction));
  if (loops.keepResults(op) && numResults && numElements &&
      *numResults * 4 <= threads && *numElements >= kFewElements)
    if (std::optional<Combiner> combiner = matchCombiner(op))
      return emitSequentially(op, loops, loops.parallel, [&] {
        emitBlockReduction(op, loops, *combiner);
      });
  share(thread, threads, results, {},
        [&](Iterations iterations, ValueRange) -> SmallVector<Value> {
          for (ArrayRef<Value> indices : iterations) {
            for (auto [dim, index] : llvm::zip(loops.parallel, indices))
              loops.dims[dim] = index;
            emitElement(op, loops);
          }
          return {};
        });
}

bool OperationEmitter::writesEachElementOnce(linalg::GenericOp op) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    return llvm::all_of(llvm::enumerate(iterators), [&](auto pair) {
      return pair.value() != utils::IteratorType::parallel ||
             llvm::is_contained(
                 map.getResults(),
                 getAffineDimExpr(pair.index(), op.getContext()));
    });
  });
}

void OperationEmitter::emitBlockReduction(linalg::GenericOp op,
                                          OpenLoops &loops,
                                          const Combiner &combiner) {
  storeReduction(op, loops, combiner,
                 reduceShare(op, loops, combiner, thread, threads));
}

void OperationEmitter::storeReduction(linalg::GenericOp op, OpenLoops &loops,
                                      const Combiner &combiner, Value own) {
  Value total = combineShares(own, combiner, /*width=*/1);
  onlyIf(isFirstThread(), [&] { storeTotal(op, loops, combiner, total); });
  // The next reduction uses the same memory.
  barrier();
}

void OperationEmitter::storeTotal(linalg::GenericOp op, OpenLoops &loops,
                                  const Combiner &combiner, Value total) {
  ScalarBody body = getBody(op, loops);
  body.store(combiner.combine(builder, loc, body.load(*op.getDpsInitOperand(0)),
                              total));
}

Value OperationEmitter::reduceShare(linalg::GenericOp op, OpenLoops &loops,
                                    const Combiner &combiner, Value first,
                                    int64_t count) {
  Value neutral = arith::ConstantOp::create(builder, loc, combiner.neutral);
  Value own =
      share(first, count, loops.sizesOf(loops.reduction), neutral,
            [&](Iterations iterations, ValueRange carried) {
              SmallVector<Value> values(carried);
              for (ArrayRef<Value> indices : iterations) {
                for (auto [dim, index] : llvm::zip(loops.reduction, indices))
                  loops.dims[dim] = index;
                values = getBody(op, loops).evaluate(values);
              }
              return values;
            })
          .front();
  for (unsigned dim : loops.reduction)
    loops.dims[dim] = Value();
  return own;
}

Value OperationEmitter::combineShares(Value own, const Combiner &combiner,
                                      int64_t width) {
  memref::GlobalOp &memory = shared[own.getType()];
  if (!memory)
    memory = createShared(threads, own.getType());
  return combineThreads(own, combiner, width, memory);
}
