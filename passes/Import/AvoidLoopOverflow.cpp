//===- AvoidLoopOverflow.cpp - Count iterations near the largest number ---===//

#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Pass/Pass.h"

namespace lockstep {
#define GEN_PASS_DEF_AVOIDLOOPOVERFLOWPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace mlir;

/// Whether the induction variable would overflow behind the last of `trips`
/// iterations, in `width` bits.
static bool overflows(const APInt &trips, int64_t lower, int64_t step,
                      unsigned width, bool isUnsigned) {
  APInt count = trips.zextOrTrunc(width),
        first(width, static_cast<uint64_t>(lower), /*isSigned=*/true),
        stride(width, static_cast<uint64_t>(step), /*isSigned=*/true);
  bool isTooFar = false, isTooLarge = false;
  APInt distance = isUnsigned ? stride.umul_ov(count, isTooFar)
                              : stride.smul_ov(count, isTooFar);
  (void)(isUnsigned ? first.uadd_ov(distance, isTooLarge)
                    : first.sadd_ov(distance, isTooLarge));
  return isTooFar || isTooLarge;
}

/// Counts the iterations of such a loop from 0. Upstream's
/// `denormalizeInductionVariable` would add `affine.apply` for an index.
static void avoidOverflow(scf::ForOp loop) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         step = getConstantIntValue(loop.getStep());
  Type type = loop.getInductionVar().getType();
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (!trips || !lower || !step ||
      !overflows(*trips, *lower, *step, width, loop.getUnsignedCmp()))
    return;
  OpBuilder builder(loop);
  auto constant = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(builder, loop.getLoc(),
                                     builder.getIntegerAttr(type, value));
  };
  Value first = loop.getLowerBound(), stride = loop.getStep();
  loop.setLowerBound(constant(APInt(width, 0)));
  loop.setUpperBound(constant(trips->zextOrTrunc(width)));
  loop.setStep(constant(APInt(width, 1)));
  builder.setInsertionPointToStart(loop.getBody());
  Value counter = loop.getInductionVar();
  Value distance =
      arith::MulIOp::create(builder, loop.getLoc(), counter, stride);
  Value value = arith::AddIOp::create(builder, loop.getLoc(), first, distance);
  counter.replaceAllUsesExcept(value, distance.getDefiningOp());
}

namespace {
struct AvoidLoopOverflow
    : lockstep::impl::AvoidLoopOverflowPassBase<AvoidLoopOverflow> {
  void runOnOperation() override { getOperation().walk(avoidOverflow); }
};
} // namespace
