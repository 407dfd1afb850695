//===- FillUnwritten.cpp - Initialize unwritten tensors to zero -----------===//

#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_FILLUNWRITTENPASS
#include "passes/Passes.h.inc"

namespace {

/// A contiguous box of elements of a tensor of static shape: in each dimension,
/// the first index and the size.
struct Box {
  SmallVector<int64_t> offsets, sizes;

  int64_t getNumElements() const { return ShapedType::getNumElements(sizes); }
  bool overlaps(const Box &other) const {
    for (size_t i = 0; i < offsets.size(); ++i)
      if (offsets[i] + sizes[i] <= other.offsets[i] ||
          other.offsets[i] + other.sizes[i] <= offsets[i])
        return false;
    return true;
  }
};

/// The part of its destination that `op` writes; nullopt if that is not known,
/// or not contiguous.
std::optional<Box> getInsertedBox(Operation *op) {
  Box box;
  if (auto insert = dyn_cast<tensor::InsertOp>(op)) {
    for (Value index : insert.getIndices()) {
      std::optional<int64_t> constant = getConstantIntValue(index);
      if (!constant)
        return std::nullopt;
      box.offsets.push_back(*constant);
      box.sizes.push_back(1);
    }
    return box;
  }
  auto slice = cast<tensor::InsertSliceOp>(op);
  if (slice.hasUnitStride() &&
      llvm::none_of(slice.getStaticOffsets(), ShapedType::isDynamic) &&
      llvm::none_of(slice.getStaticSizes(), ShapedType::isDynamic))
    return Box{SmallVector<int64_t>(slice.getStaticOffsets()),
               SmallVector<int64_t>(slice.getStaticSizes())};
  return std::nullopt;
}

/// Whether loop `loop` of `op` covers dimension `dim` of `init`: the range of
/// the loop is the size of the other operands in the dimension that it indexes,
/// which must be equal to that of `init`.
bool coversDimension(linalg::LinalgOp op, OpOperand &init, unsigned dim,
                     unsigned loop) {
  using Variable = ValueBoundsConstraintSet::Variable;
  for (OpOperand &operand : op->getOpOperands()) {
    if (&operand == &init || !isa<RankedTensorType>(operand.get().getType()))
      continue;
    for (auto [i, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (expr == getAffineDimExpr(loop, op.getContext())) {
        FailureOr<bool> isEqual = ValueBoundsConstraintSet::areEqual(
            Variable(init.get(), dim), Variable(operand.get(), i));
        if (failed(isEqual) || !*isEqual)
          return false;
      }
  }
  return true;
}

/// Whether `op` overwrites every element of its destination `init` with a value
/// that does not depend on the previous one.
bool overwritesAll(linalg::LinalgOp op, OpOperand &init) {
  AffineMap map = op.getMatchingIndexingMap(&init);
  if (op.payloadUsesValueFromOperand(&init) || !map.isProjectedPermutation())
    return false;
  // Loops that the destination does not have are executed at least once.
  for (auto [loop, range] : llvm::enumerate(op.getStaticLoopRanges()))
    if (!map.isFunctionOfDim(loop) && range <= 0)
      return false;
  for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
    if (op.hasDynamicShape() &&
        !coversDimension(op, init, dim, map.getDimPosition(dim)))
      return false;
  return true;
}

bool mayBeSeen(Value tensor, ArrayRef<Box> written);

/// Whether `use` may read, or forward, elements of a tensor that have not been
/// written. The elements in `written`, which are disjoint boxes, have been.
bool mayBeSeen(OpOperand &use, ArrayRef<Box> written) {
  Operation *op = use.getOwner();
  if (isa<tensor::DimOp, tensor::RankOp>(op))
    return false;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.isDpsInit(&use)
               ? !overwritesAll(structured, use)
               : structured.payloadUsesValueFromOperand(&use);
  // The destination of an insertion is its second operand.
  auto type = cast<RankedTensorType>(use.get().getType());
  if (!isa<tensor::InsertOp, tensor::InsertSliceOp>(op) ||
      use.getOperandNumber() != 1 || !type.hasStaticShape())
    return true;
  std::optional<Box> box = getInsertedBox(op);
  if (!box || llvm::any_of(written, [&](const Box &other) {
        return other.overlaps(*box);
      }))
    return true;
  SmallVector<Box> all(written);
  all.push_back(*box);
  int64_t count = 0;
  for (const Box &one : all)
    count += one.getNumElements();
  return count < type.getNumElements() && mayBeSeen(op->getResult(0), all);
}

bool mayBeSeen(Value tensor, ArrayRef<Box> written) {
  return llvm::any_of(tensor.getUses(),
                      [&](OpOperand &use) { return mayBeSeen(use, written); });
}

struct FillUnwritten : impl::FillUnwrittenPassBase<FillUnwritten> {
  void runOnOperation() override {
    getOperation()->walk(
        [](bufferization::AllocTensorOp alloc) { replace(alloc); });
    getOperation()->walk([](tensor::EmptyOp empty) { fill(empty); });
  }

  /// Replaces an allocation by its copied tensor, or else by a `tensor.empty`.
  static void replace(bufferization::AllocTensorOp op) {
    OpBuilder builder(op);
    Value held = op.getCopy();
    if (!held)
      held = tensor::EmptyOp::create(builder, op.getLoc(), op.getType(),
                                     op.getDynamicSizes());
    op.replaceAllUsesWith(held);
    op.erase();
  }

  /// Fills the tensor with zeros for uses that may read unwritten elements.
  static void fill(tensor::EmptyOp empty) {
    llvm::SmallPtrSet<OpOperand *, 4> seeing;
    for (OpOperand &use : empty->getUses())
      if (mayBeSeen(use, {}))
        seeing.insert(&use);
    if (seeing.empty())
      return;
    OpBuilder builder(empty->getContext());
    builder.setInsertionPointAfter(empty);
    // Element types without a zero constant are not supported, and later passes
    // report them.
    TypedAttr zero = builder.getZeroAttr(empty.getType().getElementType());
    if (!zero)
      return;
    Value constant = arith::ConstantOp::create(builder, empty.getLoc(), zero);
    auto filled = linalg::FillOp::create(builder, empty.getLoc(), constant,
                                         empty.getResult());
    empty->replaceUsesWithIf(filled->getResults(), [&](OpOperand &use) {
      return seeing.contains(&use);
    });
  }
};

} // namespace
} // namespace lockstep
