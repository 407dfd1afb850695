//===- LoopGroup.h - Operations that share outer loops ----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_LOOPGROUP_H
#define LOCKSTEP_PASSES_CODEGEN_LOOPGROUP_H

#include "passes/Codegen/Aliases.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"

namespace lockstep {

/// One operation of a group, and the order of its loops: first those of the
/// group, then its own.
struct LoopStage {
  mlir::linalg::GenericOp op;
  llvm::SmallVector<unsigned>
      parallelDims; ///< In the order of the result's indices.
  llvm::SmallVector<unsigned>
      reductionDims; ///< In the order of the largest input's indices, if it
                     ///< has all of them.
  llvm::SmallVector<int64_t> sizes;
};

/// Consecutive operations with `depth` common outer parallel loops: an
/// iteration accesses no element that another iteration writes. So they are
/// executed in one loop nest, whose iterations may be divided into tiles.
struct LoopGroup {
  llvm::SmallVector<LoopStage> stages;
  unsigned depth = 0;
  /// How many outer loops could be common: also one that is left to each stage,
  /// for its vectors.
  unsigned independentDepth = 0;
  /// The stages have one parallel loop each, of the same size, which may be
  /// divided among tiles.
  bool canSplitOwnLoop = false;

  llvm::SmallVector<int64_t> getOuterSizes() const;
  /// The cost of all stages, in bytes: the bytes that they access, or their
  /// arithmetic operations in units of eight, whichever is more.
  int64_t getWork() const;
};

/// The stage of an operation; none if its results are not indexed by distinct
/// dimensions.
std::optional<LoopStage> makeStage(mlir::linalg::GenericOp op);

/// The number of partial results of a reduction along contiguous memory: the
/// same for all targets, so that their results are equal.
inline constexpr int64_t kReductionLanes = 32;

/// True for a reduction with all inputs contiguous along its innermost
/// dimension, or independent of it, which is long enough for vectors.
bool reducesContiguously(const LoopStage &stage);

/// True for another reduction with an input that is contiguous along the
/// result's last dimension: whole rows are added to the result.
bool runsAlongRows(const LoopStage &stage);
/// Whether the row along the dimension `row` of such a reduction is so short
/// that it is computed in vector registers.
bool keepsRowInRegisters(const LoopStage &stage, unsigned row);

/// Whether the body of `op` itself may load elements of `buffer`.
bool loadsInBody(mlir::linalg::GenericOp op, mlir::Value buffer,
                 const Aliases &aliases);

/// Whether no iteration of the parallel loops of a stage accesses memory that
/// another one writes, be it results or what the body allocates.
bool hasIndependentIterations(const LoopStage &stage, const Aliases &aliases);

/// Whether neither `next` nor any of `stages` is a reduction, and all have the
/// same loops: an iteration accesses no element that another one writes.
bool sharesAllLoops(llvm::ArrayRef<LoopStage> stages, const LoopStage &next,
                    const Aliases &aliases);

/// Of a generic that shares no loops with operations before it.
inline constexpr llvm::StringLiteral kBeginsGroupAttr = "lockstep.begins_group";

/// Divides the generics of the block into groups, in order, without those for
/// which `isExcluded` holds. Operations for which `isTransparent` holds may be
/// between members of a group.
llvm::SmallVector<LoopGroup> groupStages(
    mlir::Block &block, const Aliases &aliases,
    llvm::function_ref<bool(mlir::Operation *)> isTransparent,
    llvm::function_ref<bool(mlir::Operation *)> isExcluded =
        [](mlir::Operation *) { return false; });

/// Finds buffers that only this group uses, and of which each iteration of the
/// `depth` outer loops needs only one row, so that they can be shrunk to it.
/// Returns them with the positions of the indices that become zero, one for
/// each outer loop.
llvm::MapVector<mlir::Value, llvm::SmallVector<unsigned>>
findRowBuffers(const LoopGroup &group, unsigned depth);
/// The type of such a buffer after it has been shrunk.
mlir::MemRefType getRowType(mlir::MemRefType type,
                            llvm::ArrayRef<unsigned> indices);

} // namespace lockstep

#endif
