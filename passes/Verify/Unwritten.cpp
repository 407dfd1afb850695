//===- Unwritten.cpp - Reads of what nobody has written -------------------===//

#include "passes/Verify/Unwritten.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// A tensor, and how many of its elements have been written at most.
struct Partly {
  OpResult tensor;
  int64_t written = 0;
};

/// The elements that an insertion writes; nullopt if that is not a constant.
std::optional<int64_t> countWritten(Operation *op) {
  if (isa<tensor::InsertOp>(op))
    return 1;
  auto source = cast<tensor::InsertSliceOp>(op).getSourceType();
  return source.hasStaticShape() ? std::optional<int64_t>(source.getNumElements()) : std::nullopt;
}

class ReadFinder {
public:
  SmallVector<OpResult> find(tensor::EmptyOp empty) {
    pending.push_back({empty->getOpResult(0), 0});
    while (!pending.empty()) {
      Partly partly = pending.pop_back_val();
      bool isRead = false;
      for (OpOperand &use : partly.tensor.getUses())
        isRead |= reads(use, partly);
      if (isRead)
        found.push_back(partly.tensor);
    }
    return found;
  }

private:
  /// Whether the use reads elements; what hands them on is looked at later.
  bool reads(OpOperand &use, const Partly &partly) {
    Operation *op = use.getOwner();
    if (isa<tensor::DimOp, tensor::RankOp>(op))
      return false;
    if (isa<tensor::InsertOp, tensor::InsertSliceOp>(op)) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      std::optional<int64_t> more = countWritten(op);
      if (!more || !type.hasStaticShape())
        return false;
      // As a source it leaves as much unwritten as it has elements.
      int64_t written = use.getOperandNumber() == 0 ? type.getNumElements() - *more : partly.written + *more;
      if (written < type.getNumElements())
        pending.push_back({op->getOpResult(0), written});
      return false;
    }
    if (isa<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ReshapeOp>(op)) {
      pending.push_back({op->getOpResult(0), partly.written});
      return false;
    }
    // Of what is partly written, those elements may be meant that are.
    if (isa<tensor::ExtractOp, tensor::ExtractSliceOp>(op)) {
      if (partly.written == 0 && isa<tensor::ExtractSliceOp>(op))
        pending.push_back({op->getOpResult(0), 0});
      return partly.written == 0 && isa<tensor::ExtractOp>(op);
    }
    if (auto structured = dyn_cast<linalg::LinalgOp>(op))
      return structured.payloadUsesValueFromOperand(&use);
    if (auto destination = dyn_cast<DestinationStyleOpInterface>(op); destination && destination.isDpsInit(&use))
      return false;
    if (isa<scf::YieldOp>(op) && isa<scf::IfOp, scf::IndexSwitchOp>(op->getParentOp())) {
      pending.push_back({op->getParentOp()->getOpResult(use.getOperandNumber()), partly.written});
      return false;
    }
    return !isa<LoopLikeOpInterface, BranchOpInterface, scf::YieldOp, scf::ConditionOp>(op);
  }

  SmallVector<Partly> pending;
  SmallVector<OpResult> found;
};

} // namespace

SmallVector<OpResult> lockstep::findReadUnwritten(tensor::EmptyOp empty) { return ReadFinder().find(empty); }
