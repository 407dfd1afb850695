//===- Product.h - Contractions of two tensors ------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_PRODUCT_H
#define LOCKSTEP_PASSES_CODEGEN_PRODUCT_H

#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace lockstep {

/// `out[rows, column] += lhs[rows, k] * rhs[k, column]` over any number of
/// dimensions: matrix products in all transpositions, batched products,
/// convolutions and their gradients. `column` is vectorized; elements of `lhs`
/// are broadcast.
struct Product {
  mlir::linalg::GenericOp op;
  mlir::OpOperand *lhs = nullptr;
  mlir::OpOperand *rhs = nullptr;
  mlir::OpOperand *out = nullptr;
  llvm::SmallVector<int64_t> sizes; ///< Extents of the iteration space.
  llvm::SmallVector<unsigned>
      outerDims; ///< Parallel dimensions of `rhs` other than `column`; a panel
                 ///< is packed for each point of them.
  llvm::SmallVector<unsigned>
      rowDims; ///< Parallel dimensions of `lhs` alone, except for the one that
               ///< is tiled (`row`).
  llvm::SmallVector<unsigned> kDims; ///< Reduction dimensions, in order.
  unsigned column = 0;
  std::optional<unsigned>
      row; ///< None for the product of a vector and a matrix.

  int64_t getNumColumns() const { return sizes[column]; }
  int64_t getNumRows() const { return row ? sizes[*row] : 1; }
  /// Rows that use one packed panel.
  int64_t getPanelRows() const;
  /// Multiply-adds of the whole product.
  int64_t getMultiplyAdds() const;
  mlir::Type getElementType() const;
  /// The indexing map of an operand.
  mlir::AffineMap getMap(mlir::OpOperand *operand) const {
    return mlir::linalg::GenericOp(op).getMatchingIndexingMap(operand);
  }
};

/// The number of iterations of the loops of these dimensions.
int64_t multiplySizes(llvm::ArrayRef<int64_t> sizes,
                      llvm::ArrayRef<unsigned> dims);

/// Matches a product whose result is f32 or f64 and contiguous along a
/// dimension that only one of the operands has.
std::optional<Product> matchProduct(mlir::linalg::GenericOp op);

/// True if `memref` has a static shape, and unit stride in its last dimension.
bool isInnermostContiguous(mlir::Value memref);

} // namespace lockstep

#endif
