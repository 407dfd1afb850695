//===- CollectiveOrder.cpp - All replicas issue the same collectives ------===//

#include "passes/Verify/CollectiveOrder.h"

#include "dialect/Interfaces/CollectiveOpInterface.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Verify/Story.h"
#include "passes/Verify/UserLocation.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"

using namespace lockstep;
using namespace mlir;

bool lockstep::isCollective(Operation *op) {
  if (isa<CollectiveOpInterface, replica::AllReduceOp, replica::AllReduceSlicesOp, replica::AllGatherOp, replica::MergeCallOp,
          replica::ReduceToOp, replica::BatchReduceToOp, replica::ReduceOp, replica::ReduceSlicesOp, replica::GatherOp,
          replica::LocalResultsOp>(op))
    return true;
  bool reads = isa<replica::ReadOp>(op);
  if (!reads && !isa<replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp, replica::ScatterOp>(op))
    return false;
  replica::VariableOp variable = replica::lookupVariable(op);
  if (reads)
    return variable && variable.isOnRead() && getEnclosingContext(op) == Context::CrossReplica;
  return variable && !variable.isOnRead() && variable.getAggregation() != replica::Aggregation::Uniform &&
         getEnclosingContext(op) == Context::Replica;
}

namespace {

struct Item;
using Sequence = std::vector<Item>;

/// One element of a sequence: a collective, or control flow with collectives in its regions.
struct Item {
  Operation *op;
  /// One for each region of control flow; empty for a collective.
  std::vector<Sequence> regions;
};

bool areEqual(ArrayRef<Item> lhs, ArrayRef<Item> rhs);

/// Two values that are equal wherever both are defined.
bool areEqual(Value lhs, Value rhs) {
  Attribute left, right;
  return lhs == rhs || (matchPattern(lhs, m_Constant(&left)) && matchPattern(rhs, m_Constant(&right)) && left == right);
}

bool haveStaticShapes(TypeRange types) {
  return llvm::all_of(types, [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || shaped.hasStaticShape();
  });
}

/// Two collectives that match when some replicas issue one and some the other.
bool match(Operation *lhs, Operation *rhs) {
  // A channel is where ranks meet: once assigned, it must be the same, as must all else.
  if (lhs->getName() != rhs->getName() || lhs->getAttrDictionary() != rhs->getAttrDictionary() ||
      lhs->getOperandTypes() != rhs->getOperandTypes() || lhs->getResultTypes() != rhs->getResultTypes() ||
      !haveStaticShapes(lhs->getOperandTypes()))
    return false;
  auto merge = dyn_cast<replica::MergeCallOp>(lhs);
  if (!merge)
    return true;
  // One region runs for all replicas, on one value of each plain argument.
  for (auto [left, right, argument] : llvm::zip_equal(lhs->getOperands(), rhs->getOperands(), merge.getBody().getArguments()))
    if (!isa<replica::PerReplicaType>(argument.getType()) && !areEqual(left, right))
      return false;
  return OperationEquivalence::isRegionEquivalentTo(&lhs->getRegion(0), &rhs->getRegion(0), OperationEquivalence::IgnoreLocations);
}

bool areEqual(const Item &lhs, const Item &rhs) {
  if (isCollective(lhs.op) || isCollective(rhs.op))
    return match(lhs.op, rhs.op);
  if (lhs.op == rhs.op)
    return true;
  if (lhs.op->getName() != rhs.op->getName() || lhs.regions.size() != rhs.regions.size())
    return false;
  // The condition of a while is computed inside, and nothing is known of how often it holds.
  if (!isa<scf::ForOp, scf::IfOp, scf::IndexSwitchOp>(lhs.op))
    return false;
  unsigned controls = isa<scf::ForOp>(lhs.op) ? 3 : 1;
  for (unsigned i = 0; i < controls; ++i)
    if (!areEqual(lhs.op->getOperand(i), rhs.op->getOperand(i)))
      return false;
  if (auto branch = dyn_cast<scf::IndexSwitchOp>(lhs.op); branch && branch.getCases() != cast<scf::IndexSwitchOp>(rhs.op).getCases())
    return false;
  for (auto [left, right] : llvm::zip_equal(lhs.regions, rhs.regions))
    if (!areEqual(left, right))
      return false;
  return true;
}

/// The position of the first difference of two sequences; nullopt if they are equal.
std::optional<size_t> findDifference(ArrayRef<Item> lhs, ArrayRef<Item> rhs) {
  for (size_t i = 0; i < lhs.size() && i < rhs.size(); ++i)
    if (!areEqual(lhs[i], rhs[i]))
      return i;
  return lhs.size() == rhs.size() ? std::nullopt : std::optional(std::min(lhs.size(), rhs.size()));
}

bool areEqual(ArrayRef<Item> lhs, ArrayRef<Item> rhs) { return !findDifference(lhs, rhs); }

/// The sequence of collectives that `region` issues.
Sequence getSequence(Region &region) {
  Sequence sequence;
  for (Operation &op : region.getOps()) {
    if (isCollective(&op)) {
      sequence.push_back({&op, {}});
      continue;
    }
    std::vector<Sequence> regions;
    for (Region &inner : op.getRegions())
      regions.push_back(getSequence(inner));
    if (llvm::all_of(regions, [](const Sequence &inner) { return inner.empty(); }))
      continue;
    // Whatever the condition is, the same is issued.
    bool same = isa<scf::IfOp, scf::IndexSwitchOp>(op) &&
                llvm::all_of(regions, [&](const Sequence &inner) { return areEqual(regions.front(), inner); });
    bool once = isa<scf::ExecuteRegionOp>(op) && op.getRegion(0).hasOneBlock();
    if (same || once || isa<replica::RunOp, replica::UpdateOp, replica::UpdateNonSlotOp, replica::ValuesFromFunctionOp>(op))
      llvm::move(regions.front(), std::back_inserter(sequence));
    else
      sequence.push_back({&op, std::move(regions)});
  }
  return sequence;
}

/// The first collective in `op` or below; null if there is none.
Operation *findCollective(Operation *op) {
  Operation *found = nullptr;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (!isCollective(inner))
      return WalkResult::advance();
    found = inner;
    return WalkResult::interrupt();
  });
  return found;
}

/// Walks one function and reports what is not proven.
class OrderVerifier {
public:
  explicit OrderVerifier(const UniformityAnalysis &uniformity) : uniformity(uniformity) {}

  LogicalResult verify(Region &region) {
    for (Block &block : region)
      for (Operation &op : block)
        verify(&op, block);
    return success(valid);
  }

private:
  void verify(Operation *op, Block &block) {
    if (isCollective(op))
      if (Divergence divergence = uniformity.getDivergenceOf(&block))
        return reportMissing(op, divergence);
    if (op->getNumRegions() == 0)
      return;
    if (!isa<OpensContextInterface, scf::IfOp, scf::IndexSwitchOp, scf::ForOp, scf::WhileOp, scf::ExecuteRegionOp>(op)) {
      if (Operation *collective = findCollective(op))
        reportUnordered(collective, op);
      return;
    }
    if (Value condition = uniformity.getVaryingCondition(op); condition && !verifyDivergent(op, {op, condition}))
      return;
    for (Region &region : op->getRegions())
      (void)verify(region);
  }

  /// True if replicas issue the same sequence whichever way through `op` they go.
  bool verifyDivergent(Operation *op, Divergence divergence) {
    if (isa<scf::ForOp, scf::WhileOp>(op)) {
      Operation *collective = findCollective(op);
      if (collective)
        reportMissing(collective, divergence);
      return !collective;
    }
    std::vector<Sequence> sides;
    for (Region &region : op->getRegions())
      sides.push_back(getSequence(region));
    for (size_t i = 1; i < sides.size(); ++i)
      if (std::optional<size_t> difference = findDifference(sides[0], sides[i])) {
        report(sides[0], sides[i], *difference, divergence);
        return false;
      }
    return true;
  }

  void report(const Sequence &lhs, const Sequence &rhs, size_t difference, Divergence divergence) {
    auto at = [&](const Sequence &side) { return difference < side.size() ? findCollective(side[difference].op) : nullptr; };
    Operation *left = at(lhs), *right = at(rhs);
    if (!left || !right)
      return reportMissing(left ? left : right, divergence);
    valid = false;
    InFlightDiagnostic diagnostic = emitUserError(left->getLoc());
    diagnostic << "'" << left->getName() << "' is issued by some replicas, while others issue "
               << (left->getName() == right->getName() ? "a different '" : "'") << right->getName()
               << "' in its place [E_COLLECTIVE_DIVERGENCE]";
    describe(diagnostic.attachNote(getUserLocation(left->getLoc())) << "some replicas issue ", left);
    describe(diagnostic.attachNote(getUserLocation(right->getLoc())) << "other replicas issue ", right);
    tellDivergence(diagnostic, uniformity, divergence);
  }

  static void describe(Diagnostic &note, Operation *collective) {
    note << "'" << collective->getName() << "'";
    if (auto reduction = collective->getAttr("reduction"))
      if (auto reduce = dyn_cast<replica::ReductionAttr>(reduction))
        note << " " << replica::stringifyReduction(reduce.getValue());
    if (auto interface = dyn_cast<CollectiveOpInterface>(collective))
      note << " " << interface.getKindName() << " in group " << interface.getGroupSymbol();
    if (auto channel = collective->getAttrOfType<IntegerAttr>("channel"))
      note << " on channel " << channel.getInt();
    if (collective->getNumOperands() > 0)
      note << " of " << collective->getOperandTypes();
  }

  void reportMissing(Operation *collective, Divergence divergence) {
    valid = false;
    InFlightDiagnostic diagnostic = emitUserError(collective->getLoc());
    bool loops = isa<scf::ForOp, scf::WhileOp>(divergence.branch);
    diagnostic << "'" << collective->getName() << "' is "
               << (loops ? "in a loop whose trip count may differ" : "under a condition that may differ")
               << " between replicas: some would wait in it for others that never come ";
    // A branch that the front end took for each replica: their programs differ, not their ways through one program.
    diagnostic << (divergence.branch->hasAttr("replica.static") ? "[E_COLLECTIVE_DIVERGENCE]" : "[E_COLLECTIVE_IN_CONTROL_FLOW]");
    tellDivergence(diagnostic, uniformity, divergence);
  }

  void reportUnordered(Operation *collective, Operation *op) {
    valid = false;
    InFlightDiagnostic diagnostic = emitUserError(collective->getLoc());
    diagnostic << "'" << collective->getName() << "' is inside of '" << op->getName()
               << "', which does not say in which order or how often it is issued [E_COLLECTIVE_IN_CONTROL_FLOW]";
    diagnostic.attachNote(getUserLocation(op->getLoc())) << "'" << op->getName() << "' is here";
  }

  const UniformityAnalysis &uniformity;
  bool valid = true;
};

} // namespace

LogicalResult lockstep::verifyCollectiveOrder(FunctionOpInterface function, const UniformityAnalysis &uniformity) {
  return OrderVerifier(uniformity).verify(function.getFunctionBody());
}
