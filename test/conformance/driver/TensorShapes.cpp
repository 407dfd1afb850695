//===- TensorShapes.cpp - Math that changes the shape ---------------------===//

#include "test/conformance/driver/Error.h"
#include "test/conformance/driver/TensorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace lockstep::conformance::driver {

//===----------------------------------------------------------------------===//
// Reductions and products
//===----------------------------------------------------------------------===//

Value TensorMath::reduceSum(Value a, ArrayRef<int64_t> axes) {
  RankedTensorType type = rankedTypeOf(a);
  Type element = type.getElementType();
  requireNumbers(element);
  if (axes.empty())
    return a;
  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (llvm::is_contained(axes, d))
      continue;
    shape.push_back(type.getDimSize(d));
    if (type.isDynamicDim(d))
      sizes.push_back(size(a, d));
  }
  Value init = tensor::EmptyOp::create(builder, loc, shape, element, sizes);
  init = linalg::FillOp::create(builder, loc, constant(element, 0), init)
             .getResult(0);
  return linalg::ReduceOp::create(
             builder, loc, ValueRange(a), ValueRange(init), axes,
             [&](OpBuilder &b, Location bodyLoc, ValueRange in) {
               Value sum = isa<FloatType>(element)
                               ? arith::AddFOp::create(b, bodyLoc, in[0], in[1])
                                     .getResult()
                               : arith::AddIOp::create(b, bodyLoc, in[0], in[1])
                                     .getResult();
               linalg::YieldOp::create(b, bodyLoc, sum);
             })
      .getResult(0);
}

Value TensorMath::divideBySize(Value a, Value of, ArrayRef<int64_t> axes) {
  Type element = rankedTypeOf(a).getElementType();
  Value count = arith::ConstantIndexOp::create(builder, loc, 1);
  for (int64_t axis : axes)
    count = arith::MulIOp::create(builder, loc, count, size(of, axis));
  return binary(Binary::Div, a, cast(toTensor(count), element));
}

Value TensorMath::transpose(Value a) {
  RankedTensorType type = rankedTypeOf(a);
  SmallVector<int64_t> order = llvm::to_vector(
                           llvm::seq<int64_t>(0, type.getRank())),
                       shape;
  std::swap(order[type.getRank() - 1], order[type.getRank() - 2]);
  SmallVector<Value> sizes;
  for (int64_t d : order) {
    shape.push_back(type.getDimSize(d));
    if (type.isDynamicDim(d))
      sizes.push_back(size(a, d));
  }
  Value init = tensor::EmptyOp::create(builder, loc, shape,
                                       type.getElementType(), sizes);
  return linalg::TransposeOp::create(builder, loc, a, init, order)
      .getResult()[0];
}

Value TensorMath::matmul(Value a, Value b) {
  RankedTensorType left = rankedTypeOf(a), right = rankedTypeOf(b);
  Type element = left.getElementType();
  requireNumbers(element);
  int64_t rank = left.getRank();
  if (element != right.getElementType())
    refuse("E_DTYPE_MISMATCH", "expected elements of one type, found {} and {}",
           printed(left), printed(right));
  if (rank != right.getRank() || (rank != 2 && rank != 3))
    refuse("E_RANK_MISMATCH", "expected matrices, found {} and {}",
           printed(left), printed(right));
  int64_t inner = left.getDimSize(rank - 1), other = right.getDimSize(rank - 2);
  if (inner != other && !ShapedType::isDynamic(inner) &&
      !ShapedType::isDynamic(other))
    refuse("E_SHAPE_MISMATCH",
           "expected matrices that multiply, found {} and {}", printed(left),
           printed(right));
  SmallVector<int64_t> shape(left.getShape().drop_back());
  shape.push_back(right.getDimSize(rank - 1));
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < rank; ++d)
    if (ShapedType::isDynamic(shape[d]))
      sizes.push_back(d + 1 < rank ? size(a, d) : size(b, d));
  Value init = tensor::EmptyOp::create(builder, loc, shape, element, sizes);
  init = linalg::FillOp::create(builder, loc, constant(element, 0), init)
             .getResult(0);
  Value inputs[] = {a, b};
  if (rank == 2)
    return linalg::MatmulOp::create(builder, loc, TypeRange(init.getType()),
                                    inputs, ValueRange(init))
        .getResult(0);
  return linalg::BatchMatmulOp::create(builder, loc, TypeRange(init.getType()),
                                       inputs, ValueRange(init))
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Value TensorMath::expandDims(Value a, ArrayRef<int64_t> axes) {
  RankedTensorType type = rankedTypeOf(a);
  if (axes.empty())
    return a;
  int64_t rank = type.getRank() + static_cast<int64_t>(axes.size());
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> sizes;
  SmallVector<ReassociationIndices> groups(type.getRank());
  int64_t source = 0;
  for (int64_t d = 0; d < rank; ++d) {
    bool isNew = llvm::is_contained(axes, d);
    if (!groups.empty())
      // Leading new dimensions belong to the first old one, others to the one
      // before them.
      groups[isNew ? std::max<int64_t>(source - 1, 0) : source].push_back(d);
    if (isNew) {
      shape.push_back(1);
      sizes.push_back(builder.getIndexAttr(1));
      continue;
    }
    shape.push_back(type.getDimSize(source));
    sizes.push_back(
        type.isDynamicDim(source)
            ? OpFoldResult(size(a, source))
            : OpFoldResult(builder.getIndexAttr(type.getDimSize(source))));
    ++source;
  }
  auto result = RankedTensorType::get(shape, type.getElementType());
  return tensor::ExpandShapeOp::create(builder, loc, result, a, groups, sizes);
}

Value TensorMath::slice(RankedTensorType type, Value a, int64_t axis,
                        Value offset, Value count) {
  int64_t rank = rankedTypeOf(a).getRank();
  SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0)),
      strides(rank, builder.getIndexAttr(1)), sizes;
  for (int64_t d = 0; d < rank; ++d)
    sizes.push_back(
        type.isDynamicDim(d)
            ? OpFoldResult(d == axis ? count : size(a, d))
            : OpFoldResult(builder.getIndexAttr(type.getDimSize(d))));
  offsets[axis] = offset;
  return tensor::ExtractSliceOp::create(builder, loc, type, a, offsets, sizes,
                                        strides);
}

} // namespace lockstep::conformance::driver
