//===- Sequence.cpp - Which collectives code issues, in order -------------===//

#include "passes/Verify/Sequence.h"

#include "dialect/Interfaces/CollectiveOpInterface.h"
#include "dialect/Interfaces/Uniformity.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "dialect/Replica/Strategy.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace lockstep;
using namespace mlir;

using Counts = llvm::function_ref<bool(Operation *)>;

/// How deep two def-use chains are compared: computations of conditions are
/// short, and a bound keeps the time linear.
static constexpr unsigned kComparedDepth = 16;

bool lockstep::isCollective(Operation *op, SymbolTableCollection &symbols) {
  if (isa<CollectiveOpInterface, replica::AllReduceOp,
          replica::AllReduceSlicesOp, replica::AllGatherOp,
          replica::MergeCallOp, replica::ReduceToOp, replica::BatchReduceToOp,
          replica::ReduceOp, replica::ReduceSlicesOp, replica::GatherOp,
          replica::LocalResultsOp>(op))
    return true;
  // Servers that hold the rows of a table wait for requests of all replicas.
  if (isa<replica::LookupOp>(op))
    return replica::StrategyProperties::of(op->getParentOfType<ModuleOp>())
               .placement == replica::Placement::Servers;
  if (auto read = dyn_cast<replica::ReadOp>(op))
    if (replica::VariableOp variable = replica::lookupVariable(op, symbols))
      return read.combinesCopies(variable);
  if (!isa<replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp,
           replica::ScatterOp>(op))
    return false;
  replica::VariableOp variable = replica::lookupVariable(op, symbols);
  return variable && !variable.isOnRead() &&
         variable.getAggregation() != replica::Aggregation::Uniform &&
         getEnclosingContext(op) == Context::Replica;
}

Operation *lockstep::findCollective(Operation *op,
                                    SymbolTableCollection &symbols,
                                    Counts counts) {
  Operation *found = nullptr;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (!isCollective(inner, symbols) || !counts(inner))
      return WalkResult::advance();
    found = inner;
    return WalkResult::interrupt();
  });
  return found;
}

//===----------------------------------------------------------------------===//
// Making sequences
//===----------------------------------------------------------------------===//

Sequence SequenceMatcher::getSequence(Region &region, Counts counts) {
  Sequence sequence;
  for (Operation &op : region.getOps())
    append(sequence, &op, counts);
  return sequence;
}

void SequenceMatcher::append(Sequence &sequence, Operation *op, Counts counts) {
  if (::isCollective(op, *symbols)) {
    if (counts(op))
      sequence.push_back({op, {}});
    return;
  }
  std::vector<Sequence> regions;
  for (Region &inner : op->getRegions())
    regions.push_back(getSequence(inner, counts));
  if (llvm::all_of(regions,
                   [](const Sequence &inner) { return inner.empty(); }))
    return;
  size_t known = equalities.size();
  bool same =
      isa<scf::IfOp, scf::IndexSwitchOp>(op) &&
      llvm::all_of(llvm::drop_begin(regions), [&](const Sequence &inner) {
        return areEqual(regions.front(), inner);
      });
  if (!same)
    forget(known);
  bool once = isa<scf::ExecuteRegionOp>(op) && op->getRegion(0).hasOneBlock();
  if (same || once ||
      isa<replica::RunOp, replica::UpdateOp, replica::UpdateNonSlotOp,
          replica::ValuesFromFunctionOp>(op))
    llvm::move(regions.front(), std::back_inserter(sequence));
  else
    sequence.push_back({op, std::move(regions)});
}

//===----------------------------------------------------------------------===//
// Comparing them
//===----------------------------------------------------------------------===//

static bool haveStaticShapes(TypeRange types) {
  return llvm::all_of(types, [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || shaped.hasStaticShape();
  });
}

bool SequenceMatcher::haveEqualAttributes(Operation *lhs,
                                          Operation *rhs) const {
  DictionaryAttr left = lhs->getAttrDictionary(),
                 right = rhs->getAttrDictionary();
  if (left == right)
    return true;
  auto rule = [](StringRef name) {
    if (name == "kind")
      return UniformityRule::KindsMayDiffer;
    if (name == "reduction")
      return UniformityRule::ReductionsMayDiffer;
    if (name == "group")
      return UniformityRule::GroupsMayDiffer;
    // Ranks rendezvous on a channel: once assigned, it must be the same.
    return name == "channel" ? UniformityRule::ChannelsMayDiffer
                             : UniformityRule::AttributesMayDiffer;
  };
  auto differs = [&](DictionaryAttr in, DictionaryAttr other) {
    return llvm::any_of(in, [&](NamedAttribute named) {
      return other.get(named.getName()) != named.getValue() &&
             !isBroken(rule(named.getName()));
    });
  };
  return !differs(left, right) && !differs(right, left);
}

/// True if two collectives match when some replicas issue the one and some the
/// other.
bool SequenceMatcher::match(Operation *lhs, Operation *rhs) {
  if (lhs->getName() != rhs->getName())
    return isBroken(UniformityRule::KindsMayDiffer);
  if (!haveEqualAttributes(lhs, rhs))
    return false;
  if (!isBroken(UniformityRule::TypesMayDiffer) &&
      (lhs->getOperandTypes() != rhs->getOperandTypes() ||
       lhs->getResultTypes() != rhs->getResultTypes()))
    return false;
  if (!isBroken(UniformityRule::SideSizesMayDiffer) &&
      !haveStaticShapes(lhs->getOperandTypes()))
    return false;
  auto merge = dyn_cast<replica::MergeCallOp>(lhs);
  if (!merge)
    return true;
  // One region runs for all replicas, on one value of each plain argument.
  if (!isBroken(UniformityRule::PlainArgumentsMayDiffer))
    for (auto [left, right, argument] :
         llvm::zip_equal(lhs->getOperands(), rhs->getOperands(),
                         merge.getBody().getArguments()))
      if (!isa<replica::PerReplicaType>(argument.getType()) &&
          !areEqual(left, right))
        return false;
  return isBroken(UniformityRule::MergedRegionsMayDiffer) ||
         OperationEquivalence::isRegionEquivalentTo(
             &lhs->getRegion(0), &rhs->getRegion(0),
             OperationEquivalence::IgnoreLocations);
}

bool SequenceMatcher::haveEqualControls(Operation *lhs, Operation *rhs) {
  if (lhs == rhs)
    return true;
  if (lhs->getName() != rhs->getName() ||
      lhs->getNumRegions() != rhs->getNumRegions())
    return false;
  // The condition of a while is computed in its region, so its trip count is
  // not known.
  if (isa<scf::WhileOp>(lhs))
    return isBroken(UniformityRule::UnknownTripCountsAreEqual);
  if (!isa<scf::ForOp, scf::IfOp, scf::IndexSwitchOp>(lhs))
    return false;
  bool loops = isa<scf::ForOp>(lhs);
  if (auto branch = dyn_cast<scf::IndexSwitchOp>(lhs);
      branch && branch.getCases() != cast<scf::IndexSwitchOp>(rhs).getCases())
    return false;
  if (loops && cast<scf::ForOp>(lhs).getUnsignedCmp() !=
                   cast<scf::ForOp>(rhs).getUnsignedCmp())
    return false;
  if (isBroken(loops ? UniformityRule::BoundsMayDiffer
                     : UniformityRule::NestedConditionsMayDiffer))
    return true;
  for (unsigned i = 0; i < (loops ? 3u : 1u); ++i)
    if (!areEqual(lhs->getOperand(i), rhs->getOperand(i)))
      return false;
  return true;
}

bool SequenceMatcher::areEqual(const Item &lhs, const Item &rhs) {
  if (lhs.isCollective() != rhs.isCollective())
    return false;
  if (lhs.isCollective()) {
    if (!match(lhs.op, rhs.op))
      return false;
    auto uniformity = dyn_cast<UniformityOpInterface>(lhs.op);
    for (auto [left, right] :
         llvm::zip(lhs.op->getResults(), rhs.op->getResults())) {
      if (uniformity &&
          uniformity.getResultUniformity(left.getResultNumber(), *symbols) ==
              ResultUniformity::Uniform)
        learn(left, right);
    }
    return true;
  }
  if (!haveEqualControls(lhs.op, rhs.op))
    return false;
  return llvm::all_of_zip(lhs.regions, rhs.regions,
                          [&](const Sequence &left, const Sequence &right) {
                            return areEqual(left, right);
                          });
}

std::optional<size_t> SequenceMatcher::findDifference(ArrayRef<Item> lhs,
                                                      ArrayRef<Item> rhs) {
  for (size_t i = 0; i < lhs.size() && i < rhs.size(); ++i)
    if (!areEqual(lhs[i], rhs[i]))
      return i;
  if (lhs.size() == rhs.size() || isBroken(UniformityRule::CountsMayDiffer))
    return std::nullopt;
  return std::min(lhs.size(), rhs.size());
}

/// True if the values are known to be equal wherever both are defined.
bool SequenceMatcher::areEqual(Value lhs, Value rhs, unsigned depth) {
  if (lhs == rhs || same.contains({lhs, rhs}))
    return true;
  Attribute left, right;
  if (matchPattern(lhs, m_Constant(&left)) &&
      matchPattern(rhs, m_Constant(&right)))
    return left == right;
  // The same computation of equal values.
  auto from = dyn_cast<OpResult>(lhs), to = dyn_cast<OpResult>(rhs);
  if (!from || !to || from.getResultNumber() != to.getResultNumber() ||
      depth == kComparedDepth)
    return false;
  Operation *one = from.getOwner(), *other = to.getOwner();
  if (one->getName() != other->getName() ||
      one->getAttrDictionary() != other->getAttrDictionary() ||
      one->getResultTypes() != other->getResultTypes() ||
      one->getNumOperands() != other->getNumOperands() ||
      one->getNumRegions() > 0 || other->getNumRegions() > 0 ||
      !isMemoryEffectFree(one))
    return false;
  if (!llvm::all_of_zip(one->getOperands(), other->getOperands(),
                        [&](Value left, Value right) {
                          return areEqual(left, right, depth + 1);
                        }))
    return false;
  learn(lhs, rhs);
  return true;
}

void SequenceMatcher::learn(Value lhs, Value rhs) {
  if (same.insert({lhs, rhs}).second)
    equalities.emplace_back(lhs, rhs);
}

void SequenceMatcher::forget(size_t known) {
  for (; equalities.size() > known; equalities.pop_back())
    same.erase(equalities.back());
}
