//===- WidenAccumulation.cpp - Accumulate half precision in f32 -----------===//

#include "passes/Lower/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"

namespace lockstep {
#define GEN_PASS_DEF_WIDENACCUMULATIONPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

static bool isHalf(Type type) {
  return isa<Float16Type, BFloat16Type>(getElementTypeOrSelf(type));
}

/// The value that is added to, or multiplied by, the accumulator of result
/// `number`; null if the result is not a sum or product in half precision.
static Value getCombined(linalg::LinalgOp op, unsigned number) {
  Block &body = *op.getBlock();
  BlockArgument accumulator = body.getArgument(op.getNumDpsInputs() + number);
  Operation *last = body.getTerminator()->getOperand(number).getDefiningOp();
  if (!isHalf(accumulator.getType()) ||
      !isa_and_nonnull<arith::AddFOp, arith::MulFOp>(last) ||
      last->getBlock() != &body || !accumulator.hasOneUse() ||
      *accumulator.user_begin() != last || !last->hasOneUse())
    return {};
  return last->getOperand(0) == accumulator ? last->getOperand(1)
                                            : last->getOperand(0);
}

static bool accumulatesInHalf(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() == 0 || !op.hasPureTensorSemantics())
    return false;
  return llvm::any_of(
      llvm::seq<unsigned>(op.getNumDpsInits()),
      [&](unsigned number) { return getCombined(op, number) != nullptr; });
}

/// `value` as f32, without rounding: a product of two operands of the reduction
/// is computed from the extended operands.
static Value extend(OpBuilder &builder, Value value, IRMapping &mapping) {
  auto multiply = value.getDefiningOp<arith::MulFOp>();
  bool isProduct = multiply && isa<BlockArgument>(multiply.getLhs()) &&
                   isa<BlockArgument>(multiply.getRhs());
  if (isProduct)
    return arith::MulFOp::create(builder, multiply.getLoc(),
                                 extend(builder, multiply.getLhs(), mapping),
                                 extend(builder, multiply.getRhs(), mapping));
  return arith::ExtFOp::create(builder, value.getLoc(), builder.getF32Type(),
                               mapping.lookupOrDefault(value));
}

/// The initial value of the accumulation, as f32.
static Value extendInit(OpBuilder &builder, Location loc, Value init) {
  auto type =
      cast<RankedTensorType>(init.getType()).clone(builder.getF32Type());
  if (auto fill = init.getDefiningOp<linalg::FillOp>()) {
    Value empty = tensor::EmptyOp::create(
        builder, loc, tensor::getMixedSizes(builder, loc, fill.getOutputs()[0]),
        builder.getF32Type());
    Value wide = arith::ExtFOp::create(builder, loc, builder.getF32Type(),
                                       fill.getInputs()[0]);
    return linalg::FillOp::create(builder, loc, wide, empty).getResult(0);
  }
  return createElementwise(
      builder, loc, type, init, [&](OpBuilder &b, ValueRange in) -> Value {
        return arith::ExtFOp::create(b, loc, b.getF32Type(), in[0]);
      });
}

static Value truncate(OpBuilder &builder, Location loc, Value wide, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return createElementwise(
      builder, loc, tensor, wide, [&](OpBuilder &b, ValueRange in) -> Value {
        return arith::TruncFOp::create(b, loc, tensor.getElementType(), in[0]);
      });
}

/// Replaces `op` by the same reduction with accumulators of f32.
static void widen(RewriterBase &rewriter, linalg::GenericOp op) {
  Location loc = op.getLoc();
  Block &body = *op.getBlock();
  rewriter.setInsertionPoint(op);
  SmallVector<Value> inits(op.getDpsInits());
  // The results whose accumulators are widened, by their combining operations.
  llvm::SmallDenseMap<Operation *, unsigned> combiners;
  for (auto [number, init] : llvm::enumerate(inits))
    if (getCombined(op, number)) {
      combiners[body.getTerminator()->getOperand(number).getDefiningOp()] =
          number;
      init = extendInit(rewriter, loc, init);
    }
  auto wide = linalg::GenericOp::create(
      rewriter, loc, ValueRange(inits).getTypes(), op.getDpsInputs(), inits,
      op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      [&](OpBuilder &builder, Location, ValueRange arguments) {
        IRMapping mapping;
        mapping.map(body.getArguments(), arguments);
        for (Operation &inner : body.without_terminator()) {
          auto combiner = combiners.find(&inner);
          if (combiner == combiners.end()) {
            builder.clone(inner, mapping);
            continue;
          }
          Value accumulator =
              arguments[op.getNumDpsInputs() + combiner->second];
          OperationState state(inner.getLoc(), inner.getName());
          state.addOperands(
              {accumulator,
               extend(builder, getCombined(op, combiner->second), mapping)});
          state.addTypes(builder.getF32Type());
          mapping.map(inner.getResult(0), builder.create(state)->getResult(0));
        }
        linalg::YieldOp::create(
            builder, loc,
            llvm::map_to_vector(
                body.getTerminator()->getOperands(),
                [&](Value value) { return mapping.lookupOrDefault(value); }));
      });
  SmallVector<Value> results(wide.getResults());
  for (auto [result, old] : llvm::zip_equal(results, op.getResults()))
    if (result.getType() != old.getType())
      result = truncate(rewriter, loc, result, old.getType());
  rewriter.replaceOp(op, results);
}

namespace {
struct WidenAccumulationPass
    : lockstep::impl::WidenAccumulationPassBase<WidenAccumulationPass> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (accumulatesInHalf(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
      if (!generic) {
        rewriter.setInsertionPoint(op);
        FailureOr<linalg::GenericOp> generalized =
            linalg::generalizeNamedOp(rewriter, op);
        if (failed(generalized)) {
          op.emitError("expected an operation that can be written as "
                       "'linalg.generic', to accumulate in f32");
          return signalPassFailure();
        }
        generic = *generalized;
      }
      widen(rewriter, generic);
    }
  }
};
} // namespace
