//===- BlockDependences.h - What must stay before what ----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_BLOCKDEPENDENCES_H
#define LOCKSTEP_PASSES_ANALYSIS_BLOCKDEPENDENCES_H

#include "mlir/IR/Block.h"

#include <vector>

namespace lockstep {

/// For each operation of a block, by its index in it, those that have to be
/// executed before it: what it or an operation in its regions reads, and what
/// communication orders. All collectives stay before or behind a barrier; with
/// `keepsOrder`, they keep their order. A batch is loaded, and the block ends,
/// after all that is written before.
class BlockDependences {
public:
  BlockDependences(mlir::Block &block, bool keepsOrder);

  /// In the order that the block has had.
  llvm::ArrayRef<mlir::Operation *> getOperations() const { return ops; }
  /// Distinct, all less than `i`.
  llvm::ArrayRef<unsigned> sourcesOf(unsigned i) const { return sources[i]; }
  /// Those that have operation `i` as a source.
  llvm::ArrayRef<unsigned> usersOf(unsigned i) const { return users[i]; }
  /// Whether an operation is, or contains, a start or a barrier.
  bool communicates(unsigned i) const { return isCommunication[i]; }

private:
  std::vector<mlir::Operation *> ops;
  std::vector<std::vector<unsigned>> sources, users;
  std::vector<bool> isCommunication;
};

} // namespace lockstep

#endif
