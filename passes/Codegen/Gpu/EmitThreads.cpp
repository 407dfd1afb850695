//===- EmitThreads.cpp - Code of the threads of a phase -------------------===//

#include "passes/Codegen/Gpu/EmitThreads.h"

#include "passes/Codegen/Combiner.h"
#include "passes/Codegen/Gpu/OperationEmitter.h"
#include "passes/Codegen/Gpu/RegisterRow.h"
#include "passes/Codegen/Gpu/VectorAccess.h"
#include "passes/Codegen/PlainLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace lockstep;
using namespace mlir;

namespace {
class ThreadEmitter : OperationEmitter {
public:
  using OperationEmitter::OperationEmitter;

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
                         phase.registers, vectors.has_value());
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
                      const llvm::SmallDenseSet<Value> &registers,
                      bool areVectors) {
    linalg::GenericOp op = stage.op;
    loc = op.getLoc();
    SmallVector<OpenLoops> loops =
        llvm::map_to_vector(iterations, [&](ArrayRef<Value> indices) {
          return OpenLoops(builder, op, dims, indices);
        });
    SmallVector<SmallVector<Value>> results;
    if (areVectors) {
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
    SmallVector<unsigned> inner = getInnerDims(first, outer.size());
    bool hasVectors =
        vectors && !inner.empty() &&
        llvm::all_of(stages, [&](const LoopStage &stage) {
          return mayHaveVectors(stage, outer.size(), vectors->getLength()) &&
                 vectors->isFor(stage);
        });
    if (!first.reductionDims.empty()) {
      if (hasVectors)
        return emitVectorReduction(first, inner.back(), outer);
      return emitShared(first.op,
                        ArrayRef(first.parallelDims).take_front(outer.size()),
                        outer);
    }
    SmallVector<OpFoldResult> sizes =
        llvm::map_to_vector(inner, [&](unsigned dim) -> OpFoldResult {
          return builder.getIndexAttr(first.sizes[dim]);
        });
    auto emit = [&](Iterations iterations, bool areVectors) {
      SmallVector<ScalarBody::Elements> computed(iterations.size());
      for (const LoopStage &stage : stages) {
        emitIterations(stage, getDims(stage, outer.size()),
                       within(outer, iterations), computed, registers,
                       areVectors);
      }
    };
    if (hasVectors)
      shareVectors(sizes, {},
                   [&](Iterations iterations, ValueRange,
                       bool areVectors) -> SmallVector<Value> {
                     emit(iterations, areVectors);
                     return {};
                   });
    else
      share(thread, threads, sizes, {},
            [&](Iterations iterations, ValueRange) -> SmallVector<Value> {
              emit(iterations, false);
              return {};
            });
  }

  /// `share` for the threads of a block, each of which executes neighboring
  /// iterations of the last loop at once. The rest of a single loop, behind the
  /// last multiple of their number, is executed one by one.
  SmallVector<Value> shareVectors(
      ArrayRef<OpFoldResult> sizes, ValueRange carried,
      llvm::function_ref<SmallVector<Value>(Iterations, ValueRange, bool)>
          body) {
    constexpr int64_t mostElements = 16;
    int64_t length = vectors->getLength(),
            size = *getConstantIntValue(sizes.back()), rest = size % length;
    SmallVector<OpFoldResult> numbers(sizes);
    numbers.back() = builder.getIndexAttr(size / length);
    SmallVector<Value> values = share(
        thread, threads, numbers, carried,
        [&](Iterations iterations, ValueRange inner) {
          return body(expandVectors(iterations, length), inner, true);
        },
        std::max<int64_t>(mostElements / length, 1));
    if (rest == 0)
      return values;
    return loop(thread, constant(rest), constant(threads), values,
                [&](Value number, ValueRange inner) {
                  Value index = arith::AddIOp::create(builder, loc, number,
                                                      constant(size - rest));
                  return body({{index}}, inner, false);
                })
        .getResults();
  }

  /// A block reduces along the dimension `dim` of a stage: `emitBlockReduction`
  /// of neighboring elements.
  void emitVectorReduction(const LoopStage &stage, unsigned dim,
                           ArrayRef<Value> outer) {
    linalg::GenericOp op = stage.op;
    loc = op.getLoc();
    OpenLoops loops(builder, op, stage.parallelDims, outer);
    Combiner combiner = *matchCombiner(op);
    Value neutral = arith::ConstantOp::create(builder, loc, combiner.neutral);
    Value own =
        shareVectors(
            {builder.getIndexAttr(stage.sizes[dim])}, neutral,
            [&](Iterations iterations, ValueRange carried,
                bool areVectors) -> SmallVector<Value> {
              SmallVector<OpenLoops> all(iterations.size(), loops);
              for (auto [own, indices] : llvm::zip_equal(all, iterations))
                own.dims[dim] = indices.front();
              std::vector<ScalarBody::Elements> none(all.size());
              std::vector<ScalarBody> bodies = getBodies(op, all, none);
              if (areVectors)
                vectors->load(stage, bodies, none.front());
              SmallVector<Value> values(carried);
              for (ScalarBody &body : bodies)
                values = body.evaluate(values);
              return values;
            })
            .front();
    storeReduction(op, loops, combiner, own);
  }

  /// The outer loops of an element-wise stage, and those within them.
  static SmallVector<unsigned> getDims(const LoopStage &stage, unsigned depth) {
    SmallVector<unsigned> dims(ArrayRef(stage.parallelDims).take_front(depth));
    llvm::append_range(dims, getInnerDims(stage, depth));
    return dims;
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
        emitIterations(stage, getDims(stage, phase.depth),
                       within(outer, iterations), computed, phase.registers,
                       vectors.has_value());
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
