//===- AttentionDefinition.cpp - The operations that define attention -----===//

#include "dialect/Device/DeviceDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>
#include <map>

using namespace lockstep;
using namespace lockstep::device;
using namespace mlir;

namespace {

/// Creates the operations that define an attention. A letter stands for a loop:
/// b for examples, n for heads, t for positions of queries, s for those of keys
/// and h for the elements of a head.
class AttentionBuilder {
public:
  template <typename OpTy>
  AttentionBuilder(OpBuilder &given, OpTy op)
      : builder(given), loc(op.getLoc()),
        element(cast<ShapedType>(op.getQuery().getType()).getElementType()),
        wide(getWideType(element)) {
    ArrayRef<int64_t> query =
        cast<ShapedType>(op.getQuery().getType()).getShape();
    sizes = {{'b', query[0]},
             {'t', query[1]},
             {'s', cast<ShapedType>(op.getKey().getType()).getShape()[1]},
             {'n', query[2]},
             {'h', query[3]}};
  }

  /// An operand of a generic operation, and the loops of its dimensions.
  struct Indexed {
    Value value;
    StringRef dims;
  };
  using Body = llvm::function_ref<Value(ValueRange)>;

  /// The sums of `left * right`, in the wide type.
  Value contract(Indexed left, Indexed right, StringRef result) {
    return reduce({left, right}, result, zero(), [&](ValueRange arguments) {
      Value product = arith::MulFOp::create(builder, loc, widen(arguments[0]),
                                            widen(arguments[1]));
      return arith::AddFOp::create(builder, loc, arguments[2], product)
          .getResult();
    });
  }

  /// `body` takes an element of each input, and the result so far.
  Value reduce(ArrayRef<Indexed> inputs, StringRef result, Value initial,
               Body body) {
    Value init =
        linalg::FillOp::create(builder, loc, initial, empty(result, wide))
            .getResult(0);
    return generic(inputs, {init, result}, body);
  }

  Value map(ArrayRef<Indexed> inputs, StringRef result, Type type, Body body) {
    return generic(inputs, {empty(result, type), result}, body);
  }

  Value constant(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(wide, value));
  }
  Value zero() { return constant(0.0); }

  Value widen(Value value) {
    return value.getType() == wide
               ? value
               : Value(arith::ExtFOp::create(builder, loc, wide, value));
  }
  Value narrow(Value value) {
    return value.getType() == element
               ? value
               : Value(arith::TruncFOp::create(builder, loc, element, value));
  }
  /// The tensor with each element rounded to the type of the operands.
  Value narrowAll(Indexed tensor) {
    if (element == wide)
      return tensor.value;
    return map(tensor, tensor.dims, element,
               [&](ValueRange arguments) { return narrow(arguments[0]); });
  }

  template <typename OpTy> Value create(Value left, Value right) {
    return OpTy::create(builder, loc, left, right).getResult();
  }

  /// The scaled and masked product of queries and keys, "bnts".
  template <typename OpTy> Value scores(OpTy op) {
    Value products =
        contract({op.getQuery(), "btnh"}, {op.getKey(), "bsnh"}, "bnts");
    return map(Indexed{products, "bnts"}, "bnts", wide,
               [&](ValueRange arguments) {
                 Value score = create<arith::MulFOp>(
                     arguments[0], constant(op.getScale().convertToDouble()));
                 return op.getCausal() ? mask(score) : score;
               });
  }

  OpBuilder &builder;
  Location loc;
  Type element;
  FloatType wide;

private:
  /// The score, unless the key comes after the query.
  Value mask(Value score) {
    auto index = [&](char dim) {
      return linalg::IndexOp::create(builder, loc, StringRef("bnts").find(dim))
          .getResult();
    };
    Value isKept = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, index('t'), index('s'));
    // Not infinite, so that differences of scores are no NaN.
    Value masked = constant(-double(std::numeric_limits<float>::max()));
    return arith::SelectOp::create(builder, loc, isKept, score, masked);
  }

  Value empty(StringRef dims, Type type) {
    return tensor::EmptyOp::create(builder, loc, shapeOf(dims), type);
  }

  SmallVector<int64_t> shapeOf(StringRef dims) {
    return llvm::map_to_vector(dims, [&](char dim) { return sizes.at(dim); });
  }

  /// Loops over the dimensions of the result, and then over the others.
  Value generic(ArrayRef<Indexed> inputs, Indexed init, Body body) {
    std::string loops = init.dims.str();
    for (Indexed input : inputs)
      for (char dim : input.dims)
        if (loops.find(dim) == std::string::npos)
          loops += dim;
    SmallVector<utils::IteratorType> iterators(loops.size(),
                                               utils::IteratorType::reduction);
    std::fill_n(iterators.begin(), init.dims.size(),
                utils::IteratorType::parallel);
    SmallVector<AffineMap> maps;
    SmallVector<Value> values;
    auto add = [&](StringRef dims) {
      SmallVector<AffineExpr> indices =
          llvm::map_to_vector(dims, [&](char dim) {
            return builder.getAffineDimExpr(loops.find(dim));
          });
      maps.push_back(
          AffineMap::get(loops.size(), 0, indices, builder.getContext()));
    };
    for (Indexed input : inputs) {
      add(input.dims);
      values.push_back(input.value);
    }
    add(init.dims);
    auto op = linalg::GenericOp::create(
        builder, loc, init.value.getType(), values, init.value, maps, iterators,
        [&](OpBuilder &, Location, ValueRange arguments) {
          // What `body` creates belongs to the body of the operation.
          linalg::YieldOp::create(builder, loc, body(arguments));
        });
    return op.getResult(0);
  }

  std::map<char, int64_t> sizes;
};

} // namespace

FailureOr<SmallVector<Value>> AttentionOp::decomposeOperation(OpBuilder &b) {
  if (!hasPureTensorSemantics())
    return failure();
  AttentionBuilder build(b, *this);
  using Indexed = AttentionBuilder::Indexed;
  Value scores = build.scores(*this);
  double lowest = -std::numeric_limits<double>::infinity();
  Value largest = build.reduce(
      Indexed{scores, "bnts"}, "bnt", build.constant(lowest),
      [&](ValueRange arguments) {
        return build.create<arith::MaximumFOp>(arguments[1], arguments[0]);
      });
  Value exponentials = build.map(
      {{scores, "bnts"}, {largest, "bnt"}}, "bnts", build.wide,
      [&](ValueRange arguments) {
        Value difference =
            build.create<arith::SubFOp>(arguments[0], arguments[1]);
        return math::ExpOp::create(b, build.loc, difference).getResult();
      });
  Value total = build.reduce(Indexed{exponentials, "bnts"}, "bnt", build.zero(),
                             [&](ValueRange arguments) {
                               return build.create<arith::AddFOp>(arguments[1],
                                                                  arguments[0]);
                             });
  Value weights = build.map({{exponentials, "bnts"}, {total, "bnt"}}, "bnts",
                            build.element, [&](ValueRange arguments) {
                              return build.narrow(build.create<arith::DivFOp>(
                                  arguments[0], arguments[1]));
                            });
  Value output = build.narrowAll(
      {build.contract({weights, "bnts"}, {getValue(), "bsnh"}, "btnh"),
       "btnh"});
  Value statistics = build.map(
      {{largest, "bnt"}, {total, "bnt"}}, "bnt", build.wide,
      [&](ValueRange arguments) {
        return build.create<arith::AddFOp>(
            arguments[0], math::LogOp::create(b, build.loc, arguments[1]));
      });
  return SmallVector<Value>{output, statistics};
}

FailureOr<SmallVector<Value>>
AttentionGradientOp::decomposeOperation(OpBuilder &b) {
  if (!hasPureTensorSemantics())
    return failure();
  AttentionBuilder build(b, *this);
  using Indexed = AttentionBuilder::Indexed;
  Indexed cotangent{getCotangent(), "btnh"};
  Value scores = build.scores(*this);
  Value weights = build.map(
      {{scores, "bnts"}, {getStatistics(), "bnt"}}, "bnts", build.wide,
      [&](ValueRange arguments) {
        Value difference =
            build.create<arith::SubFOp>(arguments[0], arguments[1]);
        return math::ExpOp::create(b, build.loc, difference).getResult();
      });
  Value ofValue = build.narrowAll(
      {build.contract({build.narrowAll({weights, "bnts"}), "bnts"}, cotangent,
                      "bsnh"),
       "bsnh"});
  Value ofWeights = build.contract(cotangent, {getValue(), "bsnh"}, "bnts");
  // What all gradients of the weights of a query have in common.
  Value shift = build.contract(cotangent, {getOutput(), "btnh"}, "bnt");
  Value ofScores =
      build.map({{weights, "bnts"}, {ofWeights, "bnts"}, {shift, "bnt"}},
                "bnts", build.element, [&](ValueRange arguments) {
                  Value difference =
                      build.create<arith::SubFOp>(arguments[1], arguments[2]);
                  Value product =
                      build.create<arith::MulFOp>(arguments[0], difference);
                  return build.narrow(build.create<arith::MulFOp>(
                      product, build.constant(getScale().convertToDouble())));
                });
  Value ofQuery = build.narrowAll(
      {build.contract({ofScores, "bnts"}, {getKey(), "bsnh"}, "btnh"), "btnh"});
  Value ofKey = build.narrowAll(
      {build.contract({ofScores, "bnts"}, {getQuery(), "btnh"}, "bsnh"),
       "bsnh"});
  return SmallVector<Value>{ofQuery, ofKey, ofValue};
}
