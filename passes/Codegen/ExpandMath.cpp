//===- ExpandMath.cpp - Expand mathematical functions ---------------------===//

#include "passes/Codegen/DoubleMath.h"
#include "passes/Codegen/GpuMath.h"
#include "passes/Codegen/PlainLoops.h"
#include "passes/Codegen/TotalArithmetic.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace lockstep {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace mlir;

/// Operations that are instructions, or that LLVM expands without a library
/// call.
static bool isNative(Operation *op) {
  Type type = getElementTypeOrSelf(op->getOperand(0).getType());
  if (isa<math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp,
          math::AbsIOp, math::AbsFOp, math::CopySignOp>(op))
    return true;
  return isa<math::SqrtOp, math::FmaOp, math::FloorOp, math::CeilOp,
             math::TruncOp, math::RoundEvenOp>(op) &&
         (type.isF32() || type.isF64());
}

namespace {
/// f64 to f16 or bf16 in one rounding, for which there is no instruction: the
/// value is first rounded to odd in f32, so that the second rounding is right
/// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
struct NarrowDouble : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Value value = op.getIn();
    if (!getElementTypeOrSelf(value.getType()).isF64() ||
        getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() != 16)
      return failure();
    Location loc = op.getLoc();
    auto like = [&](Type element) -> Type {
      auto vector = dyn_cast<VectorType>(value.getType());
      return vector ? Type(vector.clone(element)) : element;
    };
    Type bitsType = like(rewriter.getI32Type());
    auto constant = [&](int32_t bits) -> Value {
      TypedAttr attribute = rewriter.getI32IntegerAttr(bits);
      if (auto vector = dyn_cast<VectorType>(bitsType))
        attribute =
            DenseElementsAttr::get(vector, APInt(32, bits, /*isSigned=*/true));
      return arith::ConstantOp::create(rewriter, loc, attribute);
    };
    Value rounded = arith::TruncFOp::create(rewriter, loc,
                                            like(rewriter.getF32Type()), value);
    Value back = arith::ExtFOp::create(rewriter, loc, value.getType(), rounded);
    Value bits = arith::BitcastOp::create(rewriter, loc, bitsType, rounded);
    Value isInexact = arith::CmpFOp::create(
        rewriter, loc, arith::CmpFPredicate::ONE, back, value);
    Value low = arith::AndIOp::create(rewriter, loc, bits, constant(1));
    Value isEven = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::eq, low, constant(0));
    Value isSmaller =
        arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OLT,
                              math::AbsFOp::create(rewriter, loc, back),
                              math::AbsFOp::create(rewriter, loc, value));
    Value step = arith::SelectOp::create(rewriter, loc, isSmaller, constant(1),
                                         constant(-1));
    Value odd = arith::AddIOp::create(rewriter, loc, bits, step);
    Value isChanged = arith::AndIOp::create(rewriter, loc, isInexact, isEven);
    bits = arith::SelectOp::create(rewriter, loc, isChanged, odd, bits);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(
        op, op.getType(),
        arith::BitcastOp::create(rewriter, loc, rounded.getType(), bits));
    return success();
  }
};

/// The multiply-add of small floats, which upstream does not extend: the
/// product is exact in f32.
struct ExtendMultiplyAdd : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    if (!element.isF16() && !element.isBF16())
      return failure();
    auto vector = dyn_cast<VectorType>(op.getType());
    Type wide = vector ? Type(vector.clone(rewriter.getF32Type()))
                       : rewriter.getF32Type();
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value operand) -> Value {
          return arith::ExtFOp::create(rewriter, op.getLoc(), wide, operand);
        });
    Value result = math::FmaOp::create(rewriter, op.getLoc(), wide, operands);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), result);
    return success();
  }
};

/// The maximum or minimum, which is the other operand if one is NaN. LLVM would
/// call a library.
template <typename OpTy, arith::CmpFPredicate predicate>
struct ExpandExtreme : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Value a = op.getLhs(), b = op.getRhs();
    Value isFirst =
        arith::CmpFOp::create(rewriter, op.getLoc(), predicate, a, b);
    Value isNaN = arith::CmpFOp::create(rewriter, op.getLoc(),
                                        arith::CmpFPredicate::UNO, b, b);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(
        op, arith::OrIOp::create(rewriter, op.getLoc(), isFirst, isNaN), a, b);
    return success();
  }
};

/// The maximum or minimum, where NaN propagates and +0 is greater than -0. The
/// processor's instruction returns the second operand for two zeros, or if
/// there is a NaN. It is applied in both orders of the operands: the results
/// differ only in these cases, and for two zeros combining their bits by `and`
/// (maximum) or `or` (minimum) yields the right one. LLVM's own code takes
/// twice as long.
template <typename OpTy, arith::CmpFPredicate predicate, typename CombineOp>
struct ExpandOrdered : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = op.getType();
    auto element = cast<FloatType>(getElementTypeOrSelf(type));
    Type bits = rewriter.getIntegerType(element.getWidth());
    TypedAttr nan = rewriter.getFloatAttr(
        element, APFloat::getNaN(element.getFloatSemantics()));
    if (auto vector = dyn_cast<VectorType>(type)) {
      bits = vector.clone(bits);
      nan = DenseElementsAttr::get(vector, Attribute(nan));
    }
    auto getBits = [&](Value x, Value y) -> Value {
      Value isFirst = arith::CmpFOp::create(rewriter, loc, predicate, x, y);
      return arith::BitcastOp::create(
          rewriter, loc, bits,
          arith::SelectOp::create(rewriter, loc, isFirst, x, y));
    };
    Value a = op.getLhs(), b = op.getRhs();
    Value combined =
        CombineOp::create(rewriter, loc, getBits(a, b), getBits(b, a));
    Value isNaN =
        arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::UNO, a, b);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(
        op, isNaN, arith::ConstantOp::create(rewriter, loc, nan),
        arith::BitcastOp::create(rewriter, loc, type, combined));
    return success();
  }
};

/// Expands classifications of floats to a comparison with infinity.
template <typename OpTy, arith::CmpFPredicate predicate>
struct ExpandTest : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getOperand().getType();
    auto element = cast<FloatType>(getElementTypeOrSelf(type));
    TypedAttr infinity = rewriter.getFloatAttr(
        element, APFloat::getInf(element.getFloatSemantics()));
    if (auto vector = dyn_cast<VectorType>(type))
      infinity = DenseElementsAttr::get(vector, Attribute(infinity));
    Value size = math::AbsFOp::create(rewriter, op.getLoc(), op.getOperand());
    Value limit = arith::ConstantOp::create(rewriter, op.getLoc(), infinity);
    rewriter.replaceOpWithNewOp<arith::CmpFOp>(op, predicate, size, limit);
    return success();
  }
};

/// bf16 to f64 through f32, which is exact: upstream converts bf16 only to f32.
struct WidenBFloat : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType(), to = op.getType();
    if (!getElementTypeOrSelf(from).isBF16() ||
        !getElementTypeOrSelf(to).isF64())
      return failure();
    Type f32 = rewriter.getF32Type();
    if (auto vector = dyn_cast<VectorType>(from))
      f32 = vector.clone(f32);
    Value wider = arith::ExtFOp::create(rewriter, op.getLoc(), f32, op.getIn());
    rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, to, wider);
    return success();
  }
};

/// An operation whose operand and result are normal numbers, for which
/// upstream's approximation is right.
constexpr StringLiteral kNormal = "lockstep.normal";

/// A constant of the type of `like`, f32 or a vector of it.
Value constantLike(PatternRewriter &rewriter, Value like, float value) {
  TypedAttr attribute = rewriter.getF32FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    attribute = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(rewriter, like.getLoc(), attribute);
}

/// Upstream's exp of f32 has no subnormal results. For small x, exp(x + 64),
/// where the sum is exact, is multiplied by exp(-64) instead.
struct ExpOfSmall : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    if (!getElementTypeOrSelf(x.getType()).isF32() || op->hasAttr(kNormal))
      return failure();
    Location loc = op.getLoc();
    auto constant = [&](float value) {
      return constantLike(rewriter, x, value);
    };
    Value isSmall = arith::CmpFOp::create(
        rewriter, loc, arith::CmpFPredicate::OLT, x, constant(-87.0f));
    Value raised = arith::AddFOp::create(rewriter, loc, x, constant(64.0f));
    auto exp = math::ExpOp::create(
        rewriter, loc,
        arith::SelectOp::create(rewriter, loc, isSmall, raised, x));
    exp->setAttr(kNormal, rewriter.getUnitAttr());
    Value lowered = arith::MulFOp::create(rewriter, loc, exp,
                                          constant(1.6038108905486378e-28f));
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isSmall, lowered, exp);
    return success();
  }
};

/// Upstream's logarithms of f32 take subnormal numbers as the smallest normal
/// one. They are multiplied by 2^23 instead, and the logarithm of that is
/// subtracted. Negative numbers and zeros stay what they are.
template <typename OpTy> struct LogOfSmall : OpRewritePattern<OpTy> {
  LogOfSmall(MLIRContext *context, float logOfFactor, PatternBenefit benefit)
      : OpRewritePattern<OpTy>(context, benefit), logOfFactor(logOfFactor) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    if (!getElementTypeOrSelf(x.getType()).isF32() || op->hasAttr(kNormal))
      return failure();
    Location loc = op.getLoc();
    Value isSmall = arith::CmpFOp::create(
        rewriter, loc, arith::CmpFPredicate::OLT, x,
        constantLike(rewriter, x, std::numeric_limits<float>::min()));
    Value scaled = arith::MulFOp::create(rewriter, loc, x,
                                         constantLike(rewriter, x, 0x1p23f));
    auto log = OpTy::create(
        rewriter, loc,
        arith::SelectOp::create(rewriter, loc, isSmall, scaled, x));
    log->setAttr(kNormal, rewriter.getUnitAttr());
    Value lowered = arith::SubFOp::create(
        rewriter, loc, log, constantLike(rewriter, x, logOfFactor));
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isSmall, lowered, log);
    return success();
  }

private:
  const float logOfFactor;
};

} // namespace

/// The operations for which upstream's expansion is as exact as required; not
/// `fma`, which would be rounded twice.
static constexpr StringRef kExpanded[] = {"sinh",  "cosh",  "tan",   "asinh",
                                          "acosh", "atanh", "rsqrt", "exp2",
                                          "fpowi", "ipowi", "round", "clampf"};

namespace {
struct ExpandMath : lockstep::impl::ExpandMathPassBase<ExpandMath> {
  using ExpandMathPassBase::ExpandMathPassBase;

  void runOnOperation() override {
    RewritePatternSet simple(&getContext());
    simple.add<ExtendMultiplyAdd,
               ExpandExtreme<arith::MaxNumFOp, arith::CmpFPredicate::OGT>,
               ExpandExtreme<arith::MinNumFOp, arith::CmpFPredicate::OLT>,
               ExpandTest<math::IsInfOp, arith::CmpFPredicate::OEQ>,
               ExpandTest<math::IsFiniteOp, arith::CmpFPredicate::OLT>,
               ExpandTest<math::IsNaNOp, arith::CmpFPredicate::UNO>>(
        &getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(simple));
    if (failed(extendSmallFloats()))
      return signalPassFailure();
    // The inserted casts round: they must not be folded with each other.
    lockstep::fixRounding(getOperation());
    // Make arithmetic of the program total. The arithmetic of the expansions
    // below is not affected: its operands are in range.
    RewritePatternSet divisions(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(divisions);
    (void)applyPatternsGreedily(getOperation(), std::move(divisions));
    lockstep::defineArithmetic(getOperation());
    RewritePatternSet patterns(&getContext());
    lockstep::populateDoubleMathPatterns(patterns);
    if (gpu)
      lockstep::populateGpuMathPatterns(patterns);
    patterns.add<ExpOfSmall,
                 ExpandOrdered<arith::MaximumFOp, arith::CmpFPredicate::OGT,
                               arith::AndIOp>,
                 ExpandOrdered<arith::MinimumFOp, arith::CmpFPredicate::OLT,
                               arith::OrIOp>>(&getContext(), /*benefit=*/10);
    patterns.add<LogOfSmall<math::LogOp>>(&getContext(), 15.942385152878742f,
                                          /*benefit=*/10);
    patterns.add<LogOfSmall<math::Log2Op>>(&getContext(), 23.0f,
                                           /*benefit=*/10);
    populateMathPolynomialApproximationPatterns(patterns);
    math::populateExpansionPatterns(patterns, kExpanded);
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    RewritePatternSet arithPatterns(&getContext());
    arithPatterns.add<NarrowDouble, WidenBFloat>(&getContext(), /*benefit=*/10);
    arith::populateExpandBFloat16Patterns(arithPatterns);
    if (gpu)
      lockstep::populateGpuMathPatterns(arithPatterns);
    (void)applyPatternsGreedily(getOperation(), std::move(arithPatterns));
    bool failed = false;
    getOperation().walk([&](Operation *op) {
      if (isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
          !isNative(op)) {
        op->emitError("no code for '")
            << op->getName() << "' on " << op->getOperand(0).getType();
        failed = true;
      }
    });
    if (failed)
      signalPassFailure();
  }

  /// Makes arithmetic on f16 and bf16 compute in f32 and round after every
  /// operation.
  LogicalResult extendSmallFloats() {
    MLIRContext *context = &getContext();
    SetVector<Type> small;
    small.insert(Float16Type::get(context));
    small.insert(BFloat16Type::get(context));
    {
      SetVector<Type> supported;
      supported.insert(Float32Type::get(context));
      supported.insert(Float64Type::get(context));
      TypeConverter converter;
      math::populateExtendToSupportedTypesTypeConverter(
          converter, supported, Float32Type::get(context));
      ConversionTarget target(*context);
      math::populateExtendToSupportedTypesConversionTarget(target, converter);
      RewritePatternSet patterns(context);
      math::populateExtendToSupportedTypesPatterns(patterns, converter);
      if (failed(applyPartialConversion(getOperation(), target,
                                        std::move(patterns))))
        return failure();
    }
    TypeConverter converter;
    arith::populateEmulateUnsupportedFloatsConversions(
        converter, small.getArrayRef(), Float32Type::get(context));
    ConversionTarget target(*context);
    arith::populateEmulateUnsupportedFloatsLegality(target, converter);
    RewritePatternSet patterns(context);
    arith::populateEmulateUnsupportedFloatsPatterns(patterns, converter);
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }
};
} // namespace
