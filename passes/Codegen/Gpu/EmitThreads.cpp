//===- EmitThreads.cpp - Code of the threads of a phase -------------------===//

#include "passes/Codegen/Gpu/EmitThreads.h"

#include "passes/Codegen/Combiner.h"
#include "passes/Codegen/Gpu/ThreadBuilder.h"
#include "passes/Codegen/PlainLoops.h"
#include "passes/Codegen/ScalarBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace lockstep;
using namespace mlir;

namespace {
class ThreadEmitter : ThreadBuilder {
public:
  using ThreadBuilder::ThreadBuilder;

  void emitGroup(const Phase &phase) {
    const LoopGroup &group = *phase.group;
    linalg::GenericOp last = group.stages.back().op;
    builder.setInsertionPoint(last);
    loc = last.getLoc();
    for (const LoopStage &stage : group.stages)
      formMultiplyAdds(stage.op);
    const LoopStage &first = group.stages.front();
    SmallVector<OpFoldResult> sizes;
    for (unsigned dim : ArrayRef(first.parallelDims).take_front(phase.depth))
      sizes.push_back(builder.getIndexAttr(first.sizes[dim]));
    if (phase.kind == Phase::Kind::BlockPerIteration) {
      SmallVector<Value> outer = delinearize(block, sizes);
      for (auto [i, stage] : llvm::enumerate(group.stages)) {
        if (i > 0)
          barrier();
        emitShared(stage.op,
                   ArrayRef(stage.parallelDims).take_front(phase.depth), outer);
      }
    } else {
      Value number = getNumber();
      onlyIf(isBelow(number, constant(phase.iterations)), [&] {
        SmallVector<Value> outer = delinearize(number, sizes);
        for (const LoopStage &stage : group.stages)
          emitIteration(stage.op, stage.parallelDims, outer);
      });
    }
    for (const LoopStage &stage : group.stages)
      linalg::GenericOp(stage.op).erase();
  }

  /// A thread executes one iteration of the distributed loops, and of the
  /// others what belongs to its part.
  void emitUpdates(const Phase &phase) {
    UpdateNest nest = *phase.updates;
    builder.setInsertionPoint(nest.root);
    loc = nest.root.getLoc();
    Value number = getNumber();
    onlyIf(isBelow(number, constant(phase.iterations)), [&] {
      SmallVector<OpFoldResult> sizes;
      for (int64_t size : nest.getSizes())
        sizes.push_back(builder.getIndexAttr(size));
      SmallVector<Value> own = delinearize(number, sizes);
      nest.root->moveBefore(builder.getInsertionBlock()->getTerminator());
      if (nest.owner)
        guardUpdates(nest, own.front());
      for (auto [loop, index] :
           llvm::zip_equal(nest.distributed, ArrayRef(own).drop_front()))
        replaceByIteration(loop, index);
    });
  }

  /// All threads of the only block execute the operations between the generics,
  /// and have the same values. A barrier separates each write from what other
  /// threads have read before, and read afterwards.
  void emitBlock() {
    SmallVector<Operation *> writers;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<linalg::GenericOp>(op)) {
        writers.push_back(op);
        return WalkResult::skip();
      }
      if (isa<memref::StoreOp>(op))
        writers.push_back(op);
      return WalkResult::advance();
    });
    for (Operation *op : writers) {
      builder.setInsertionPointAfter(op);
      loc = op->getLoc();
      barrier();
      if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
        formMultiplyAdds(generic);
        emitShared(generic, {}, {});
        op->erase();
      } else {
        onlyIf(isFirstThread(),
               [&] { op->moveBefore(&*builder.getInsertionPoint()); });
      }
      barrier();
    }
  }

private:
  /// The number of the thread in the grid.
  Value getNumber() {
    return arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, block, constant(threads)), thread);
  }

  /// Leaves out the accesses that belong to other parts.
  void guardUpdates(const UpdateNest &nest, Value part) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(nest.firstOwned);
    Value isOwn = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq,
        arith::RemUIOp::create(builder, loc, nest.owner, constant(nest.parts)),
        part);
    auto branch = scf::IfOp::create(builder, loc, isOwn);
    Block &body = *branch.thenBlock(), &outer = *branch->getBlock();
    body.getOperations().splice(body.begin(), outer.getOperations(),
                                nest.firstOwned->getIterator(),
                                std::next(nest.lastOwned->getIterator()));
  }

  /// Replaces a loop by its iteration of this number.
  void replaceByIteration(scf::ForOp loop, Value number) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop);
    Value index = arith::AddIOp::create(
        builder, loc, loop.getLowerBound(),
        arith::MulIOp::create(builder, loc, number, loop.getStep()));
    loop.getInductionVar().replaceAllUsesWith(index);
    Block &body = *loop.getBody();
    loop->getBlock()->getOperations().splice(loop->getIterator(),
                                             body.getOperations(), body.begin(),
                                             std::prev(body.end()));
    loop.erase();
  }

  /// The dimensions of an operation, with the sizes of its loops.
  struct Loops {
    SmallVector<Range> ranges;
    SmallVector<unsigned> parallel, reduction;
    /// The values of the dimensions whose loops are open.
    SmallVector<Value> dims;

    SmallVector<OpFoldResult> sizesOf(ArrayRef<unsigned> which) const {
      return llvm::map_to_vector(
          which, [&](unsigned dim) { return ranges[dim].size; });
    }
  };

  /// The loops of `op` within those of `outerDims`, which have these values.
  Loops getLoops(linalg::GenericOp op, ArrayRef<unsigned> outerDims,
                 ArrayRef<Value> outer) {
    Loops loops;
    loops.ranges = cast<linalg::LinalgOp>(op.getOperation())
                       .createLoopRanges(builder, loc);
    loops.dims.resize(loops.ranges.size());
    for (auto [dim, value] : llvm::zip(outerDims, outer))
      loops.dims[dim] = value;
    for (auto [dim, iterator] : llvm::enumerate(op.getIteratorTypesArray()))
      if (!loops.dims[dim])
        (iterator == utils::IteratorType::parallel ? loops.parallel
                                                   : loops.reduction)
            .push_back(dim);
    return loops;
  }

  /// One thread executes an iteration of the outer loops.
  void emitIteration(linalg::GenericOp op, ArrayRef<unsigned> outerDims,
                     ArrayRef<Value> outer) {
    Loops loops =
        getLoops(op, ArrayRef(outerDims).take_front(outer.size()), outer);
    emitSequentially(op, loops, loops.parallel,
                     [&] { emitElement(op, loops); });
  }

  /// Loops over these dimensions, in order.
  void emitSequentially(linalg::GenericOp op, Loops &loops,
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

  /// One thread computes the results of one iteration of the parallel loops.
  void emitElement(linalg::GenericOp op, Loops &loops) {
    if (!keepsResults(op, loops))
      return emitSequentially(op, loops, loops.reduction, [&] {
        ScalarBody body(builder, op, loops.dims);
        body.store(body.evaluate());
      });
    SmallVector<Value> initial;
    for (OpOperand &init : op.getDpsInitsMutable())
      initial.push_back(ScalarBody(builder, op, loops.dims).load(init));
    SmallVector<Value> results =
        emitOrderedLoops(op, loops, loops.reduction, initial);
    ScalarBody(builder, op, loops.dims).store(results);
  }

  /// Whether all reduction loops have the same elements as results, so that
  /// these can be in registers.
  static bool keepsResults(linalg::GenericOp op, const Loops &loops) {
    return !loops.reduction.empty() &&
           llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
             AffineMap map = op.getMatchingIndexingMap(&init);
             return llvm::none_of(loops.reduction, [&](unsigned dim) {
               return map.isFunctionOfDim(dim);
             });
           });
  }

  SmallVector<Value> emitOrderedLoops(linalg::GenericOp op, Loops &loops,
                                      ArrayRef<unsigned> order,
                                      ValueRange accumulators) {
    if (order.empty())
      return ScalarBody(builder, op, loops.dims).evaluate(accumulators);
    unsigned dim = order.front();
    return loop(constant(0), toValue(loops.ranges[dim].size), constant(1),
                accumulators,
                [&](Value index, ValueRange carried) {
                  loops.dims[dim] = index;
                  return emitOrderedLoops(op, loops, order.drop_front(),
                                          carried);
                })
        .getResults();
  }

  static std::optional<int64_t> multiply(ArrayRef<OpFoldResult> sizes) {
    int64_t product = 1;
    for (OpFoldResult size : sizes) {
      std::optional<int64_t> fixed = getConstantIntValue(size);
      if (!fixed)
        return std::nullopt;
      product *= *fixed;
    }
    return product;
  }

  Value multiplyValues(ArrayRef<OpFoldResult> sizes) {
    if (std::optional<int64_t> fixed = multiply(sizes))
      return constant(*fixed);
    Value product = constant(1);
    for (OpFoldResult size : sizes)
      product = arith::MulIOp::create(builder, loc, product, toValue(size));
    return product;
  }

  /// The threads of a block share an iteration of the outer loops.
  void emitShared(linalg::GenericOp op, ArrayRef<unsigned> outerDims,
                  ArrayRef<Value> outer) {
    Loops loops = getLoops(op, outerDims, outer);
    if (!writesEachElementOnce(op))
      return onlyIf(isFirstThread(), [&] {
        emitSequentially(op, loops, loops.parallel,
                         [&] { emitElement(op, loops); });
      });
    SmallVector<OpFoldResult> results = loops.sizesOf(loops.parallel);
    std::optional<int64_t> numResults = multiply(results);
    std::optional<int64_t> numElements =
        multiply(loops.sizesOf(loops.reduction));
    if (keepsResults(op, loops) && numResults && numElements &&
        *numResults * 4 <= threads && *numElements >= kFewElements)
      if (std::optional<Combiner> combiner = matchCombiner(op))
        return emitSequentially(op, loops, loops.parallel, [&] {
          emitBlockReduction(op, loops, *combiner);
        });
    loop(thread, multiplyValues(results), constant(threads), {},
         [&](Value number, ValueRange) -> SmallVector<Value> {
           for (auto [dim, index] :
                llvm::zip(loops.parallel, delinearize(number, results)))
             loops.dims[dim] = index;
           emitElement(op, loops);
           return {};
         });
  }

  /// Whether different iterations of the parallel loops write different
  /// elements, so that threads can share them.
  static bool writesEachElementOnce(linalg::GenericOp op) {
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

  /// Thread i reduces the elements i, i + threads, ... in order. Then the
  /// results of the threads are combined in a tree, in shared memory.
  void emitBlockReduction(linalg::GenericOp op, Loops &loops,
                          const Combiner &combiner) {
    Value neutral = arith::ConstantOp::create(builder, loc, combiner.neutral);
    SmallVector<OpFoldResult> sizes = loops.sizesOf(loops.reduction);
    Value own =
        loop(thread, multiplyValues(sizes), constant(threads), neutral,
             [&](Value number, ValueRange carried) {
               for (auto [dim, index] :
                    llvm::zip(loops.reduction, delinearize(number, sizes)))
                 loops.dims[dim] = index;
               return ScalarBody(builder, op, loops.dims).evaluate(carried);
             })
            .getResult(0);
    for (unsigned dim : loops.reduction)
      loops.dims[dim] = Value();
    memref::GlobalOp &memory = shared[neutral.getType()];
    if (!memory)
      memory = createShared(threads, neutral.getType());
    Value partial = getShared(memory);
    memref::StoreOp::create(builder, loc, own, partial, thread);
    for (int64_t half = threads / 2; half > 0; half /= 2) {
      barrier();
      onlyIf(isBelow(thread, constant(half)), [&] {
        Value other =
            arith::AddIOp::create(builder, loc, thread, constant(half));
        Value sum = combiner.combine(
            builder, loc, memref::LoadOp::create(builder, loc, partial, thread),
            memref::LoadOp::create(builder, loc, partial, other));
        memref::StoreOp::create(builder, loc, sum, partial, thread);
      });
    }
    // The first thread has stored the total itself.
    onlyIf(isFirstThread(), [&] {
      ScalarBody body(builder, op, loops.dims);
      Value total = memref::LoadOp::create(builder, loc, partial, constant(0));
      body.store(combiner.combine(builder, loc,
                                  body.load(*op.getDpsInitOperand(0)), total));
    });
    // The next reduction uses the same memory.
    barrier();
  }

  /// Of each type, an element for each thread.
  llvm::DenseMap<Type, memref::GlobalOp> shared;
};
} // namespace

void lockstep::emitThreads(func::FuncOp function, const Phase &phase) {
  ThreadEmitter emitter(function, phase.threads);
  if (phase.group)
    emitter.emitGroup(phase);
  else if (phase.updates)
    emitter.emitUpdates(phase);
  else
    emitter.emitBlock();
}
