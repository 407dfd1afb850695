//===- Elementwise.cpp - Builds element-wise operations -------------------===//

#include "passes/Lower/Elementwise.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

Value lockstep::createElementwise(
    OpBuilder &builder, Location loc, RankedTensorType type, ValueRange inputs,
    llvm::function_ref<Value(OpBuilder &, ValueRange)> body,
    ArrayRef<AffineMap> maps) {
  Value init = tensor::EmptyOp::create(
      builder, loc,
      inputs.empty() || !maps.empty()
          ? getAsIndexOpFoldResult(builder.getContext(), type.getShape())
          : tensor::getMixedSizes(builder, loc, inputs[0]),
      type.getElementType());
  SmallVector<AffineMap> all(maps);
  all.resize(inputs.size() + 1, builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange(type), inputs, ValueRange(init), all,
             iterators,
             [&](OpBuilder &b, Location bodyLoc, ValueRange arguments) {
               linalg::YieldOp::create(b, bodyLoc,
                                       body(b, arguments.drop_back()));
             })
      .getResult(0);
}
