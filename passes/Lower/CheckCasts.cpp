//===- CheckCasts.cpp - Check static sizes of casts at run time -----------===//

#include "passes/Analysis/UserLocation.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_CHECKCASTSPASS
#include "passes/Passes.h.inc"

namespace {

/// The dimensions that are static in the result of a cast and dynamic in its
/// operand.
SmallVector<int64_t> getAsserted(tensor::CastOp cast) {
  auto from = dyn_cast<RankedTensorType>(cast.getSource().getType()),
       to = dyn_cast<RankedTensorType>(cast.getType());
  SmallVector<int64_t> asserted;
  for (int64_t d = 0; from && to && d < to.getRank(); ++d)
    if (from.isDynamicDim(d) && !to.isDynamicDim(d))
      asserted.push_back(d);
  return asserted;
}

std::string getMessage(tensor::CastOp cast, int64_t dimension) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (std::string line = userLocation(cast.getLoc()); !line.empty())
    stream << line << ": ";
  stream << "expected {bound} elements along dimension " << dimension
         << " of a value that is cast to " << cast.getType()
         << ", found {value} [E_SHAPE_MISMATCH]";
  return text;
}

/// `value` with the static size of `dimension` that the cast asserts. If the
/// size is a different one, the run aborts, so the empty tensor is never read.
Value withCheckedSize(OpBuilder &builder, tensor::CastOp op, Value value,
                      int64_t dimension) {
  Location loc = op.getLoc();
  auto from = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(from.getShape());
  shape[dimension] =
      mlir::cast<RankedTensorType>(op.getType()).getDimSize(dimension);
  RankedTensorType type = from.clone(shape);
  Value size = tensor::DimOp::create(builder, loc, value, dimension);
  Value expected =
      arith::ConstantIndexOp::create(builder, loc, shape[dimension]);
  // Not the comparison of the assertion: inside of the branch the condition
  // would fold to false, but the assertion needs the two numbers for its
  // message.
  Value wide =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
  Value fits = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq, wide,
      arith::ConstantIntOp::create(builder, loc, shape[dimension], 64));
  SmallVector<Value> dynamicSizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      dynamicSizes.push_back(tensor::DimOp::create(builder, loc, value, d));
  return scf::IfOp::create(
             builder, loc, fits,
             [&](OpBuilder &b, Location) {
               scf::YieldOp::create(
                   b, loc,
                   tensor::CastOp::create(b, loc, type, value).getResult());
             },
             [&](OpBuilder &b, Location) {
               Value isExpected = arith::CmpIOp::create(
                   b, loc, arith::CmpIPredicate::eq, size, expected);
               cf::AssertOp::create(b, loc, isExpected,
                                    getMessage(op, dimension));
               scf::YieldOp::create(
                   b, loc,
                   tensor::EmptyOp::create(b, loc, type, dynamicSizes)
                       .getResult());
             })
      .getResult(0);
}

struct CheckCasts : impl::CheckCastsPassBase<CheckCasts> {
  void runOnOperation() override {
    SmallVector<tensor::CastOp> casts;
    getOperation().walk([&](tensor::CastOp cast) {
      if (!getAsserted(cast).empty())
        casts.push_back(cast);
    });
    if (casts.empty())
      return markAllAnalysesPreserved();
    for (tensor::CastOp cast : casts) {
      OpBuilder builder(cast);
      Value value = cast.getSource();
      for (int64_t dimension : getAsserted(cast))
        value = withCheckedSize(builder, cast, value, dimension);
      if (value.getType() != cast.getType())
        value = tensor::CastOp::create(builder, cast.getLoc(), cast.getType(),
                                       value);
      cast.replaceAllUsesWith(value);
      cast.erase();
    }
  }
};

} // namespace
} // namespace lockstep
