//===- KernelCost.cpp - Flops and bytes of a kernel -----------------------===//

#include "passes/Analysis/KernelCost.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

static constexpr int64_t kFunctionFlops = 16;

static int64_t saturatingMultiply(int64_t a, int64_t b) {
  return llvm::SaturatingMultiply<uint64_t>(a, b) > INT64_MAX ? INT64_MAX
                                                              : a * b;
}

static int64_t saturatingAdd(int64_t a, int64_t b) {
  return std::min<uint64_t>(uint64_t(a) + uint64_t(b), INT64_MAX);
}

/// The operations of an attention that a library computes, mostly those of its
/// products: two, or five of its gradient, which multiplies queries by keys
/// again. A causal one leaves out half of them.
static int64_t countAttentionFlops(Operation *op) {
  auto count = [](auto attention, int64_t products) {
    auto query = cast<ShapedType>(attention.getQuery().getType());
    int64_t keys = cast<ShapedType>(attention.getKey().getType()).getDimSize(1);
    int64_t flops = saturatingMultiply(query.getNumElements(),
                                       saturatingMultiply(keys, 2 * products));
    return attention.getCausal() ? flops / 2 : flops;
  };
  if (auto attention = dyn_cast<device::AttentionOp>(op))
    return count(attention, 2);
  if (auto gradient = dyn_cast<device::AttentionGradientOp>(op))
    return count(gradient, 5);
  return 0;
}

/// The number of operations in one execution of `region`. Loops are multiplied
/// by their trip counts where these are known.
static int64_t countFlops(Region &region) {
  int64_t flops = 0;
  for (Operation &op : region.getOps()) {
    int64_t own = 0, trips = 1;
    if (isa_and_nonnull<math::MathDialect>(op.getDialect()))
      own = kFunctionFlops;
    else if (isa_and_nonnull<arith::ArithDialect>(op.getDialect()) &&
             !isa<arith::ConstantOp>(op))
      own = 1;
    for (Region &nested : op.getRegions())
      own = saturatingAdd(own, countFlops(nested));
    own = saturatingAdd(own, countAttentionFlops(&op));
    if (auto structured = dyn_cast<linalg::LinalgOp>(op))
      for (int64_t range : structured.getStaticLoopRanges())
        trips =
            saturatingMultiply(trips, ShapedType::isDynamic(range) ? 1 : range);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      if (std::optional<llvm::APInt> count = loop.getStaticTripCount())
        trips = count->getSExtValue();
    flops = saturatingAdd(flops, saturatingMultiply(own, trips));
  }
  return flops;
}

static int64_t getBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  return tensor.getNumElements() * getElementBytes(tensor.getElementType());
}

KernelCost lockstep::estimateCost(device::KernelOp kernel) {
  KernelCost cost;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes()))
    cost.bytes = saturatingAdd(cost.bytes, getBytes(type));
  cost.flops = countFlops(kernel.getBody());
  return cost;
}
