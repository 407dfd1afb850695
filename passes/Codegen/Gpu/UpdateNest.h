//===- UpdateNest.h - Loops that update elements of buffers -----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_UPDATENEST_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_UPDATENEST_H

#include "passes/Codegen/Aliases.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lockstep {

/// A nest of loops that loads and stores single elements, such as a scatter or
/// a cumulative sum. Each element of the buffers that it writes belongs to one
/// thread of a grid, which executes all accesses to it, in order: results are
/// those of a single thread.
struct UpdateNest {
  mlir::scf::ForOp root;
  /// Loops, from the outermost one on, of which a thread executes one
  /// iteration: all accesses to what the nest writes have the variable of the
  /// loop as one of their indices.
  llvm::SmallVector<mlir::scf::ForOp> distributed;
  /// Another index that all these accesses have, such as one that is loaded, or
  /// null. A thread executes those where its remainder by the number of parts
  /// is the number of the thread's part.
  mlir::Value owner;
  int64_t parts = 1;
  /// The first and the last one of the operations, in the block where `owner`
  /// is defined, that access what the nest writes.
  mlir::Operation *firstOwned = nullptr, *lastOwned = nullptr;

  /// The numbers of parts, and of iterations of the distributed loops.
  llvm::SmallVector<int64_t> getSizes() const;
  /// Their product.
  int64_t getThreads() const;
};

/// Matches a loop whose accesses can be distributed among threads.
std::optional<UpdateNest> matchUpdateNest(mlir::Operation &op,
                                          const Aliases &aliases);

} // namespace lockstep

#endif
