//===- PlainLoops.cpp - Lower structured operations to scalar loops -------===//

#include "passes/Codegen/PlainLoops.h"

#include "passes/Codegen/LoopGroup.h"
#include "passes/Codegen/LoopMetadata.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace lockstep;
using namespace mlir;

void lockstep::fixRounding(func::FuncOp function) {
  auto none = arith::FastMathFlagsAttr::get(function.getContext(),
                                            arith::FastMathFlags::none);
  function.walk([&](Operation *op) {
    if (op->hasAttr("fastmath"))
      op->setAttr("fastmath", none);
  });
}

void lockstep::formMultiplyAdds(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0)
    return;
  for (auto [yielded, accumulator] :
       llvm::zip_equal(op.getBlock()->getTerminator()->getOperands(),
                       op.getRegionOutputArgs())) {
    auto add = yielded.getDefiningOp<arith::AddFOp>();
    if (!add || !add->hasOneUse())
      continue;
    Value other = add.getLhs() == accumulator   ? add.getRhs()
                  : add.getRhs() == accumulator ? add.getLhs()
                                                : Value();
    auto multiply = other ? other.getDefiningOp<arith::MulFOp>() : nullptr;
    if (!multiply || !multiply->hasOneUse() ||
        !(multiply.getType().isF32() || multiply.getType().isF64()))
      continue;
    OpBuilder builder(add);
    Value fused = math::FmaOp::create(builder, add.getLoc(), multiply.getLhs(),
                                      multiply.getRhs(), accumulator);
    add.replaceAllUsesWith(fused);
    add.erase();
    multiply.erase();
  }
}

LogicalResult lockstep::lowerToPlainLoops(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  Aliases aliases(function);
  SmallVector<linalg::LinalgOp> ops;
  function.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    bool isParallel = false;
    if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation())) {
      std::optional<LoopStage> stage = makeStage(generic);
      isParallel = stage && stage->reductionDims.empty() &&
                   hasIndependentIterations(*stage, aliases);
      formMultiplyAdds(generic);
    }
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::LinalgLoops> loops =
        linalg::linalgOpToLoops(rewriter, op);
    if (failed(loops))
      return op.emitError("no code for '") << op->getName() << "'";
    if (isParallel && !loops->empty())
      setParallel(cast<scf::ForOp>(loops->back()));
    rewriter.eraseOp(op);
  }
  return success();
}
