//===- ThreadBuilder.h - Builds the code of a thread ------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_THREADBUILDER_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_THREADBUILDER_H

#include "passes/Codegen/Combiner.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lockstep {

/// The threads of a block that execute an instruction together.
inline constexpr int64_t kWarp = 32;

/// Builds the code that each thread of a grid executes.
class ThreadBuilder {
public:
  /// `function` is executed by blocks of this number of threads. Reads the
  /// numbers of the thread and of its block at the beginning.
  ThreadBuilder(mlir::func::FuncOp function, int64_t threads);

  mlir::Value constant(int64_t value);
  /// The number of the thread in the grid.
  mlir::Value getNumber();
  /// Unsigned.
  mlir::Value isBelow(mlir::Value a, mlir::Value b);
  mlir::Value isFirstThread();
  mlir::Value toValue(mlir::OpFoldResult size);

  /// Waits for all threads of the block, and makes what they have written
  /// visible to each other.
  void barrier();
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> body);
  /// A loop over [first, end) with this step. `body` gets the index and the
  /// carried values, and returns the next ones.
  mlir::scf::ForOp
  loop(mlir::Value first, mlir::Value end, mlir::Value step,
       mlir::ValueRange carried,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body);

  /// The indices along loops of these sizes of the iteration of this number, of
  /// which the last varies fastest. Divides numbers of 32 bits where they
  /// suffice, which takes a fourth of the instructions.
  llvm::SmallVector<mlir::Value>
  delinearize(mlir::Value number, llvm::ArrayRef<mlir::OpFoldResult> sizes);

  /// The indices of `length` neighboring iterations each, from the numbers that
  /// vectors of so many iterations have.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  delinearizeVectors(llvm::ArrayRef<mlir::Value> numbers,
                     llvm::ArrayRef<mlir::OpFoldResult> sizes, int64_t length);

  /// The indices of iterations of a thread.
  using Iterations = llvm::ArrayRef<llvm::SmallVector<mlir::Value>>;

  /// The indices of `length` neighboring iterations for each of `vectors`,
  /// whose last index counts so many as one.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  expandVectors(Iterations vectors, int64_t length);

  /// The product of sizes; none if one of them is not known.
  static std::optional<int64_t>
  multiply(llvm::ArrayRef<mlir::OpFoldResult> sizes);

  /// Executes every `count`-th iteration of loops of these sizes, from `first`
  /// on. `body` gets up to `mostAtATime` of them, so that it can load what all
  /// of them need before it waits for any, and the carried values, and returns
  /// the next ones. Where sizes are not known, it gets one at a time.
  llvm::SmallVector<mlir::Value>
  share(mlir::Value first, int64_t count,
        llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::ValueRange carried,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(Iterations,
                                                          mlir::ValueRange)>
            body,
        int64_t mostAtATime = 4);

  /// The value of another thread of the warp, whose number differs in the bit
  /// `distance`. All threads of the warp execute it.
  mlir::Value exchange(mlir::Value value, int64_t distance);
  /// Combines the values of threads whose numbers have the same remainder by
  /// `width`, a power of two of at most a warp, in a fixed tree: those of a
  /// warp by exchanges, and their totals through `memory`, which has an element
  /// for each thread. All threads of the block execute it, and have the total.
  /// A barrier has to be before the next use of `memory`.
  mlir::Value combineThreads(mlir::Value value, const Combiner &combiner,
                             int64_t width, mlir::memref::GlobalOp memory);

  /// Memory that the threads of a block share, not initialized.
  mlir::memref::GlobalOp createShared(llvm::ArrayRef<int64_t> shape,
                                      mlir::Type element);
  mlir::Value getShared(mlir::memref::GlobalOp memory);

protected:
  mlir::OpBuilder builder;
  mlir::func::FuncOp function;
  mlir::Location loc;
  int64_t threads;
  /// The number of the thread in its block, and that of the block.
  mlir::Value thread, block;
  /// Whether `share` executes several iterations at a time where it can.
  bool unrolls = true;

private:
  unsigned numShared = 0;
};

} // namespace lockstep

#endif
