//===- RankConstants.cpp - Values that follow from a rank -----------------===//

#include "passes/Analysis/RankConstants.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/FoldConstants.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace lockstep;
using namespace mlir;

ArrayRef<Attribute> RankConstants::lookup(Value value) const {
  return values.lookup(value);
}

SmallVector<int64_t> RankConstants::lookupIntegers(Value value) const {
  SmallVector<int64_t> integers;
  auto append = [&](Attribute constant) {
    auto integer = dyn_cast<IntegerAttr>(constant);
    if (!integer || integer.getValue().getSignificantBits() > 64)
      return false;
    // A bit is true or false, not -1.
    integers.push_back(integer.getType().isInteger(1)
                           ? integer.getValue().getZExtValue()
                           : integer.getValue().getSExtValue());
    return true;
  };
  Attribute constant;
  if (ranks > 0 && matchPattern(value, m_Constant(&constant)))
    return append(constant) ? SmallVector<int64_t>(ranks, integers.front())
                            : SmallVector<int64_t>();
  if (!llvm::all_of(lookup(value), append))
    return {};
  return integers;
}

SmallVector<uint64_t> RankConstants::getTripCounts(Operation *op) const {
  auto loop = cast<scf::ForOp>(op);
  SmallVector<int64_t> lower = lookupIntegers(loop.getLowerBound()),
                       upper = lookupIntegers(loop.getUpperBound()),
                       step = lookupIntegers(loop.getStep());
  SmallVector<uint64_t> counts;
  if (lower.empty() || upper.empty() || step.empty() || loop.getUnsignedCmp())
    return counts;
  for (auto [from, to, by] : llvm::zip_equal(lower, upper, step)) {
    if (by <= 0)
      return {};
    uint64_t distance = static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
    counts.push_back(from < to ? (distance - 1) / by + 1 : 0);
  }
  return counts;
}

SmallVector<unsigned> RankConstants::getTakenRegions(Operation *branch) const {
  SmallVector<unsigned> taken;
  if (auto choice = dyn_cast<scf::IfOp>(branch)) {
    for (int64_t condition : lookupIntegers(choice.getCondition()))
      taken.push_back(condition ? 0 : 1);
  } else if (auto choice = dyn_cast<scf::IndexSwitchOp>(branch)) {
    for (int64_t index : lookupIntegers(choice.getArg())) {
      const int64_t *found = llvm::find(choice.getCases(), index);
      taken.push_back(found == choice.getCases().end()
                          ? 0
                          : found - choice.getCases().begin() + 1);
    }
  }
  return taken;
}

bool RankConstants::isNeverEntered(Region &region) const {
  Operation *parent = region.getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (std::optional<APInt> tripCounts = loop.getStaticTripCount())
      return tripCounts->isZero();
    SmallVector<uint64_t> counts = getTripCounts(loop);
    return !counts.empty() && llvm::all_of(counts, [](uint64_t tripCounts) {
      return tripCounts == 0;
    });
  }
  if (!isa<scf::IfOp, scf::IndexSwitchOp>(parent))
    return false;
  if (SmallVector<unsigned> taken = getTakenRegions(parent); !taken.empty())
    return !llvm::is_contained(taken, region.getRegionNumber());
  Attribute constant;
  if (!matchPattern(parent->getOperand(0), m_Constant(&constant)))
    return false;
  SmallVector<RegionSuccessor> entered;
  cast<RegionBranchOpInterface>(parent).getEntrySuccessorRegions(constant,
                                                                 entered);
  return llvm::none_of(entered, [&](const RegionSuccessor &successor) {
    return successor.getSuccessor() == &region;
  });
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

static bool isRank(FunctionOpInterface function, unsigned argument) {
  auto binding = function.getArgAttrOfType<device::BindingAttr>(
      argument, "device.binding");
  return binding && binding.getKind() == device::BindingKind::Rank;
}

void RankConstants::evaluate(Operation *op, bool readsId) {
  auto function = cast<FunctionOpInterface>(op);
  if (ranks == 0 || function.isExternal())
    return;
  bool usesRank = readsId;
  for (BlockArgument argument : function.getArguments())
    if (isRank(function, argument.getArgNumber())) {
      defineRanks(argument);
      usesRank = true;
    }
  if (usesRank)
    op->walk([&](Operation *inner) { visit(inner); });
}

void RankConstants::define(Value value, Constants constants) {
  storage.push_back(std::move(constants));
  values[value] = storage.back();
}

void RankConstants::defineRanks(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() != 0 || !type.getElementType().isInteger())
    return;
  Constants numbers;
  for (unsigned rank = 0; rank < ranks; ++rank)
    numbers.push_back(DenseElementsAttr::get(
        type, APInt(type.getElementTypeBitWidth(), areEqual ? 0 : rank)));
  define(value, std::move(numbers));
}

bool RankConstants::getOperands(
    Operation *op, SmallVectorImpl<ArrayRef<Attribute>> &operands) {
  for (Value operand : op->getOperands()) {
    ArrayRef<Attribute> known = lookup(operand);
    Attribute constant;
    if (known.empty() && matchPattern(operand, m_Constant(&constant))) {
      define(operand, Constants(ranks, constant));
      known = lookup(operand);
    }
    // An unwritten destination has no constant, and needs none.
    if (known.empty() && !isUnwritten(operand))
      return false;
    operands.push_back(known);
  }
  return true;
}

void RankConstants::visit(Operation *op) {
  if (isa<replica::IdOp>(op))
    return defineRanks(op->getResult(0));
  if (isa<scf::IfOp, scf::IndexSwitchOp>(op))
    return visitBranch(op);
  if (!canFold(op))
    return;
  SmallVector<ArrayRef<Attribute>> operands;
  if (!getOperands(op, operands))
    return;
  ConstantFolder folder(op, [&](Value captured, unsigned rank) -> Attribute {
    Attribute constant;
    if (ArrayRef<Attribute> known = lookup(captured); !known.empty())
      return known[rank];
    return matchPattern(captured, m_Constant(&constant)) ? constant
                                                         : Attribute();
  });
  SmallVector<Constants> results(op->getNumResults());
  SmallVector<Attribute> previous;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    SmallVector<Attribute> inputs;
    for (ArrayRef<Attribute> operand : operands)
      inputs.push_back(operand.empty() ? Attribute() : operand[rank]);
    SmallVector<Attribute> outputs;
    if (!folder.fold(inputs, rank, outputs))
      return;
    for (auto [result, output] : llvm::zip_equal(results, outputs))
      result.push_back(output);
  }
  for (auto [value, constants] : llvm::zip_equal(op->getResults(), results))
    define(value, std::move(constants));
}

/// The result of a branch on a rank is the value that the region which the rank
/// enters yields.
void RankConstants::visitBranch(Operation *branch) {
  SmallVector<unsigned> taken = getTakenRegions(branch);
  if (taken.empty())
    return;
  for (OpResult result : branch->getResults()) {
    Constants constants;
    for (unsigned rank = 0; rank < ranks; ++rank) {
      Value yielded = branch->getRegion(taken[rank])
                          .front()
                          .getTerminator()
                          ->getOperand(result.getResultNumber());
      Attribute constant;
      if (ArrayRef<Attribute> known = lookup(yielded); !known.empty())
        constant = known[rank];
      else if (!matchPattern(yielded, m_Constant(&constant)))
        break;
      constants.push_back(constant);
    }
    if (constants.size() == ranks)
      define(result, std::move(constants));
  }
}
