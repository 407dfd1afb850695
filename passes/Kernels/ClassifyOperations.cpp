//===- ClassifyOperations.cpp - Which operations become kernels -----------===//

#include "passes/Kernels/Grouping.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "passes/Analysis/Views.h"
#include "passes/Kernels/Structure.h"
#include "runtime/artifact/GpuAttention.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace lockstep;
using namespace mlir;

bool lockstep::isOrdered(Operation *op) {
  return isa<device::LoadBatchOp>(op) ||
         isa<collective::CollectiveDialect>(op->getDialect());
}

bool lockstep::isControlFlow(Operation *op) {
  return isa<scf::ForOp, scf::WhileOp, scf::IfOp, scf::IndexSwitchOp>(op);
}

/// If one execution of a loop's body, or the sides of a branch, have at least
/// this many iterations of structured operations, kernels of their own take
/// less time: these are divided among workers, or blocks of a GPU.
static constexpr int64_t kManyIterations = 1 << 20;

/// The number of points of the iteration space of `op`; 0 for a fill, and if
/// sizes are dynamic.
static int64_t countIterations(linalg::LinalgOp op) {
  if (isa<linalg::FillOp>(op) || op.hasDynamicShape())
    return 0;
  int64_t count = 1;
  for (int64_t size : op.getStaticLoopRanges())
    count *= size;
  return count;
}

/// Whether `op` may be in the step although it need not be: a step counts by
/// signed registers of 64 bits, and has no switches.
static bool mayStayInStep(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return isa<scf::WhileOp, scf::IfOp>(op);
  Type counter = loop.getInductionVar().getType();
  if (counter.isIndex())
    return !loop.getUnsignedCmp();
  unsigned width = counter.getIntOrFloatBitWidth();
  return loop.getUnsignedCmp() ? width < 64 : width <= 64;
}

bool lockstep::isStepControlFlow(Operation *op) {
  if (!isControlFlow(op))
    return false;
  bool mayStay = mayStayInStep(op);
  int64_t iterations = 0;
  WalkResult result = op->walk([&](Operation *inner) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(inner);
    if (linalgOp)
      iterations += countIterations(linalgOp);
    // A kernel cannot allocate memory for a tensor of dynamic size that a side
    // of a branch computes.
    bool needsMemory = isa_and_nonnull<scf::IfOp>(inner->getParentOp()) &&
                       llvm::any_of(inner->getResultTypes(), [](Type type) {
                         auto tensor = dyn_cast<RankedTensorType>(type);
                         return tensor && !tensor.hasStaticShape();
                       });
    bool worthKernels = needsMemory || isOrdered(inner) ||
                        (linalgOp && isProduct(linalgOp)) ||
                        device::isAttention(inner) ||
                        (mayStay && iterations >= kManyIterations);
    return worthKernels ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether only attention uses a value, directly or through reshapes.
static bool feedsOnlyAttention(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return device::isAttention(user) ||
           (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user) &&
            feedsOnlyAttention(user->getResult(0)));
  });
}

/// Whether a library that computes attention reads a slice where it is: if rows
/// of heads are contiguous, and begin at multiples of 16 bytes.
static bool isReadInPlace(tensor::ExtractSliceOp slice) {
  constexpr int64_t unit = runtime::GpuAttention::unit;
  // Other slices are no views of whole tensors in memory.
  if (slice.getSource().getDefiningOp<tensor::ExtractSliceOp>() ||
      !slice.getSourceType().hasStaticShape() || slice->getNumOperands() > 1 ||
      !slice.hasUnitStride() || !feedsOnlyAttention(slice))
    return false;
  ArrayRef<int64_t> shape = slice.getSourceType().getShape();
  int64_t stride = 1, offset = 0;
  for (int64_t dim = slice.getSourceType().getRank() - 1; dim >= 0; --dim) {
    if (dim + 1 < slice.getSourceType().getRank() && stride % unit != 0 &&
        slice.getStaticSizes()[dim] > 1)
      return false;
    offset += slice.getStaticOffsets()[dim] * stride;
    stride *= shape[dim];
  }
  return offset % unit == 0;
}

static bool isScalar(Type type) { return type.isIntOrIndexOrFloat(); }

OpClass lockstep::classify(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>() || isOrdered(op) ||
      isStepControlFlow(op) || isJoinedGather(op))
    return OpClass::Step;
  // A tensor of dynamic shape cannot be reshaped as a view of its memory.
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) &&
      !cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape())
    return OpClass::Compute;
  if (matchPattern(op, m_Constant()) ||
      isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::CastOp, tensor::DimOp>(op))
    return OpClass::Glue;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
      slice && isReadInPlace(slice))
    return OpClass::Glue;
  // A fill needs a kernel only if the step itself uses its result.
  if (isa<linalg::FillOp>(op))
    return OpClass::Glue;
  if (op->getNumRegions() == 0 && llvm::all_of(op->getResultTypes(), isScalar))
    return OpClass::Glue;
  return OpClass::Compute;
}
