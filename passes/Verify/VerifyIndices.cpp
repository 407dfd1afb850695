//===- VerifyIndices.cpp - Indices that are known to be out of range ------===//
//
// An index out of range is undefined behaviour where it is executed. Operations
// with constant indices that are certain to be executed are refused here; the
// interpreter checks all others.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/Verify/ReasonNotes.h"

#include "dialect/Interfaces/ReplicaContext.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_VERIFYINDICESPASS
#include "passes/Passes.h.inc"

namespace {

bool hasElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() > 0;
}

/// True if every execution of the operation around `region` executes the entry
/// block of `region`.
bool isEntered(Region &region) {
  Operation *op = region.getParentOp();
  if (isa<OpensContextInterface, scf::ExecuteRegionOp>(op))
    return true;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    std::optional<llvm::APInt> iterations = loop.getStaticTripCount();
    return iterations && !iterations->isZero();
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    llvm::APInt condition;
    return matchPattern(branch.getCondition(), m_ConstantInt(&condition)) &&
           condition.isOne() == (region.getRegionNumber() == 0);
  }
  // The before-region of a while is executed at least once.
  if (isa<scf::WhileOp>(op))
    return region.getRegionNumber() == 0;
  if (isa<tensor::GenerateOp>(op))
    return hasElements(op->getResult(0).getType());
  if (auto loops = dyn_cast<linalg::LinalgOp>(op))
    return llvm::all_of(loops.getStaticLoopRanges(), [](int64_t size) {
      return !ShapedType::isDynamic(size) && size > 0;
    });
  return false;
}

/// True if `op` is executed whenever the function is, as far as the operations
/// around it show that. (Blocks other than an entry block may be skipped.)
bool isAlwaysExecuted(Operation *op, Operation *function) {
  for (; op != function; op = op->getParentOp())
    if (!op->getBlock()->isEntryBlock() || !isEntered(*op->getParentRegion()))
      return false;
  return true;
}

struct VerifyIndices : impl::VerifyIndicesPassBase<VerifyIndices> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (Operation &function : *getOperation().getBody())
      if (isa<replica::StepOp, replica::ProgramOp>(function))
        function.walk([&](Operation *op) { visit(op, &function); });
  }

private:
  void visit(Operation *op, Operation *function) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      verifyElement(op, extract.getTensor().getType(), extract.getIndices(),
                    function);
    else if (auto insert = dyn_cast<tensor::InsertOp>(op))
      verifyElement(op, insert.getDest().getType(), insert.getIndices(),
                    function);
    else if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op))
      verifySlice(extract, extract.getSourceType(), function);
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      verifySlice(insert, insert.getDestType(), function);
  }

  void verifyElement(Operation *op, TensorType type, ValueRange indices,
                     Operation *function) {
    for (auto [dimension, value] : llvm::enumerate(indices)) {
      std::optional<int64_t> index = getConstantIntValue(value);
      int64_t size = type.getDimSize(dimension);
      if (!index || ShapedType::isDynamic(size) ||
          (*index >= 0 && *index < size) || !isAlwaysExecuted(op, function))
        continue;
      signalPassFailure();
      emitUserError(op->getLoc())
          << "expected an index in [0, " << size << ") for dimension "
          << dimension << " of " << type << ", found " << *index;
    }
  }

  template <typename SliceOp>
  void verifySlice(SliceOp op, RankedTensorType type, Operation *function) {
    for (int64_t dimension = 0; dimension < type.getRank(); ++dimension) {
      std::optional<int64_t> offset =
          getConstantIntValue(op.getMixedOffsets()[dimension]);
      std::optional<int64_t> size =
          getConstantIntValue(op.getMixedSizes()[dimension]);
      std::optional<int64_t> stride =
          getConstantIntValue(op.getMixedStrides()[dimension]);
      int64_t all = type.getDimSize(dimension);
      if (!offset || !size || !stride || ShapedType::isDynamic(all) ||
          *size == 0)
        continue;
      int64_t last = 0;
      bool overflows = llvm::MulOverflow(*size - 1, *stride, last) ||
                       llvm::AddOverflow(*offset, last, last);
      bool fits = !overflows && *size > 0 && *offset >= 0 && *offset < all &&
                  last >= 0 && last < all;
      if (fits || !isAlwaysExecuted(op, function))
        continue;
      signalPassFailure();
      emitUserError(op->getLoc())
          << "expected a slice inside of size " << all << " of dimension "
          << dimension << " of " << type << ", found offset " << *offset
          << ", size " << *size << " and stride " << *stride;
    }
  }
};

} // namespace
} // namespace lockstep
