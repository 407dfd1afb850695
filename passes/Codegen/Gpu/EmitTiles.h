//===- EmitTiles.h - Products by tiles in shared memory ---------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_EMITTILES_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_EMITTILES_H

#include "passes/Codegen/ProductGroup.h"

namespace lockstep {

/// How the threads of a GPU share a product. A block computes a tile of the
/// result, `rows` x `columns`, from slices of the factors that are `depth` deep
/// and in shared memory; a thread computes `threadRows` x `threadColumns` of
/// its elements in registers.
struct ProductTiles {
  int64_t rows = 0, columns = 0, depth = 0;
  int64_t threadRows = 0, threadColumns = 0;
  /// The number of blocks: tiles of all points of the outer dimensions.
  int64_t blocks = 0;
  bool onTensorCores = false;

  int64_t getThreads() const {
    return rows / threadRows * (columns / threadColumns);
  }
};

/// The tiles of a product; none if it is so small that a thread for each result
/// is as good. If `tf32`, factors of 32 bits may be rounded to that format.
std::optional<ProductTiles> chooseProductTiles(const Product &product,
                                               bool tf32);

/// Emits the code of one thread before the last operation of the group, and
/// erases its operations.
void emitTiles(mlir::func::FuncOp function, ProductGroup &group,
               const ProductTiles &tiles);

} // namespace lockstep

#endif
