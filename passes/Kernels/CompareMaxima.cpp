//===- CompareMaxima.cpp - Compare maxima instead of their operands -------===//

#include "passes/Kernels/Fusion.h"
#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Dominance.h"

using namespace lockstep;
using namespace mlir;
using arith::CmpFPredicate;

namespace {
/// A binary operation on the elements of two tensors of the shape of its
/// result.
template <typename Op> struct Pointwise {
  linalg::GenericOp generic;
  Op op;
  /// The inputs of `generic` with the operands of `op`.
  OpOperand *lhs = nullptr, *rhs = nullptr;
};
} // namespace

/// None if `generic` computes something else.
template <typename Op>
static std::optional<Pointwise<Op>> matchPointwise(linalg::GenericOp generic) {
  Block &body = *generic.getBody();
  if (generic.getNumResults() != 1 || !isElementwise(generic) ||
      !llvm::hasSingleElement(body.without_terminator()) ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return std::nullopt;
  auto op = dyn_cast<Op>(body.front());
  if (!op || body.getTerminator()->getOperand(0) != op.getResult())
    return std::nullopt;
  OpOperand *lhs = getInput(generic, op->getOperand(0)),
            *rhs = getInput(generic, op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  return Pointwise<Op>{generic, op, lhs, rhs};
}

/// The operand `value` of a comparison with `bound` that may be max(value,
/// bound) as well, also where one of them is no number, and so the maximum;
/// null if there is none.
static OpOperand *findReplaceable(Pointwise<arith::CmpFOp> comparison,
                                  Value value, Value bound) {
  bool isLeft = comparison.lhs->get() == value;
  OpOperand *found = isLeft ? comparison.lhs : comparison.rhs,
            *other = isLeft ? comparison.rhs : comparison.lhs;
  if (found->get() != value || other->get() != bound)
    return nullptr;
  switch (comparison.op.getPredicate()) {
  case CmpFPredicate::OGT:
  case CmpFPredicate::UGT:
  case CmpFPredicate::OLE:
  case CmpFPredicate::ULE:
    return isLeft ? found : nullptr;
  case CmpFPredicate::OLT:
  case CmpFPredicate::ULT:
  case CmpFPredicate::OGE:
  case CmpFPredicate::UGE:
    return isLeft ? nullptr : found;
  default:
    return nullptr;
  }
}

/// Makes the comparisons of `value` with `bound` compare `maximum` instead, if
/// nothing else uses `value` then.
static void compareMaximum(Value value, Value bound, linalg::GenericOp maximum,
                           DominanceInfo &dominance) {
  SmallVector<OpOperand *> replaceable;
  for (Operation *user : value.getUsers()) {
    if (user == maximum)
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(user);
    auto comparison =
        generic ? matchPointwise<arith::CmpFOp>(generic) : std::nullopt;
    OpOperand *operand =
        comparison ? findReplaceable(*comparison, value, bound) : nullptr;
    if (!operand || !dominance.properlyDominates(maximum, generic))
      return;
    replaceable.push_back(operand);
  }
  for (OpOperand *operand : replaceable)
    operand->set(maximum.getResult(0));
}

void lockstep::compareMaxima(func::FuncOp function) {
  DominanceInfo dominance(function);
  function.walk([&](linalg::GenericOp generic) {
    auto maximum = matchPointwise<arith::MaximumFOp>(generic);
    if (!maximum)
      return;
    for (auto [value, bound] : {std::pair(maximum->lhs, maximum->rhs),
                                std::pair(maximum->rhs, maximum->lhs)})
      if (findProductFor(value->get()))
        compareMaximum(value->get(), bound->get(), generic, dominance);
  });
}
