//===- EmitTiles.cpp - Products by tiles in shared memory -----------------===//

#include "passes/Codegen/Gpu/EmitTiles.h"

#include "passes/Codegen/Gpu/TileEmitter.h"
#include "passes/Codegen/Targets.h"

#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

namespace {
/// A shape of tiles, and its relative speed on a multiprocessor that has one
/// block. Large tiles read memory less often, and take fewer instructions for
/// an element.
struct TileShape {
  ProductTiles tiles;
  double speed;
};
} // namespace

static constexpr TileShape kThreadShapes[] = {{{128, 128, 8, 8, 8}, 1.0},
                                              {{128, 64, 8, 8, 8}, 0.9},
                                              {{64, 64, 16, 8, 4}, 0.65},
                                              {{32, 32, 16, 4, 4}, 0.35},
                                              {{16, 16, 16, 1, 1}, 0.1}};
static constexpr TileShape kMatrixShapes[] = {{{128, 128, 16, 8, 8}, 1.0},
                                              {{64, 64, 16, 4, 8}, 0.6},
                                              {{32, 32, 16, 4, 4}, 0.25}};

/// Whether the tensor cores multiply the factors: those of 16 bits, of which
/// they lose nothing, and of 32 bits if these may be rounded.
static bool usesTensorCores(const Product &product, bool tf32) {
  Type left = getElementTypeOrSelf(product.lhs->get());
  return product.getElementType().isF32() &&
         left == getElementTypeOrSelf(product.rhs->get()) &&
         (left.isF16() || left.isBF16() || (left.isF32() && tf32));
}

std::optional<ProductTiles> lockstep::chooseProductTiles(const Product &product,
                                                         bool tf32) {
  int64_t rows = product.getPanelRows(), columns = product.getNumColumns();
  int64_t outer = multiplySizes(product.sizes, product.outerDims);
  if (rows < 16 || columns < 16 ||
      multiplySizes(product.sizes, product.kDims) < 8)
    return std::nullopt;
  bool onTensorCores = usesTensorCores(product, tf32);
  std::optional<ProductTiles> best;
  double shortest = 0;
  for (const TileShape &shape :
       onTensorCores ? ArrayRef(kMatrixShapes) : ArrayRef(kThreadShapes)) {
    ProductTiles tiles = shape.tiles;
    // There are not so many registers.
    if (tiles.threadRows * tiles.threadColumns > 32 &&
        product.getElementType().isF64())
      continue;
    tiles.onTensorCores = onTensorCores;
    tiles.blocks = outer * llvm::divideCeil(rows, tiles.rows) *
                   llvm::divideCeil(columns, tiles.columns);
    double time = llvm::divideCeil(tiles.blocks, kMultiprocessors) *
                  tiles.rows * tiles.columns / shape.speed;
    if (!best || time < shortest) {
      best = tiles;
      shortest = time;
    }
  }
  return best;
}

void lockstep::emitTiles(func::FuncOp function, ProductGroup &group,
                         const ProductTiles &tiles) {
  if (tiles.onTensorCores)
    emitMatrixTiles(function, group, tiles);
  else
    emitThreadTiles(function, group, tiles);
  eraseProductGroup(group);
}
