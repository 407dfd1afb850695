//===- OperationEmitter.h - Code of one operation in threads ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_OPERATIONEMITTER_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_OPERATIONEMITTER_H

#include "passes/Codegen/Gpu/OpenLoops.h"
#include "passes/Codegen/Gpu/ThreadBuilder.h"
#include "passes/Codegen/ScalarBody.h"

namespace lockstep {

/// Emits single operations: by one thread, or shared by the threads of a block.
class OperationEmitter : public ThreadBuilder {
public:
  using ThreadBuilder::ThreadBuilder;

  /// The results of one iteration of the parallel loops.
  llvm::SmallVector<mlir::Value> evaluate(mlir::linalg::GenericOp op,
                                          OpenLoops &loops);

  /// What the results have before a reduction.
  llvm::SmallVector<mlir::Value> loadInits(mlir::linalg::GenericOp op,
                                           OpenLoops &loops);

  /// The body of the iteration that is open.
  ScalarBody getBody(mlir::linalg::GenericOp op, const OpenLoops &loops);

  /// Loops over these dimensions, in order.
  void emitSequentially(mlir::linalg::GenericOp op, OpenLoops &loops,
                        llvm::ArrayRef<unsigned> dims,
                        llvm::function_ref<void()> body);

  /// One thread computes and stores the results of one iteration of the
  /// parallel loops.
  void emitElement(mlir::linalg::GenericOp op, OpenLoops &loops);

  /// A thread reduces along these dimensions, in order, from `accumulators` on.
  llvm::SmallVector<mlir::Value>
  emitOrderedLoops(mlir::linalg::GenericOp op, OpenLoops &loops,
                   llvm::ArrayRef<unsigned> order,
                   mlir::ValueRange accumulators);

  /// The threads of a block share an iteration of the outer loops.
  void emitShared(mlir::linalg::GenericOp op,
                  llvm::ArrayRef<unsigned> outerDims,
                  llvm::ArrayRef<mlir::Value> outer);

  /// Whether different iterations of the parallel loops write different
  /// elements, so that threads can share them.
  static bool writesEachElementOnce(mlir::linalg::GenericOp op);

  /// Thread i reduces the elements i, i + threads, ... in order. Then the
  /// results of the threads are combined in a tree.
  void emitBlockReduction(mlir::linalg::GenericOp op, OpenLoops &loops,
                          const Combiner &combiner);

  /// Combines what the threads of the block have reduced.
  void storeReduction(mlir::linalg::GenericOp op, OpenLoops &loops,
                      const Combiner &combiner, mlir::Value own);

  /// Combines what the result has with the total of a reduction.
  void storeTotal(mlir::linalg::GenericOp op, OpenLoops &loops,
                  const Combiner &combiner, mlir::Value total);

  /// What a thread reduces: every `count`-th element, from `first` on.
  mlir::Value reduceShare(mlir::linalg::GenericOp op, OpenLoops &loops,
                          const Combiner &combiner, mlir::Value first,
                          int64_t count);

  /// `combineThreads` in the memory that all reductions but those of register
  /// rows use.
  mlir::Value combineShares(mlir::Value own, const Combiner &combiner,
                            int64_t width);

  /// Of each type, an element for each thread.
  llvm::DenseMap<mlir::Type, mlir::memref::GlobalOp> shared;
  /// Buffers that are rows in shared memory.
  ScalarBody::Rows rows;
  /// What the thread has computed, of each buffer, in its only iteration.
  ScalarBody::Elements elements;
};

} // namespace lockstep

#endif
