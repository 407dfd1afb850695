//===- Grid.h - Tiles of a kernel -------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GRID_H
#define LOCKSTEP_PASSES_CODEGEN_GRID_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lockstep {

/// Part of a dimension that one tile computes.
struct TileRange {
  mlir::Value begin, end;
  int64_t size = 0;    ///< Extent of the whole dimension.
  bool isWhole = true; ///< `begin` and `end` are 0 and `size`.
};

/// Number of tiles along one dimension.
struct Split {
  unsigned dim = 0;
  int64_t count = 1;
};

/// The ranges of a tile. The tile number varies fastest along the last split.
/// The size of every part of a split, except the last, is rounded up to a
/// multiple of the corresponding element of `multiples`.
llvm::SmallVector<TileRange> getTileRanges(mlir::OpBuilder &builder,
                                           mlir::Location loc, mlir::Value tile,
                                           llvm::ArrayRef<int64_t> sizes,
                                           llvm::ArrayRef<Split> splits,
                                           llvm::ArrayRef<int64_t> multiples);

/// Number of tiles of all splits together.
int64_t getNumTiles(llvm::ArrayRef<Split> splits);

} // namespace lockstep

#endif
