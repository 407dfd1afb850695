//===- TensorMath.cpp - The math of the case language ---------------------===//

#include "test/conformance/driver/TensorMath.h"

#include "test/conformance/driver/Error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace lockstep::conformance::driver {

RankedTensorType rankedTypeOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    refuse("E_RANK_MISMATCH", "expected values of one rank on all replicas");
  return type;
}

std::string printed(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Value TensorMath::size(Value a, int64_t dimension) {
  RankedTensorType type = rankedTypeOf(a);
  if (!type.isDynamicDim(dimension))
    return arith::ConstantIndexOp::create(builder, loc,
                                          type.getDimSize(dimension));
  return tensor::DimOp::create(builder, loc, a, dimension);
}

Value TensorMath::toTensor(Value index) {
  Value number =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
  return tensor::FromElementsOp::create(
      builder, loc, RankedTensorType::get({}, builder.getI64Type()), number);
}

Value TensorMath::element(Value tensor) {
  if (rankedTypeOf(tensor).getRank() != 0)
    refuse("E_RANK_MISMATCH", "expected a scalar, found {}",
           printed(tensor.getType()));
  return tensor::ExtractOp::create(builder, loc, tensor, ValueRange());
}

Value TensorMath::toIndex(Value tensor) {
  if (!rankedTypeOf(tensor).getElementType().isInteger())
    refuse("E_DTYPE_MISMATCH", "expected an integer, found {}",
           printed(tensor.getType()));
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    element(tensor));
}

SmallVector<int64_t> TensorMath::broadcastShape(ValueRange values) {
  SmallVector<int64_t> shape;
  for (Value value : values) {
    ArrayRef<int64_t> other = rankedTypeOf(value).getShape();
    if (other.size() > shape.size())
      shape.insert(shape.begin(), other.size() - shape.size(), 1);
    MutableArrayRef<int64_t> tail =
        MutableArrayRef<int64_t>(shape).take_back(other.size());
    for (auto [size, otherSize] : llvm::zip_equal(tail, other)) {
      if (size == 1 || (ShapedType::isDynamic(size) && otherSize != 1))
        size = otherSize;
      else if (otherSize != 1 && !ShapedType::isDynamic(otherSize) &&
               size != otherSize)
        refuse("E_SHAPE_MISMATCH",
               "expected shapes that broadcast, found {} and {}",
               printed(values.front().getType()), printed(value.getType()));
    }
  }
  return shape;
}

Value TensorMath::empty(ArrayRef<int64_t> shape, Type element,
                        ValueRange sources) {
  SmallVector<Value> sizes;
  for (auto [d, dimension] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(dimension))
      continue;
    for (Value source : sources) {
      RankedTensorType type = rankedTypeOf(source);
      int64_t own = static_cast<int64_t>(d) -
                    (static_cast<int64_t>(shape.size()) - type.getRank());
      if (own >= 0 && type.isDynamicDim(own)) {
        sizes.push_back(size(source, own));
        break;
      }
    }
  }
  return tensor::EmptyOp::create(builder, loc, shape, element, sizes);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

Value TensorMath::elementwise(ValueRange inputs, ArrayRef<int64_t> shape,
                              ValueRange sizes, Type element, Body body) {
  int64_t rank = static_cast<int64_t>(shape.size());
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (Value input : inputs) {
    RankedTensorType type = rankedTypeOf(input);
    int64_t lead = rank - type.getRank();
    // Dimensions of size 1 that are broadcast are dropped; the map says where
    // the others are.
    SmallVector<AffineExpr> places;
    SmallVector<int64_t> kept, castShape;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      bool isBroadcast = type.getDimSize(d) == 1 && shape[lead + d] != 1;
      // A different size fails at run time.
      castShape.push_back(type.isDynamicDim(d) ? shape[lead + d]
                                               : type.getDimSize(d));
      if (!isBroadcast) {
        kept.push_back(d);
        places.push_back(
            builder.getAffineDimExpr(static_cast<unsigned>(lead + d)));
      }
    }
    if (auto castType = RankedTensorType::get(castShape, type.getElementType());
        castType != type)
      input = tensor::CastOp::create(builder, loc, castType, input);
    if (static_cast<int64_t>(kept.size()) != type.getRank()) {
      SmallVector<ReassociationIndices> groups(kept.size());
      for (int64_t d = 0, group = 0; d < type.getRank() && !groups.empty();
           ++d) {
        if (group + 1 < static_cast<int64_t>(kept.size()) &&
            d >= kept[group + 1])
          ++group;
        groups[group].push_back(d);
      }
      input = tensor::CollapseShapeOp::create(builder, loc, input, groups);
    }
    operands.push_back(input);
    maps.push_back(AffineMap::get(static_cast<unsigned>(rank), 0, places,
                                  builder.getContext()));
  }
  maps.push_back(builder.getMultiDimIdentityMap(static_cast<unsigned>(rank)));
  Value init = empty(shape, element, sizes);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange(init.getType()), operands,
             ValueRange(init), maps, iterators,
             [&](OpBuilder &b, Location bodyLoc, ValueRange arguments) {
               linalg::YieldOp::create(b, bodyLoc,
                                       body(b, arguments.drop_back()));
             })
      .getResult(0);
}

static bool isFloat(Type type) { return isa<FloatType>(type); }

void requireNumbers(Type element) {
  if (element.isInteger(1))
    refuse("E_DTYPE_UNSUPPORTED", "expected numbers, found booleans");
}

Value TensorMath::binary(Binary op, Value a, Value b) {
  Type element = rankedTypeOf(a).getElementType();
  if (rankedTypeOf(b).getElementType() != element)
    refuse("E_DTYPE_MISMATCH", "expected elements of one type, found {} and {}",
           printed(a.getType()), printed(b.getType()));
  bool compares = op == Binary::Less || op == Binary::Equal;
  if (op != Binary::Equal)
    requireNumbers(element);
  Value inputs[] = {a, b};
  auto body = [&](OpBuilder &build, ValueRange in) -> Value {
    bool floats = isFloat(element);
    switch (op) {
    case Binary::Add:
      return floats
                 ? arith::AddFOp::create(build, loc, in[0], in[1]).getResult()
                 : arith::AddIOp::create(build, loc, in[0], in[1]);
    case Binary::Sub:
      return floats
                 ? arith::SubFOp::create(build, loc, in[0], in[1]).getResult()
                 : arith::SubIOp::create(build, loc, in[0], in[1]);
    case Binary::Mul:
      return floats
                 ? arith::MulFOp::create(build, loc, in[0], in[1]).getResult()
                 : arith::MulIOp::create(build, loc, in[0], in[1]);
    case Binary::Div:
      return floats
                 ? arith::DivFOp::create(build, loc, in[0], in[1]).getResult()
                 : arith::DivSIOp::create(build, loc, in[0], in[1]);
    case Binary::Min:
      return floats ? arith::MinimumFOp::create(build, loc, in[0], in[1])
                          .getResult()
                    : arith::MinSIOp::create(build, loc, in[0], in[1]);
    case Binary::Max:
      return floats ? arith::MaximumFOp::create(build, loc, in[0], in[1])
                          .getResult()
                    : arith::MaxSIOp::create(build, loc, in[0], in[1]);
    case Binary::Less:
      return floats
                 ? arith::CmpFOp::create(build, loc, arith::CmpFPredicate::OLT,
                                         in[0], in[1])
                       .getResult()
                 : arith::CmpIOp::create(build, loc, arith::CmpIPredicate::slt,
                                         in[0], in[1]);
    case Binary::Equal:
      return floats
                 ? arith::CmpFOp::create(build, loc, arith::CmpFPredicate::OEQ,
                                         in[0], in[1])
                       .getResult()
                 : arith::CmpIOp::create(build, loc, arith::CmpIPredicate::eq,
                                         in[0], in[1]);
    }
    llvm_unreachable("all operations are above");
  };
  return elementwise(inputs, broadcastShape(inputs), inputs,
                     compares ? builder.getI1Type() : element, body);
}

Value TensorMath::unary(Unary op, Value a) {
  RankedTensorType type = rankedTypeOf(a);
  Type element = type.getElementType();
  requireNumbers(element);
  if (op == Unary::Tanh && !isFloat(element))
    refuse("E_DTYPE_UNSUPPORTED", "expected floats, found {}", printed(type));
  return elementwise(a, type.getShape(), a, element,
                     [&](OpBuilder &build, ValueRange in) -> Value {
                       if (op == Unary::Tanh)
                         return math::TanhOp::create(build, loc, in[0]);
                       if (isFloat(element))
                         return arith::NegFOp::create(build, loc, in[0]);
                       Value zero = arith::ConstantOp::create(
                           build, loc, build.getZeroAttr(element));
                       return arith::SubIOp::create(build, loc, zero, in[0]);
                     });
}

Value TensorMath::cast(Value a, Type to) {
  RankedTensorType type = rankedTypeOf(a);
  Type from = type.getElementType();
  if (from == to)
    return a;
  return elementwise(
      a, type.getShape(), a, to, [&](OpBuilder &build, ValueRange in) -> Value {
        unsigned fromWidth = from.getIntOrFloatBitWidth(),
                 toWidth = to.getIntOrFloatBitWidth();
        if (to.isInteger(1)) {
          Value zero =
              arith::ConstantOp::create(build, loc, build.getZeroAttr(from));
          return isFloat(from)
                     ? arith::CmpFOp::create(
                           build, loc, arith::CmpFPredicate::UNE, in[0], zero)
                           .getResult()
                     : arith::CmpIOp::create(
                           build, loc, arith::CmpIPredicate::ne, in[0], zero);
        }
        if (from.isInteger(1))
          return isFloat(to) ? arith::UIToFPOp::create(build, loc, to, in[0])
                                   .getResult()
                             : arith::ExtUIOp::create(build, loc, to, in[0]);
        if (!isFloat(from))
          return isFloat(to) ? arith::SIToFPOp::create(build, loc, to, in[0])
                                   .getResult()
                 : toWidth > fromWidth
                     ? arith::ExtSIOp::create(build, loc, to, in[0]).getResult()
                     : arith::TruncIOp::create(build, loc, to, in[0])
                           .getResult();
        if (!isFloat(to))
          return arith::FPToSIOp::create(build, loc, to, in[0]);
        if (toWidth > fromWidth)
          return arith::ExtFOp::create(build, loc, to, in[0]);
        if (toWidth < fromWidth)
          return arith::TruncFOp::create(build, loc, to, in[0]);
        // There is no direct conversion between the two halves.
        return arith::TruncFOp::create(
            build, loc, to,
            arith::ExtFOp::create(build, loc, build.getF32Type(), in[0]));
      });
}

Value TensorMath::select(Value condition, Value a, Value b) {
  RankedTensorType type = rankedTypeOf(a);
  Value inputs[] = {condition, a, b};
  return elementwise(inputs, type.getShape(), a, type.getElementType(),
                     [&](OpBuilder &build, ValueRange in) -> Value {
                       return arith::SelectOp::create(build, loc, in[0], in[1],
                                                      in[2]);
                     });
}

Value TensorMath::broadcastLike(Value a, Value like) {
  Value inputs[] = {a};
  return elementwise(inputs, rankedTypeOf(like).getShape(), like,
                     rankedTypeOf(a).getElementType(),
                     [](OpBuilder &, ValueRange in) { return in[0]; });
}

Value TensorMath::sumToShapeOf(Value a, Value like) {
  RankedTensorType type = rankedTypeOf(a), target = rankedTypeOf(like);
  int64_t lead = type.getRank() - target.getRank();
  SmallVector<int64_t> axes, restored;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    bool isNew = d < lead;
    if (!isNew &&
        !(target.getDimSize(d - lead) == 1 && type.getDimSize(d) != 1))
      continue;
    axes.push_back(d);
    if (!isNew)
      restored.push_back(d - lead);
  }
  return axes.empty() ? a : expandDims(reduceSum(a, axes), restored);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value TensorMath::constant(Type element, double number) {
  TypedAttr value = isFloat(element)
                        ? TypedAttr(builder.getFloatAttr(element, number))
                        : TypedAttr(builder.getIntegerAttr(
                              element, static_cast<int64_t>(number)));
  return arith::ConstantOp::create(builder, loc, value);
}

Value TensorMath::scalar(Type element, double number) {
  return tensor::FromElementsOp::create(builder, loc,
                                        RankedTensorType::get({}, element),
                                        constant(element, number));
}

Value TensorMath::filled(Value like, double number) {
  RankedTensorType type = rankedTypeOf(like);
  Value init = empty(type.getShape(), type.getElementType(), like);
  return linalg::FillOp::create(builder, loc,
                                constant(type.getElementType(), number), init)
      .getResult(0);
}

} // namespace lockstep::conformance::driver
