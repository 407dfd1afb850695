//===- EmitThreads.cpp - Code of the threads of a phase -------------------===//

#include "passes/Codegen/Gpu/EmitThreads.h"

#include "passes/Codegen/Combiner.h"
#include "passes/Codegen/Gpu/OpenLoops.h"
#include "passes/Codegen/Gpu/RegisterRow.h"
#include "passes/Codegen/Gpu/ThreadBuilder.h"
#include "passes/Codegen/Gpu/VectorAccess.h"
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
    if (phase.vectorLength > 1)
      vectors.emplace(builder, group, phase.getVectorDepth(), phase.registers,
                      phase.vectorLength);
    if (phase.rounds > 0) {
      emitRegisterRow(phase, delinearize(block, sizes));
    } else if (phase.kind == Phase::Kind::BlockPerIteration) {
      for (const auto &[buffer, indices] : phase.rows)
        moveToSharedMemory(buffer, indices);
      SmallVector<Value> outer = delinearize(block, sizes);
      ArrayRef<LoopStage> left = group.stages;
      for (size_t length : phase.runs) {
        if (left.size() < group.stages.size())
          barrier();
        emitRun(left.take_front(length), outer, phase.registers);
        left = left.drop_front(length);
      }
    } else if (phase.kind == Phase::Kind::BlockPerColumns) {
      emitColumns(phase, sizes);
    } else {
      auto emit = [&](Value number, ValueRange = {}) -> SmallVector<Value> {
        SmallVector<SmallVector<Value>> iterations =
            delinearizeVectors({number}, sizes, phase.vectorLength);
        SmallVector<ScalarBody::Elements> computed(iterations.size());
        for (const LoopStage &stage : group.stages)
          emitIterations(stage, stage.parallelDims, iterations, computed,
                         phase.registers);
        return {};
      };
      int64_t all = phase.blocks * threads;
      if (all < phase.iterations)
        loop(getNumber(), constant(phase.iterations), constant(all), {}, emit);
      else
        onlyIf(isBelow(getNumber(), constant(phase.iterations)),
               [&] { emit(getNumber()); });
    }
    for (const LoopStage &stage : group.stages)
      linalg::GenericOp(stage.op).erase();
  }

  /// All threads of the only block execute the operations between the generics,
  /// and have the same values. A barrier separates each write from what other
  /// threads have read before, and read afterwards.
  void emitBlock() {
    // It may have many operations, whose code unrolling would make too long.
    unrolls = false;
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
  /// Makes an intermediate buffer a row in the shared memory of the block.
  void moveToSharedMemory(Value buffer, ArrayRef<unsigned> indices) {
    auto type = getRowType(cast<MemRefType>(buffer.getType()), indices);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(buffer);
    Value row = getShared(createShared(type.getShape(), type.getElementType()));
    rows[row] = SmallVector<unsigned>(indices);
    Operation *alloc = buffer.getDefiningOp();
    buffer.replaceAllUsesWith(row);
    alloc->erase();
  }

  /// A thread executes iterations of the parallel loops `dims` of a stage,
  /// which have these indices; `computed` has what it has computed in each of
  /// them. All iterations load before any stores: results that are not in
  /// `registers` are in memory, too.
  void emitIterations(const LoopStage &stage, ArrayRef<unsigned> dims,
                      Iterations iterations,
                      MutableArrayRef<ScalarBody::Elements> computed,
                      const llvm::SmallDenseSet<Value> &registers) {
    linalg::GenericOp op = stage.op;
    loc = op.getLoc();
    SmallVector<OpenLoops> loops =
        llvm::map_to_vector(iterations, [&](ArrayRef<Value> indices) {
          return OpenLoops(builder, op, dims, indices);
        });
    SmallVector<SmallVector<Value>> results;
    if (vectors) {
      std::vector<ScalarBody> bodies = getBodies(op, loops, computed);
      vectors->load(stage, bodies, computed.front());
      for (ScalarBody &body : bodies)
        results.push_back(body.evaluate());
      vectors->store(stage, bodies, results);
    } else {
      for (auto [own, ownLoops] : llvm::zip_equal(computed, loops)) {
        elements = own;
        results.push_back(evaluate(op, ownLoops));
      }
      for (auto [values, ownLoops] : llvm::zip_equal(results, loops))
        storeOthers(op, ownLoops, values, registers);
      elements.clear();
    }
    for (auto [own, values] : llvm::zip_equal(computed, results))
      keep(op, values, own);
  }

  /// The bodies of iterations with these dimensions.
  std::vector<ScalarBody> getBodies(linalg::GenericOp op,
                                    ArrayRef<OpenLoops> loops,
                                    ArrayRef<ScalarBody::Elements> computed) {
    std::vector<ScalarBody> bodies;
    for (auto [own, ownLoops] : llvm::zip_equal(computed, loops))
      bodies.emplace_back(builder, op, ownLoops.dims, &rows, &own);
    return bodies;
  }

  /// Notes what a thread has computed.
  static void keep(linalg::GenericOp op, ValueRange results,
                   ScalarBody::Elements &computed) {
    for (auto [init, result] : llvm::zip_equal(op.getDpsInits(), results))
      computed[init] = result;
  }

  /// Stores results but for those in `registers`.
  void storeOthers(linalg::GenericOp op, const OpenLoops &loops,
                   ValueRange results,
                   const llvm::SmallDenseSet<Value> &registers) {
    for (auto [init, result] :
         llvm::zip_equal(op.getDpsInitsMutable(), results))
      if (!registers.contains(init.get()))
        memref::StoreOp::create(builder, loc, result, init.get(),
                                getBody(op, loops).getIndices(init));
  }

  /// The threads of a block share an iteration of the outer loops: of a
  /// reduction, or of stages whose inner loops are the same.
  void emitRun(ArrayRef<LoopStage> stages, ArrayRef<Value> outer,
               const llvm::SmallDenseSet<Value> &registers) {
    const LoopStage &first = stages.front();
    if (!first.reductionDims.empty())
      return emitShared(first.op,
                        ArrayRef(first.parallelDims).take_front(outer.size()),
                        outer);
    SmallVector<OpFoldResult> sizes = llvm::map_to_vector(
        ArrayRef(first.parallelDims).drop_front(outer.size()),
        [&](unsigned dim) -> OpFoldResult {
          return builder.getIndexAttr(first.sizes[dim]);
        });
    share(thread, threads, sizes, {},
          [&](Iterations inner, ValueRange) -> SmallVector<Value> {
            SmallVector<ScalarBody::Elements> computed(inner.size());
            for (const LoopStage &stage : stages)
              emitIterations(stage, stage.parallelDims, within(outer, inner),
                             computed, registers);
            return {};
          });
  }

  /// Indices of inner loops behind those of the outer ones.
  static SmallVector<SmallVector<Value>> within(ArrayRef<Value> outer,
                                                Iterations inner) {
    SmallVector<SmallVector<Value>> all;
    for (ArrayRef<Value> indices : inner) {
      all.emplace_back(outer);
      llvm::append_range(all.back(), indices);
    }
    return all;
  }

  /// The threads of a block share a row, of which each executes the same
  /// iterations of all stages. All of them compute what the row has once, so
  /// that none waits for another one but in reductions.
  void emitRegisterRow(const Phase &phase, ArrayRef<Value> outer) {
    llvm::DenseMap<Type, std::pair<memref::GlobalOp, memref::GlobalOp>>
        alternating;
    // What the thread has computed, in each of its iterations.
    SmallVector<ScalarBody::Elements> computed(phase.rounds);
    SmallVector<OpFoldResult> sizes =
        getAsIndexOpFoldResult(builder.getContext(), phase.rowSizes);
    SmallVector<Value> numbers;
    for (int64_t round = 0; round < phase.rounds / phase.vectorLength; ++round)
      numbers.push_back(arith::AddIOp::create(builder, loc, thread,
                                              constant(round * threads)));
    SmallVector<SmallVector<Value>> iterations =
        delinearizeVectors(numbers, sizes, phase.vectorLength);
    for (const LoopStage &stage : phase.group->stages) {
      linalg::GenericOp op = stage.op;
      SmallVector<unsigned> inner = getInnerDims(stage, phase.depth);
      if (stage.reductionDims.empty() && !inner.empty()) {
        SmallVector<unsigned> dims(
            ArrayRef(stage.parallelDims).take_front(phase.depth));
        llvm::append_range(dims, inner);
        emitIterations(stage, dims, within(outer, iterations), computed,
                       phase.registers);
        continue;
      }
      loc = op.getLoc();
      OpenLoops loops(builder, op, stage.parallelDims, outer);
      SmallVector<Value> results;
      elements = computed.front();
      if (inner.empty()) {
        results = getBody(op, loops).evaluate();
      } else {
        Combiner combiner = *matchCombiner(op);
        Value sum = arith::ConstantOp::create(builder, loc, combiner.neutral);
        SmallVector<OpenLoops> all(iterations.size(), loops);
        for (auto [own, indices] : llvm::zip_equal(all, iterations))
          for (auto [dim, index] : llvm::zip_equal(inner, indices))
            own.dims[dim] = index;
        std::vector<ScalarBody> bodies = getBodies(op, all, computed);
        if (vectors)
          vectors->load(stage, bodies, computed.front());
        for (ScalarBody &body : bodies)
          sum = body.evaluate(sum).front();
        // The barrier of the next reduction is between this one and that
        // behind it, so that two memories suffice.
        auto &[own, next] = alternating[sum.getType()];
        std::swap(own, next);
        if (!own)
          own = createShared(threads, sum.getType());
        sum = combineThreads(sum, combiner, /*width=*/1, own);
        results = {combiner.combine(
            builder, loc, getBody(op, loops).load(*op.getDpsInitOperand(0)),
            sum)};
      }
      elements.clear();
      onlyIf(isFirstThread(),
             [&] { storeOthers(op, loops, results, phase.registers); });
      for (ScalarBody::Elements &own : computed)
        keep(op, results, own);
    }
  }

  /// The results of one iteration of the parallel loops.
  SmallVector<Value> evaluate(linalg::GenericOp op, OpenLoops &loops) {
    if (loops.reduction.empty())
      return getBody(op, loops).evaluate();
    return emitOrderedLoops(op, loops, loops.reduction, loadInits(op, loops));
  }

  SmallVector<Value> loadInits(linalg::GenericOp op, OpenLoops &loops) {
    SmallVector<Value> initial;
    for (OpOperand &init : op.getDpsInitsMutable())
      initial.push_back(getBody(op, loops).load(init));
    return initial;
  }

  ScalarBody getBody(linalg::GenericOp op, const OpenLoops &loops) {
    return {builder, op, loops.dims, &rows, &elements};
  }

  /// A block computes neighboring reductions: neighboring threads read
  /// neighboring columns of a row, and combine what those of other rows have
  /// added. The threads of the first row do the rest.
  void emitColumns(const Phase &phase, ArrayRef<OpFoldResult> sizes) {
    Value width = constant(kBlockColumns);
    Value column = arith::RemUIOp::create(builder, loc, thread, width),
          row = arith::DivUIOp::create(builder, loc, thread, width);
    Value number = arith::AddIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, block, width),
        column);
    Value isInside = isBelow(number, constant(phase.iterations));
    Value isFirstRow = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, row, constant(0));
    Value stores = arith::AndIOp::create(builder, loc, isInside, isFirstRow);
    // The others compute what the last column needs.
    SmallVector<Value> outer =
        delinearize(arith::MinUIOp::create(builder, loc, number,
                                           constant(phase.iterations - 1)),
                    sizes);
    for (const LoopStage &stage : phase.group->stages) {
      linalg::GenericOp op = stage.op;
      OpenLoops loops(builder, op, stage.parallelDims, outer);
      if (loops.reduction.empty()) {
        onlyIf(stores, [&] { emitElement(op, loops); });
      } else {
        Combiner combiner = *matchCombiner(op);
        Value own =
            reduceShare(op, loops, combiner, row, threads / kBlockColumns);
        Value total = combineShares(own, combiner, kBlockColumns);
        onlyIf(stores, [&] { storeTotal(op, loops, combiner, total); });
      }
      // Others may read it, or use the same memory for their sums.
      barrier();
    }
  }

  /// Loops over these dimensions, in order.
  void emitSequentially(linalg::GenericOp op, OpenLoops &loops,
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

  /// One thread computes and stores the results of one iteration of the
  /// parallel loops.
  void emitElement(linalg::GenericOp op, OpenLoops &loops) {
    if (loops.reduction.empty() || loops.keepResults(op))
      return getBody(op, loops).store(evaluate(op, loops));
    emitSequentially(op, loops, loops.reduction, [&] {
      ScalarBody body = getBody(op, loops);
      body.store(body.evaluate());
    });
  }

  SmallVector<Value> emitOrderedLoops(linalg::GenericOp op, OpenLoops &loops,
                                      ArrayRef<unsigned> order,
                                      ValueRange accumulators) {
    if (order.empty())
      return getBody(op, loops).evaluate(accumulators);
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

  /// The threads of a block share an iteration of the outer loops.
  void emitShared(linalg::GenericOp op, ArrayRef<unsigned> outerDims,
                  ArrayRef<Value> outer) {
    OpenLoops loops(builder, op, outerDims, outer);
    if (!writesEachElementOnce(op))
      return onlyIf(isFirstThread(), [&] {
        emitSequentially(op, loops, loops.parallel,
                         [&] { emitElement(op, loops); });
      });
    SmallVector<OpFoldResult> results = loops.sizesOf(loops.parallel);
    std::optional<int64_t> numResults = multiply(results);
    std::optional<int64_t> numElements =
        multiply(loops.sizesOf(loops.reduction));
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
  /// results of the threads are combined in a tree.
  void emitBlockReduction(linalg::GenericOp op, OpenLoops &loops,
                          const Combiner &combiner) {
    Value own = reduceShare(op, loops, combiner, thread, threads);
    Value total = combineShares(own, combiner, /*width=*/1);
    onlyIf(isFirstThread(), [&] { storeTotal(op, loops, combiner, total); });
    // The next reduction uses the same memory.
    barrier();
  }

  /// Combines what the result has with the total of a reduction.
  void storeTotal(linalg::GenericOp op, OpenLoops &loops,
                  const Combiner &combiner, Value total) {
    ScalarBody body = getBody(op, loops);
    body.store(combiner.combine(builder, loc,
                                body.load(*op.getDpsInitOperand(0)), total));
  }

  /// What a thread reduces: every `count`-th element, from `first` on.
  Value reduceShare(linalg::GenericOp op, OpenLoops &loops,
                    const Combiner &combiner, Value first, int64_t count) {
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

  /// `combineThreads` in the memory that all reductions but those of register
  /// rows use.
  Value combineShares(Value own, const Combiner &combiner, int64_t width) {
    memref::GlobalOp &memory = shared[own.getType()];
    if (!memory)
      memory = createShared(threads, own.getType());
    return combineThreads(own, combiner, width, memory);
  }

  /// Of each type, an element for each thread.
  llvm::DenseMap<Type, memref::GlobalOp> shared;
  /// Buffers that are rows in shared memory.
  ScalarBody::Rows rows;
  /// What the thread has computed, of each buffer, in its only iteration.
  ScalarBody::Elements elements;
  /// Accesses of neighboring iterations, if a thread executes such ones.
  std::optional<VectorAccess> vectors;
};
} // namespace

void lockstep::emitThreads(func::FuncOp function, const Phase &phase) {
  ThreadEmitter emitter(function, phase.threads);
  if (phase.group)
    emitter.emitGroup(phase);
  else
    emitter.emitBlock();
}
