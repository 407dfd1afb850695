//===- GpuMath.cpp - Functions that a GPU has instructions for ------------===//

#include "passes/Codegen/GpuMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace {

/// Above those of patterns for all targets.
constexpr unsigned kBenefit = 20;

Value call(PatternRewriter &rewriter, Location loc, StringRef intrinsic,
           ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(rewriter, loc, rewriter.getF32Type(),
                                       rewriter.getStringAttr(intrinsic),
                                       operands)
      .getResult(0);
}

template <typename OpTy> struct NativeExtreme : OpRewritePattern<OpTy> {
  NativeExtreme(MLIRContext *context, StringRef intrinsic)
      : OpRewritePattern<OpTy>(context, kBenefit), intrinsic(intrinsic) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    rewriter.replaceOp(
        op, call(rewriter, op.getLoc(), intrinsic, op->getOperands()));
    return success();
  }

private:
  StringRef intrinsic;
};

/// exp(x) = 2^n 2^r, where n is the integer that is nearest to x log2(e), and r
/// the rest, of which an instruction computes the power. n is clamped to the
/// exponents of normal numbers: if the result is too small for these, 2^r is
/// below 1; if it is too large, at least 2.
struct NativeExp : OpRewritePattern<math::ExpOp> {
  explicit NativeExp(MLIRContext *context)
      : OpRewritePattern(context, kBenefit) {}

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Location loc = op.getLoc();
    Value x = op.getOperand();
    auto number = [&](float value) -> Value {
      return arith::ConstantOp::create(rewriter, loc,
                                       rewriter.getF32FloatAttr(value));
    };
    auto integer = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(rewriter, loc,
                                       rewriter.getI32IntegerAttr(value));
    };
    // log2(e) in two parts, of which the second is the error of the first.
    Value log2e = number(0x1.715476p+0f), rest = number(0x1.4ae0cp-26f);
    Value scaled = arith::MulFOp::create(rewriter, loc, x, log2e);
    scaled = arith::MaxNumFOp::create(rewriter, loc, scaled, number(-126));
    scaled = arith::MinNumFOp::create(rewriter, loc, scaled, number(127));
    // A sum of this size has no digits behind the point, and ends with n.
    Value large = number(0x1.8p23f);
    Value sum = arith::AddFOp::create(rewriter, loc, scaled, large);
    Value n = arith::SubFOp::create(rewriter, loc, sum, large);
    Value r = math::FmaOp::create(rewriter, loc, x, log2e,
                                  arith::NegFOp::create(rewriter, loc, n));
    r = math::FmaOp::create(rewriter, loc, x, rest, r);
    Value power = call(rewriter, loc, "llvm.nvvm.ex2.approx.ftz", r);
    Value bits =
        arith::BitcastOp::create(rewriter, loc, rewriter.getI32Type(), sum);
    bits = arith::ShLIOp::create(rewriter, loc, bits, integer(23));
    bits = arith::AddIOp::create(rewriter, loc, bits, integer(127 << 23));
    Value scale =
        arith::BitcastOp::create(rewriter, loc, rewriter.getF32Type(), bits);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, power, scale);
    return success();
  }
};

struct NativeRounding : OpRewritePattern<arith::TruncFOp> {
  explicit NativeRounding(MLIRContext *context)
      : OpRewritePattern(context, kBenefit) {}

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getIn().getType().isF32() || !op.getType().isBF16() ||
        op.getRoundingmode())
      return failure();
    // As bits: `bfloats-as-bits` leaves no values of bf16.
    auto bits = LLVM::InlineAsmOp::create(
        rewriter, op.getLoc(), rewriter.getI16Type(), op.getIn(),
        "cvt.rn.bf16.f32 $0, $1;", "=h,f", /*has_side_effects=*/false,
        /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
        /*asm_dialect=*/LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr());
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(),
                                                  bits.getRes());
    return success();
  }
};

} // namespace

void lockstep::populateGpuMathPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<NativeExtreme<arith::MaximumFOp>>(context,
                                                 "llvm.nvvm.fmax.nan.f");
  patterns.add<NativeExtreme<arith::MinimumFOp>>(context,
                                                 "llvm.nvvm.fmin.nan.f");
  patterns.add<NativeExp, NativeRounding>(context);
}
