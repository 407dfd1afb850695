//===- Phases.h - Kernels as sequences of grids -----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_PHASES_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_PHASES_H

#include "passes/Codegen/Codegen.h"
#include "passes/Codegen/Gpu/EmitTiles.h"
#include "passes/Codegen/Gpu/LibraryAttention.h"
#include "passes/Codegen/Gpu/LibraryConvolution.h"
#include "passes/Codegen/Gpu/LibraryProduct.h"
#include "passes/Codegen/Gpu/UpdateNest.h"
#include "passes/Codegen/LoopGroup.h"
#include "passes/Codegen/ScalarBody.h"

#include "mlir/IR/IRMapping.h"

#include <vector>

namespace lockstep {

/// A reduction of fewer elements is left to one thread.
inline constexpr int64_t kFewElements = 64;

/// The most threads of a block, but for those that reduce columns.
inline constexpr int64_t kMaxThreads = 256;

/// The most blocks of a phase that may share a launch: a GPU executes so many
/// at the same time.
inline constexpr int64_t kFewBlocks = kMultiprocessors;

/// The columns of a block in `Phase::Kind::BlockPerColumns`: of f32, they fill
/// the smallest segment of memory that a GPU transfers.
inline constexpr int64_t kBlockColumns = 8;

/// A part of a kernel that a GPU executes as one grid of blocks of threads. The
/// phases of a kernel are launched one after the other: a phase sees all that
/// an earlier one has written.
struct Phase {
  /// How the iterations of the outer loops of a group are distributed.
  enum class Kind {
    /// One thread executes all operations of an iteration.
    ThreadPerIteration,
    /// The threads of one block share the inner loops of an iteration.
    BlockPerIteration,
    /// A block executes `kBlockColumns` neighboring iterations, which add up
    /// rows: its threads share the rows.
    BlockPerColumns,
    /// A thread executes the accesses of a nest of loops to the elements that
    /// belong to it.
    ThreadPerElement,
    /// There is no group: the threads of one block execute everything, and
    /// share the loops of each operation.
    OneBlock,
    /// The threads of a block share a tile of a product.
    Tiles,
    /// A library computes the only operation: there is no code.
    Library
  };
  Kind kind = Kind::OneBlock;
  /// The operations in the entry block of the function.
  llvm::SmallVector<mlir::Operation *> ops;
  /// Their loops, for the first three kinds.
  std::optional<LoopGroup> group;
  /// The nest, for `ThreadPerElement`.
  std::optional<UpdateNest> updates;
  /// The product and its epilogue, for `Tiles`.
  std::optional<ProductGroup> product;
  ProductTiles tiles;
  /// The description of the product for a library that may compute it.
  std::optional<runtime::GpuProduct> libraryProduct;
  /// The same of a convolution.
  std::optional<runtime::GpuConvolution> libraryConvolution;
  /// The description of the operation, for `Library`; none if the library does
  /// not support its operands.
  std::optional<runtime::GpuAttention> libraryAttention;
  /// The number of outer loops that are distributed, and of their iterations.
  unsigned depth = 0;
  int64_t iterations = 1;
  /// For `BlockPerIteration`: the sizes of the inner loops, and how many of
  /// their iterations a thread executes, if it keeps what it computes in
  /// registers (`matchRegisterRow`): then there are no runs, and no rows in
  /// shared memory. 0: it does not.
  llvm::SmallVector<int64_t> rowSizes;
  int64_t rounds = 0;
  /// How many neighboring iterations of the innermost loop a thread executes.
  /// For `ThreadPerIteration`, `iterations` counts all of them as one; for
  /// `BlockPerIteration`, the loop may have some more, if no row is in
  /// registers.
  int64_t vectorLength = 1;
  /// The stages of the group in runs of this length: a thread executes the same
  /// iterations of all stages of a run, one iteration after the other.
  llvm::SmallVector<size_t> runs;
  /// Intermediate buffers of which a thread has elements in registers.
  llvm::SmallDenseSet<mlir::Value> registers;
  /// Others of which a block has a row in shared memory, with the positions of
  /// the indices that become zero.
  ScalarBody::Rows rows;
  int64_t blocks = 1, threads = kMaxThreads;

  /// Chooses a grid of blocks of this number of threads, with a thread for each
  /// iteration.
  void setThreads(int64_t count);

  /// The number of outer loops that are not divided into vectors.
  unsigned getVectorDepth() const {
    return kind == Kind::BlockPerIteration ? depth : depth - 1;
  }

  /// The same phase, of one of the first three kinds, in a copy of the
  /// function; `copies` has what its operations and buffers have become.
  Phase mapTo(const mlir::IRMapping &copies) const;
};

/// Whether an operation is in each phase, which repeats it: it has no effects,
/// reads memory that the kernel does not write, or is an assertion about values
/// from such operations.
bool isInEachPhase(mlir::Operation *op, const Aliases &aliases);

/// Divides a kernel on memory into phases. Operations that belong to none are
/// repeated by each.
std::vector<Phase> splitPhases(mlir::func::FuncOp function,
                               const GpuProductOptions &options);

} // namespace lockstep

#endif
