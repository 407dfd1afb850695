//===- Fusion.h - Fusion of products and siblings ---------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_FUSION_H
#define LOCKSTEP_PASSES_KERNELS_FUSION_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace lockstep {

/// Makes products whose result is only read transposed compute it transposed.
/// Reverse-mode differentiation creates such products for gradients of weights,
/// and reading them with large strides costs more than the product itself.
/// Returns whether there were any.
bool foldTransposesIntoProducts(mlir::func::FuncOp function);

/// Leaves out the zeros between the elements of a factor of a convolution: they
/// are not stored. Convolutions of at least `leastSplit` multiply-adds are
/// divided into several for that, if need be.
void foldDilations(mlir::func::FuncOp function, int64_t leastSplit);

/// Makes a comparison of x and y compare max(x, y) and y instead, as the
/// derivative of a ReLU may do, if x is computed from a product and not needed
/// otherwise: then the product is not stored, but only the maximum.
void compareMaxima(mlir::func::FuncOp function);

/// Fuses element-wise operations with those that take few elements of their
/// result, as a gather does.
void populateFuseExtractsPatterns(mlir::RewritePatternSet &patterns);

/// Fuses element-wise operations with slices that they read, and makes padding
/// of dimensions of size one element-wise.
void populateFuseSlicesPatterns(mlir::RewritePatternSet &patterns);

/// The operation by which all users of the result of a product round it before
/// they do anything else; null if there is none.
mlir::arith::TruncFOp getCommonRounding(mlir::Value result);

/// Rounds the result of a large product of matrices, where all its users round
/// it, before it is stored: they read fewer bytes. So is each product that a
/// library computes, of matrices or as a convolution.
void roundProducts(mlir::func::FuncOp function, bool libraryProducts,
                   bool libraryConvolutions);

/// Fuses the two element-wise users of a product with each other, if no
/// operation between them uses the first. Returns whether any were fused.
bool fuseEpilogues(mlir::func::FuncOp function);

/// Horizontal fusion: fuses element-wise operations of one shape that read the
/// same values, so that an optimizer's new moments and weights are computed in
/// one pass over memory. Uniform and varying results are not fused. Returns
/// whether any operations were fused.
bool fuseSiblings(mlir::func::FuncOp function);

} // namespace lockstep

#endif
