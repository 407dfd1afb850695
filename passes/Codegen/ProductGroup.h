//===- ProductGroup.h - A product and its epilogue --------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_PRODUCTGROUP_H
#define LOCKSTEP_PASSES_CODEGEN_PRODUCTGROUP_H

#include "passes/Codegen/Product.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace lockstep {

/// A product, the fill before it, and the element-wise operations after it that
/// are applied to the result while it is in registers.
struct ProductGroup {
  Product product;
  mlir::linalg::GenericOp fill; ///< Null if the product accumulates to memory.
  mlir::Value initial;          ///< The scalar that the fill stores.
  llvm::SmallVector<mlir::linalg::GenericOp> epilogue;
  /// The buffers that the group computes, each with the product's dimensions in
  /// the order of the buffer's indices.
  llvm::MapVector<mlir::Value, llvm::SmallVector<unsigned>> buffers;
  /// Buffers that are not accessed outside of the group: they stay in
  /// registers.
  llvm::SmallDenseSet<mlir::Value> registers;

  /// The operation before which the code of the group is emitted.
  mlir::Operation *getPosition() {
    return epilogue.empty() ? product.op.getOperation()
                            : epilogue.back().getOperation();
  }
  /// Takes all but the first `count` operations out of the epilogue.
  void keepEpilogue(size_t count);
  /// For each dimension of an operation of the epilogue, the dimension of the
  /// product.
  llvm::SmallVector<unsigned> getDims(mlir::linalg::GenericOp op) const;
  /// For each index of an operand of an operation of the epilogue, the
  /// dimension of the product, or -1 if it is not a dimension.
  llvm::SmallVector<int> getIndexDims(mlir::OpOperand *operand) const;
};

/// Collects the operations that can be fused with the product. Aliases of the
/// buffers of `function` (in-place results) are taken into account.
ProductGroup collectProductGroup(const Product &product,
                                 mlir::func::FuncOp function);

/// Erases the operations of the group, and buffers that are no longer used.
void eraseProductGroup(ProductGroup &group);

} // namespace lockstep

#endif
