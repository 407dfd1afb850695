//===- BoundedBatch.cpp - Batches in memory of their largest size ---------===//

#include "passes/Lower/BoundedBatch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

SmallVector<int64_t> lockstep::getPartialDims(RankedTensorType type) {
  SmallVector<int64_t> dims;
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    if (!type.hasStaticShape() && (ShapedType::isDynamic(size) || size == 0))
      dims.push_back(d);
  return dims;
}

RankedTensorType lockstep::getBoundedType(RankedTensorType type,
                                          ArrayRef<int64_t> bounds) {
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t d : getPartialDims(type)) {
    bool isDynamic = ShapedType::isDynamic(shape[d]);
    shape[d] = isDynamic ? bounds.front() : 1;
    bounds = bounds.drop_front(isDynamic);
  }
  return type.clone(shape);
}

Value lockstep::takeBatch(OpBuilder &builder, Location loc,
                          RankedTensorType type, Value whole,
                          ValueRange sizes) {
  SmallVector<OpFoldResult> mixed =
      getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  for (auto [d, given] : llvm::zip_equal(getPartialDims(type), sizes)) {
    if (!type.isDynamicDim(d))
      continue;
    Value scalar = tensor::ExtractOp::create(builder, loc, given, ValueRange());
    mixed[d] =
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), scalar)
            .getResult();
  }
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      strides(type.getRank(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(builder, loc, type, whole, offsets,
                                        mixed, strides);
}
