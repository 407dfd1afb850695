//===- LoopGroup.h - Operations that share their outer loops ----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_LOOPGROUP_H
#define LOCKSTEP_PASSES_CODEGEN_LOOPGROUP_H

#include "passes/Codegen/Aliases.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep {

/// One operation of a group, and the order of its loops: first those of the
/// group, then its own.
struct LoopStage {
  mlir::linalg::GenericOp op;
  llvm::SmallVector<unsigned>
      parallelDims; ///< In the order of the result's indices.
  llvm::SmallVector<unsigned>
      reductionDims; ///< In the order of the largest input's indices.
  llvm::SmallVector<int64_t> sizes;
};

/// Operations that follow each other and agree on `depth` outer parallel loops:
/// an iteration touches no element that another iteration writes. So they run
/// in one nest, row by row, and its iterations may be divided among tiles.
struct LoopGroup {
  llvm::SmallVector<LoopStage> stages;
  unsigned depth = 0;
  /// The stages have one parallel loop each, of the same size, which may be
  /// divided among tiles.
  bool canSplitOwnLoop = false;

  llvm::SmallVector<int64_t> getOuterSizes() const;
  /// Arithmetic operations and bytes of all stages together, whichever is more.
  int64_t getWork() const;
};

/// The stage of an operation; none if its results are not indexed by distinct
/// dimensions.
std::optional<LoopStage> makeStage(mlir::linalg::GenericOp op);

/// Partial results of a reduction along contiguous memory: the same for all
/// targets, so that they agree.
inline constexpr int64_t kReductionLanes = 32;

/// True for a reduction with all inputs contiguous along its innermost
/// dimension, or independent of it, which is worth vectors.
bool reducesContiguously(const LoopStage &stage);

/// True for another reduction with an input that is contiguous along the
/// result's last dimension: whole rows are added to the result.
bool runsAlongRows(const LoopStage &stage);

/// Divides the generics of the block into groups, in order. `isTransparent`
/// tells what may stand between members of a group.
llvm::SmallVector<LoopGroup>
groupStages(mlir::Block &block, const Aliases &aliases,
            llvm::function_ref<bool(mlir::Operation *)> isTransparent);

/// Buffers that only this group uses become one row of themselves: each
/// iteration of the outer loops has its own. Returns those, with the number of
/// the index that becomes zero for each outer loop.
llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>>
findRowBuffers(const LoopGroup &group);

} // namespace lockstep

#endif
