//===- Structure.h - Classes of linalg operations ---------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_STRUCTURE_H
#define LOCKSTEP_PASSES_KERNELS_STRUCTURE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>
#include <utility>

namespace lockstep {

/// Whether `op` multiplies and adds over several inputs: a matrix product, a
/// convolution or a gradient of one.
bool isProduct(mlir::linalg::LinalgOp op);

/// The input of `op` of which `value`, in the body, is the element; null if
/// there is none.
mlir::OpOperand *getInput(mlir::linalg::LinalgOp op, mlir::Value value);

/// The two inputs whose product the body of `op` adds to its only result, as
/// that of a product of matrices does, possibly extended to a wider float;
/// nulls if it computes something else.
std::pair<mlir::OpOperand *, mlir::OpOperand *>
getFactors(mlir::linalg::LinalgOp op);

/// Whether a library may compute `product`, if one computes products of
/// matrices, or convolutions and the gradients of their filters.
bool isByLibrary(mlir::linalg::LinalgOp product, bool ofMatrices,
                 bool ofConvolutions);

/// Whether `op` stores its only input, rounded to fewer bits.
bool isRounding(mlir::linalg::GenericOp op);

/// Whether `op` computes every element of its results from the elements of its
/// inputs, without a reduction.
bool isElementwise(mlir::linalg::LinalgOp op);

/// The dimensions of the larger shape of a reshape that only adds or removes
/// dimensions of size one, each with that of the smaller shape, or with none;
/// none for other reshapes.
std::optional<llvm::SmallVector<std::optional<unsigned>>>
matchUnitDims(mlir::RankedTensorType larger,
              llvm::ArrayRef<mlir::ReassociationIndices> groups);

/// Whether `consumer` is element-wise on the shape of the result of `product`,
/// a static one, and reads it at the same position.
bool isEpilogueOf(mlir::linalg::GenericOp consumer,
                  mlir::linalg::LinalgOp product);

/// The product of two factors from whose result element-wise operations compute
/// `value`, and that nothing else needs, so that it may stay in registers if
/// `value` is stored; null if there is none, or if the element type on the path
/// from it is ever narrower than that of `value`.
mlir::linalg::LinalgOp findProductFor(mlir::Value value);

/// The number of the map's result that is exactly the dimension, if no other
/// result involves it.
std::optional<unsigned> getOnlyResult(mlir::AffineMap map, unsigned dim);

} // namespace lockstep

#endif
