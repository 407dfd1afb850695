//===- Computation.cpp - Operations that are repeated ---------------------===//

#include "passes/Kernels/Computation.h"

#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace lockstep;
using namespace mlir;

RankedTensorType lockstep::getStaticType(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? type : nullptr;
}

Value lockstep::getViewed(Value value) {
  while (Operation *producer = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(producer))
      break;
    value = producer->getOperand(0);
  }
  return value;
}

/// About how many instructions of a GPU an operation is; none for one that is
/// not repeated.
static std::optional<int64_t> countInstructions(Operation *op) {
  constexpr int64_t exponential = 12, division = 10, tangent = 22,
                    longFunction = 40, ofHalf = 4, ofDouble = 4;
  if (op->getNumRegions() > 0 || isa<tensor::ExtractOp>(op))
    return std::nullopt;
  if (isa<arith::ConstantOp, linalg::IndexOp>(op) || op->getNumResults() == 0)
    return 0;
  Type type = op->getResult(0).getType();
  int64_t count = 1;
  if (isa<math::ExpOp, math::Exp2Op>(op))
    count = exponential;
  else if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(op))
    count = division;
  else if (isa<math::TanhOp>(op))
    count = tangent;
  else if (isa<math::MathDialect>(op->getDialect()) &&
           !isa<math::AbsFOp, math::AbsIOp, math::FmaOp>(op))
    count = longFunction;
  else if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16 &&
           !isa<arith::TruncFOp, arith::SelectOp>(op))
    count = ofHalf;
  else if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
               arith::RemFOp>(op))
    count = longFunction;
  return type.isF64() ? count * ofDouble : count;
}

namespace {
/// What an iteration executes and reads for some results of an operation.
struct BodySlice {
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<OpOperand *> inputs;

  /// None if something cannot be repeated in another kernel: a destination that
  /// is read, or a scalar that is no constant.
  static std::optional<BodySlice> get(linalg::GenericOp op,
                                      ArrayRef<Value> results) {
    BodySlice slice;
    SmallVector<Value> worklist;
    for (Value result : results)
      worklist.push_back(op.getBody()->getTerminator()->getOperand(
          cast<OpResult>(result).getResultNumber()));
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(value);
          argument && argument.getOwner() == op.getBody()) {
        OpOperand &operand = op->getOpOperand(argument.getArgNumber());
        if (!op.isDpsInput(&operand))
          return std::nullopt;
        slice.inputs.insert(&operand);
        continue;
      }
      Operation *producer = value.getDefiningOp();
      if (!producer || producer->getBlock() != op.getBody()) {
        if (!matchPattern(value, m_Constant()))
          return std::nullopt;
        continue;
      }
      if (slice.ops.insert(producer))
        llvm::append_range(worklist, producer->getOperands());
    }
    return slice;
  }
};
} // namespace

SmallVector<linalg::GenericOp> Computation::getOps() const {
  SmallVector<linalg::GenericOp> ops =
      llvm::to_vector(llvm::make_first_range(results));
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops;
}

bool Computation::add(Value value, llvm::function_ref<bool(Value)> isStored) {
  constexpr size_t mostOps = 16;
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || !lockstep::isElementwise(op) ||
      llvm::any_of(op.getStaticLoopRanges(), ShapedType::isDynamic) ||
      !op.getIndexingMapMatchingResult(cast<OpResult>(value)).isIdentity())
    return false;
  // Several operations may read a result.
  auto [known, isNew] = results.try_emplace(op);
  if (!known->second.insert(value))
    return true;
  if (results.size() > mostOps)
    return false;
  std::optional<BodySlice> slice = BodySlice::get(op, value);
  if (!slice)
    return false;
  for (Operation *each : slice->ops) {
    std::optional<int64_t> count = countInstructions(each);
    if (!count)
      return false;
    if (inner.insert(each))
      instructions += *count;
  }
  int64_t elements = getStaticType(value).getNumElements();
  for (OpOperand *input : slice->inputs) {
    RankedTensorType type = getStaticType(input->get());
    if (!type && !matchPattern(input->get(), m_Constant()))
      return false;
    Value viewed = getViewed(input->get());
    if (!type || type.getNumElements() <= elements / kMuchSmaller ||
        isStored(viewed)) {
      sources.insert(input->get());
      continue;
    }
    if (viewed != input->get() || type.getNumElements() != elements ||
        !op.getMatchingIndexingMap(input).isPermutation() ||
        !add(viewed, isStored))
      return false;
  }
  return true;
}

linalg::GenericOp lockstep::copyResults(RewriterBase &rewriter, Location loc,
                                        linalg::GenericOp op,
                                        ArrayRef<Value> results,
                                        const IRMapping &copied) {
  BodySlice slice = *BodySlice::get(op, results);
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands())
    if (slice.inputs.contains(input)) {
      inputs.push_back(copied.lookupOrDefault(input->get()));
      maps.push_back(op.getMatchingIndexingMap(input));
    }
  for (Value result : results) {
    OpOperand *init = op.getTiedOpOperand(cast<OpResult>(result));
    inits.push_back(init->get());
    maps.push_back(op.getMatchingIndexingMap(init));
  }
  return linalg::GenericOp::create(
      rewriter, loc, ValueRange(inits).getTypes(), inputs, inits, maps,
      op.getIteratorTypesArray(),
      [&](OpBuilder &b, Location inner, ValueRange arguments) {
        IRMapping mapping;
        for (OpOperand *input : op.getDpsInputOperands())
          if (slice.inputs.contains(input)) {
            mapping.map(op.getMatchingBlockArgument(input), arguments.front());
            arguments = arguments.drop_front();
          }
        for (Operation &each : op.getBody()->without_terminator())
          if (slice.ops.contains(&each))
            b.clone(each, mapping);
        SmallVector<Value> yielded;
        for (Value result : results)
          yielded.push_back(
              mapping.lookupOrDefault(op.getBody()->getTerminator()->getOperand(
                  cast<OpResult>(result).getResultNumber())));
        linalg::YieldOp::create(b, inner, yielded);
      });
}
