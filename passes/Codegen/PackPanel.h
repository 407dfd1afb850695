//===- PackPanel.h - Pack panels of a product's right operand ---*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_PACKPANEL_H
#define LOCKSTEP_PASSES_CODEGEN_PACKPANEL_H

#include "passes/Codegen/Product.h"

namespace lockstep {

/// Copies `width` columns of the right operand, from `dims[product.column]` on,
/// to `panel`: its indices are those of the reduction, then the column. Columns
/// up to the next multiple of `lanes` are filled with zeros. If the operand is
/// contiguous along a reduction dimension, squares of `lanes` by `lanes`
/// elements are transposed in registers.
void packPanel(mlir::OpBuilder &builder, mlir::Location loc,
               const Product &product, llvm::ArrayRef<mlir::Value> dims,
               int64_t width, int64_t lanes, mlir::Value panel);

/// The same for `count` elements of the only reduction dimension, from `dims`
/// on; they are copied to `panels[panel]`, at indices from zero.
void packPanelBlock(mlir::OpBuilder &builder, mlir::Location loc,
                    const Product &product, llvm::ArrayRef<mlir::Value> dims,
                    mlir::Value count, int64_t width, int64_t lanes,
                    mlir::Value panels, mlir::Value panel);

/// The transpose of a square of vectors.
llvm::SmallVector<mlir::Value>
transposeSquare(mlir::OpBuilder &builder, mlir::Location loc,
                llvm::ArrayRef<mlir::Value> rows);

} // namespace lockstep

#endif
