//===- HoistInvariants.cpp - Hoist loop-invariant code and loads ----------===//

#include "passes/Codegen/Aliases.h"
#include "passes/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace lockstep {
#define GEN_PASS_DEF_HOISTINVARIANTSPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

/// Whether an operation in `loop` may write to the buffer of `view`.
static bool mayWrite(LoopLikeOpInterface loop, Value view,
                     const Aliases &aliases) {
  return loop
      ->walk([&](Operation *op) {
        // Operations in regions are visited by the walk. Intrinsics for which
        // it is not known have effects on what they get pointers to.
        if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
            isMemoryEffectFree(op) ||
            (isa<LLVM::CallIntrinsicOp>(op) &&
             llvm::none_of(op->getOperandTypes(),
                           llvm::IsaPred<LLVM::LLVMPointerType>)))
          return WalkResult::advance();
        auto interface = dyn_cast<MemoryEffectOpInterface>(op);
        if (!interface)
          return WalkResult::interrupt();
        SmallVector<MemoryEffects::EffectInstance> effects;
        interface.getEffects(effects);
        bool writes = llvm::any_of(
            effects, [&](const MemoryEffects::EffectInstance &effect) {
              return isa<MemoryEffects::Write>(effect.getEffect()) &&
                     (!effect.getValue() ||
                      aliases.mayAlias(effect.getValue(), view));
            });
        return WalkResult(failure(writes));
      })
      .wasInterrupted();
}

/// Whether the load is valid even if the loop around it has no iterations.
static bool isInBounds(memref::LoadOp load) {
  return llvm::all_of(
      llvm::zip_equal(load.getIndices(), load.getMemRefType().getShape()),
      [](auto pair) {
        auto [index, size] = pair;
        std::optional<int64_t> constant = getConstantIntValue(index);
        return constant && *constant >= 0 && !ShapedType::isDynamic(size) &&
               *constant < size;
      });
}

static bool hasIterations(LoopLikeOpInterface loop) {
  std::optional<SmallVector<OpFoldResult>> lower = loop.getLoopLowerBounds(),
                                           upper = loop.getLoopUpperBounds();
  return lower && upper &&
         llvm::all_of(llvm::zip_equal(*lower, *upper), [](auto pair) {
           std::optional<int64_t> first =
                                      getConstantIntValue(std::get<0>(pair)),
                                  end = getConstantIntValue(std::get<1>(pair));
           return first && end && *first < *end;
         });
}

namespace {
struct HoistInvariants
    : lockstep::impl::HoistInvariantsPassBase<HoistInvariants> {
  void runOnOperation() override {
    Aliases aliases(getOperation());
    // Inner loops first: an operation hoisted out of one may be hoisted out of
    // the next.
    getOperation().walk([&](LoopLikeOpInterface loop) {
      moveLoopInvariantCode(
          loop.getLoopRegions(),
          [&](Value value, Region *) {
            return loop.isDefinedOutsideOfLoop(value);
          },
          [&](Operation *op, Region *) {
            if (auto load = dyn_cast<memref::LoadOp>(op);
                load && op->getParentOp() == loop)
              return (isInBounds(load) || hasIterations(loop)) &&
                     !mayWrite(loop, load.getMemRef(), aliases);
            return isMemoryEffectFree(op) && isSpeculatable(op);
          },
          [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
    });
  }
};
} // namespace
