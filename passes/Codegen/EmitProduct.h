//===- EmitProduct.h - Code of products -------------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_EMITPRODUCT_H
#define LOCKSTEP_PASSES_CODEGEN_EMITPRODUCT_H

#include "passes/Codegen/Grid.h"
#include "passes/Codegen/ProductGroup.h"
#include "passes/Codegen/Targets.h"

namespace lockstep {

/// The dimensions along which the product is divided into tiles, and the number
/// of parts. Depends only on its shape, so that all targets agree.
llvm::SmallVector<Split> splitProduct(const Product &product);

/// Emits the code of the group before `group.getPosition()`. `tile` is the
/// number of the tile; it is not used without splits.
///
/// Panels of the right operand, as wide as one or two vectors, are packed to be
/// contiguous; blocks of rows are multiplied with a panel in registers, one
/// broadcast element of the left operand at a time; the epilogue is applied to
/// the block before it is stored. Every element of the result is one chain of
/// multiply-adds in the order of the reduction, whatever the tiling.
void emitProduct(mlir::OpBuilder &builder, ProductGroup &group,
                 const CodegenTarget &target, mlir::Value tile,
                 llvm::ArrayRef<Split> splits);

} // namespace lockstep

#endif
